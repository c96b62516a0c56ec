//! What a test may rely on when it starts a server here.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, which is what is wanted")]

mod servers {
    mod cluster;
    mod leftovers;
    mod proxy;
    mod sentinel;
    mod single;
}
