//! The identity of a match.

use core::fmt;
use core::str::FromStr;

use crate::bytes::{WrongLength, exactly, hex};

/// Where the hyphens of a UUID stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Where the two digits of each byte stand.
const BYTES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// The 16 bytes that name a match; the service draws UUIDv7.
///
/// As text it is a lower-case hyphenated UUID, and only that form is read, so that a match has one
/// name.
///
/// ```
/// use sealing::MatchId;
/// let id: MatchId = "0198c5a0-0000-7000-8000-00000000002a".parse().unwrap();
/// assert_eq!(id.as_bytes()[15], 42);
/// assert_eq!(id.to_string(), "0198c5a0-0000-7000-8000-00000000002a");
/// assert!("0198C5A0-0000-7000-8000-00000000002A".parse::<MatchId>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatchId([u8; 16]);

impl MatchId {
    /// Characters of its text.
    pub const TEXT_CHARS: usize = 36;

    /// Wraps the bytes; every value is possible.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, as every hash takes them.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl TryFrom<&[u8]> for MatchId {
    type Error = WrongLength;

    fn try_from(bytes: &[u8]) -> Result<Self, WrongLength> {
        exactly(bytes).map(Self)
    }
}

impl fmt::Display for MatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every answer names its match, so this is written as one piece.
        let mut text = [b'-'; Self::TEXT_CHARS];
        for (byte, at) in self.0.iter().zip(BYTES) {
            [text[at], text[at + 1]] = hex(*byte);
        }
        f.write_str(core::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for MatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a lower-case hyphenated UUID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedMatchId;

impl fmt::Display for MalformedMatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a lower-case hyphenated UUID")
    }
}

impl core::error::Error for MalformedMatchId {}

impl FromStr for MatchId {
    type Err = MalformedMatchId;

    fn from_str(text: &str) -> Result<Self, MalformedMatchId> {
        if text.len() != Self::TEXT_CHARS {
            return Err(MalformedMatchId);
        }
        let (text, mut bytes) = (text.as_bytes(), [0; 16]);
        // Every call names a match: all of it is looked at, and judged once.
        let mut wrong = HYPHENS.iter().any(|at| text[*at] != b'-');
        for (byte, at) in bytes.iter_mut().zip(BYTES) {
            let (high, low) = (digit(text[at]), digit(text[at + 1]));
            wrong |= high > 15 || low > 15;
            *byte = high << 4 | low & 15;
        }
        if wrong { Err(MalformedMatchId) } else { Ok(Self(bytes)) }
    }
}

/// What a lower-case hexadecimal digit stands for; more than 15 for anything else.
const fn digit(character: u8) -> u8 {
    match character {
        b'0'..=b'9' => character - b'0',
        b'a'..=b'f' => character - b'a' + 10,
        _ => u8::MAX,
    }
}
