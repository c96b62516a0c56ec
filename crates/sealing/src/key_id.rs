//! The names of keys.

use alloc::format;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

/// The public name of one of the service's keys, as receipts, transcripts and stored boxes carry it.
///
/// ```
/// use sealing::KeyId;
/// let id: KeyId = "2026-11.a".parse()?;
/// assert_eq!(id.as_str(), "2026-11.a");
/// assert!("".parse::<KeyId>().is_err());
/// # Ok::<(), sealing::MalformedKeyId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Arc<str>);

/// A key id that is not 1 to 64 of `[A-Za-z0-9._-]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedKeyId;

impl fmt::Display for MalformedKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key id is 1 to {} of A-Z a-z 0-9 . _ -", KeyId::LENGTH_MAX)
    }
}

impl core::error::Error for MalformedKeyId {}

impl KeyId {
    /// The most characters: every signed receipt and every stored box carries one.
    pub const LENGTH_MAX: usize = 64;

    /// The id of a letter and a number, as `s-2f61c09b`: for keys that are made rather than named.
    ///
    /// ```
    /// use sealing::KeyId;
    /// assert_eq!(KeyId::numbered('s', 0x2f61_c09b).as_str(), "s-2f61c09b");
    /// ```
    #[must_use]
    pub fn numbered(letter: char, number: u32) -> Self {
        let letter = if letter.is_ascii_alphanumeric() { letter } else { 'k' };
        Self(format!("{letter}-{number:08x}").into())
    }

    /// The name, shared.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = MalformedKeyId;

    fn from_str(text: &str) -> Result<Self, MalformedKeyId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if text.is_empty() || text.len() > Self::LENGTH_MAX || !text.bytes().all(allowed) {
            return Err(MalformedKeyId);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
