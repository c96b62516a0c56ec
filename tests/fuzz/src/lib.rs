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

mod commitments_target;
mod notation_target;
#[path = "../../../crates/rules/tests/rules/plain.rs"]
mod plain;
mod records_target;
mod rules_target;
mod seeds;
mod service_target;
mod transcripts_target;

pub use commitments_target::commitments;
pub use notation_target::notation;
pub use records_target::records;
pub use rules_target::rules;
pub use seeds::{service_seeds, transcript_seeds};
pub use service_target::{Run, run, service};
pub use transcripts_target::transcripts;

/// A target: takes any bytes, and panics if a promise does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name, which its corpus has as well.
pub const TARGETS: [(&str, Target); 6] = [
    ("rules", rules),
    ("notation", notation),
    ("commitments", commitments),
    ("records", records),
    ("transcripts", transcripts),
    ("service", service),
];
