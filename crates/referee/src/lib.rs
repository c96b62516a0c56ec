//! What the Shell: the match as a state machine.
