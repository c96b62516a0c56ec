//! What the Shell: fuzz targets, and their corpora replayed as tests.
//!
//! A target takes any bytes and panics if a promise does not hold. `corpus/<target>/` holds bytes
//! that reach different parts of the code; the tests replay them on a stable toolchain, and
//!
//! ```text
//! cargo +nightly fuzz run --fuzz-dir tests/fuzz --features libfuzzer <target>
//! ```
//!
//! looks for more. What it finds lands in the corpus: commit what is worth keeping, under a name that
//! says why.

#[path = "../../../crates/rules/tests/rules/plain.rs"]
mod plain;
mod rules_target;

pub use rules_target::rules;
