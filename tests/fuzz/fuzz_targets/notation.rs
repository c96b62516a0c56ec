//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz --features libfuzzer notation`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::notation(data));
