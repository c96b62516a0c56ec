//! What a test may rely on when it starts a server here.

mod servers {
    mod single;
}
