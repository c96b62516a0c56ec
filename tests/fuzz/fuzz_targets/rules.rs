//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz --features libfuzzer rules`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::rules(data));
