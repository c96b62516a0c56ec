//! The identity of a match.

use core::fmt;
use core::str::FromStr;

use crate::bytes::{WrongLength, exactly, hex};

/// Where the hyphens of a UUID stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Characters of a hyphenated UUID.
const TEXT_CHARS: usize = 36;

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
        let mut text = [b'-'; TEXT_CHARS];
        let places = (0..TEXT_CHARS).filter(|at| !HYPHENS.contains(at));
        for (at, digit) in places.zip(self.0.iter().flat_map(|byte| hex(*byte))) {
            text[at] = digit;
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
        if text.len() != TEXT_CHARS {
            return Err(MalformedMatchId);
        }
        let mut bytes = [0; 16];
        let mut digits = 0;
        for (at, character) in text.bytes().enumerate() {
            if HYPHENS.contains(&at) {
                if character != b'-' {
                    return Err(MalformedMatchId);
                }
                continue;
            }
            let digit = match character {
                b'0'..=b'9' => character - b'0',
                b'a'..=b'f' => character - b'a' + 10,
                _ => return Err(MalformedMatchId),
            };
            let byte: &mut u8 = bytes.get_mut(digits / 2).ok_or(MalformedMatchId)?;
            *byte = *byte << 4 | digit;
            digits += 1;
        }
        Ok(Self(bytes))
    }
}
