//! What the Shell: the store's traits and errors.
