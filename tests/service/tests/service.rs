//! What players, spectators and back ends are promised, over real sockets: one file a promise.

mod service {
    mod whole_match;
}
