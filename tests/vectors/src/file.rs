//! Files of rows.

use std::io::{self, BufRead, Read as _};

use serde_json::Value;

use crate::{Mismatch, check_line};

/// Bytes of a line that are read: the transcript of the longest match with room to spare.
pub const LINE_BYTES_MAX: u64 = 4 << 20;

/// Failures that a summary lists; further ones are only counted.
pub const FAILURES_MAX: usize = 100;

/// Characters of a row's id that a failure keeps.
const ID_CHARS_MAX: usize = 100;

/// What came of the rows of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Rows that pass.
    pub passed: u64,
    /// Rows that fail.
    pub failed: u64,
    /// The first failures, [`FAILURES_MAX`] at most.
    pub failures: Vec<Failure>,
}

/// A row that fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The line in the file, from 1.
    pub line: u64,
    /// The row's id, empty if it has none that can be read.
    pub id: String,
    /// What does not hold.
    pub mismatch: Mismatch,
}

/// Checks every line but blank ones.
///
/// A line that is too long or not UTF-8 is a failed row. So is an error of the reader, which also
/// ends the file.
///
/// ```
/// let summary = vectors::check_file(&b"{}\n\nnonsense\n"[..]);
/// assert_eq!((summary.passed, summary.failed), (0, 2));
/// assert_eq!(summary.failures[1].line, 3);
/// ```
pub fn check_file(mut reader: impl BufRead) -> Summary {
    let mut summary = Summary::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match read_line(&mut reader, &mut line) {
            Ok(Line::End) => break,
            Ok(Line::Whole) if line.trim_ascii().is_empty() => {}
            Ok(Line::Whole) => summary.count(number, &line, check_bytes(&line)),
            Ok(Line::TooLong) => {
                let reason = format_args!("longer than {LINE_BYTES_MAX} bytes");
                summary.count(number, &[], Err(Mismatch::unreadable(reason)));
            }
            Err(error) => {
                summary.count(number, &[], Err(Mismatch::unreadable(error)));
                break;
            }
        }
    }
    summary
}

impl Summary {
    fn count(&mut self, line: u64, row: &[u8], result: Result<(), Mismatch>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(mismatch) => {
                self.failed += 1;
                if self.failures.len() < FAILURES_MAX {
                    self.failures.push(Failure { line, id: id(row), mismatch });
                }
            }
        }
    }
}

fn check_bytes(line: &[u8]) -> Result<(), Mismatch> {
    let line = std::str::from_utf8(line).map_err(Mismatch::unreadable)?;
    check_line(line)
}

fn id(row: &[u8]) -> String {
    let row: Value = serde_json::from_slice(row).unwrap_or_default();
    row.get("id").and_then(Value::as_str).unwrap_or_default().chars().take(ID_CHARS_MAX).collect()
}

enum Line {
    End,
    Whole,
    TooLong,
}

/// Reads up to a line feed; of a line that is too long, the rest is skipped.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    let read = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(Line::End);
    }
    if line.ends_with(b"\n") || (read as u64) < LINE_BYTES_MAX {
        return Ok(Line::Whole);
    }
    reader.skip_until(b'\n')?;
    Ok(Line::TooLong)
}
