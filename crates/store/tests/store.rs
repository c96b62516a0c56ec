//! What the store's records promise.

// A helper that cannot go on fails its test.
#![allow(clippy::unwrap_used)]

mod store {
    mod access;
    mod feed;
    mod golden;
    mod hostile;
    mod key_files;
    mod keys;
    mod played;
    mod rotation;
    mod round_trip;
    mod rules_versions;
    mod secrecy;
    mod tickets;
}
