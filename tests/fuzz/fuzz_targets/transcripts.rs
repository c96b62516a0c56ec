//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz --features libfuzzer transcripts`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::transcripts(data));
