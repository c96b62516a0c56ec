//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz --features libfuzzer service`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::service(data));
