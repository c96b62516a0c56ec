//! Cell names.

use core::fmt;
use core::str::FromStr;

use crate::Cell;

/// Why a text is not the name of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotationError {
    /// Not of the form of a cell name at all: one letter `A` to `Z`, then a decimal number without
    /// sign or leading zero.
    Malformed,
    /// Of the right form, but outside `A1` to `I9`.
    OffBoard,
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a cell name",
            Self::OffBoard => "the cell is outside A1 to I9",
        })
    }
}

impl core::error::Error for NotationError {}

/// Reads a cell name; [`Cell`]'s `FromStr` is the same.
///
/// Strict: case, blanks and digits outside ASCII matter. A number may have any length.
///
/// # Errors
///
/// [`NotationError::Malformed`] unless the text is `[A-Z](0|[1-9][0-9]*)`,
/// [`NotationError::OffBoard`] if it is but names no cell of the board.
///
/// ```
/// use rules::{Cell, NotationError, notation};
/// assert_eq!(notation::parse_cell("E5"), Ok(Cell::from_number(41).unwrap()));
/// assert_eq!(notation::parse_cell("J1"), Err(NotationError::OffBoard));
/// assert_eq!(notation::parse_cell("e5"), Err(NotationError::Malformed));
/// ```
pub fn parse_cell(name: &str) -> Result<Cell, NotationError> {
    let (column, row) = match name.as_bytes() {
        [column @ b'A'..=b'Z', b'0'] => (*column, &b"0"[..]),
        [column @ b'A'..=b'Z', row @ ..] if matches!(row, [b'1'..=b'9', ..]) => (*column, row),
        _ => return Err(NotationError::Malformed),
    };
    if !row.iter().all(u8::is_ascii_digit) {
        return Err(NotationError::Malformed);
    }
    match (column, row) {
        (b'A'..=b'I', [row @ b'1'..=b'9']) => {
            Cell::from_index((row - b'1') * 9 + (column - b'A')).ok_or(NotationError::OffBoard)
        }
        _ => Err(NotationError::OffBoard),
    }
}

impl FromStr for Cell {
    type Err = NotationError;

    fn from_str(name: &str) -> Result<Self, NotationError> {
        parse_cell(name)
    }
}
