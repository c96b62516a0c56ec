//! What the Shell: the single-node store.
