//! What the sealing format promises to players, spectators and SDKs.

// A helper that cannot go on fails its test.
#![allow(clippy::unwrap_used)]

mod sealing {
    mod binding;
    mod boxes;
    mod identity;
    mod limits;
    mod replaying;
    mod secrecy;
    mod signatures;
    mod tampering;
    mod vectors;
}
