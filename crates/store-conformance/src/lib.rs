//! What the Shell: the suite every store must pass.
