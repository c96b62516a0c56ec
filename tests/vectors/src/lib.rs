//! What the Shell: test vectors and their checker.
