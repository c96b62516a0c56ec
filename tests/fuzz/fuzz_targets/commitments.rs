//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz --features libfuzzer commitments`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::commitments(data));
