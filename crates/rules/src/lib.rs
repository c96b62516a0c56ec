//! What the Shell: boards, turns and outcomes.
