//! What the Shell: test vectors and their checker.
//!
//! A vector is one JSON object on a line; `README.md` describes the kinds. [`check_line`] checks
//! everything a row says, [`check_file`] every row of a file. Both take any input: what is no row
//! is a mismatch with a reason.

mod bad;
mod board;
mod boxes;
mod commitments;
mod file;
mod games;
mod mismatch;
mod row;
mod sealed;
mod signatures;
mod transcripts;
mod turns;

pub use file::{FAILURES_MAX, Failure, LINE_BYTES_MAX, Summary, check_file};
pub use games::game_turns;
pub use mismatch::Mismatch;
pub use transcripts::{ServiceSignature, signature_of, transcript_of};

use row::Row;

/// Checks one row.
///
/// # Errors
///
/// The first thing that does not hold.
///
/// ```
/// let row = r#"{"id": "g", "moves": [], "turns": 1}"#;
/// let mismatch = vectors::check_line(row).unwrap_err();
/// assert_eq!(mismatch.to_string(), "turns: expected 1, got 0");
/// ```
pub fn check_line(line: &str) -> Result<(), Mismatch> {
    let row = Row::parse(line)?;
    match &row {
        row if row.has("error") => bad::check(row),
        row if row.has("moves") => games::check(row),
        row if row.has("after") => turns::check(row),
        row if row.has("first_hash") => transcripts::check(row),
        row if row.kind() == Some("signature") => signatures::check(row),
        row if row.kind() == Some("box") => boxes::check(row),
        row if row.has("kind") => commitments::check(row),
        _ => Err(Mismatch::unreadable("no kind of row has these fields")),
    }
}
