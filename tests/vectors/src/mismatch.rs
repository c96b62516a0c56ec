//! What is wrong with a row.

use std::fmt;

/// Characters of a quoted value that a mismatch keeps: a whole board fits, a hostile row does not
/// fill the screen.
const QUOTE_CHARS_MAX: usize = 1_000;

/// Why a row does not pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// The row is not one: no JSON object, no known kind, or a field is missing or of no use.
    Unreadable(String),
    /// The row says something else than what is so.
    Differs {
        /// The part of the row.
        field: String,
        /// What the row says.
        expected: String,
        /// What is so.
        actual: String,
    },
}

impl Mismatch {
    /// The row cannot be read, for this reason.
    pub(crate) fn unreadable(reason: impl fmt::Display) -> Self {
        Self::Unreadable(clipped(&reason))
    }

    /// The row says `expected` of this field, but it is `actual`.
    pub(crate) fn differs(field: &str, expected: &impl fmt::Display, actual: &impl fmt::Display) -> Self {
        Self::Differs { field: field.to_owned(), expected: clipped(expected), actual: clipped(actual) }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => write!(f, "unreadable: {reason}"),
            Self::Differs { field, expected, actual } => {
                write!(f, "{field}: expected {expected}, got {actual}")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

fn clipped(value: &impl fmt::Display) -> String {
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(QUOTE_CHARS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}
