//! What a test may rely on when it starts a server here.

mod servers {
    mod cluster;
    mod leftovers;
    mod proxy;
    mod sentinel;
    mod single;
}
