//! Public values of fixed length: digests, commitments, keys and signatures.

use core::fmt::{self, Write as _};

/// Bytes of another length than the value has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongLength {
    /// The length the value has, in bytes.
    pub expected: usize,
    /// The length that was given, in bytes.
    pub found: usize,
}

impl fmt::Display for WrongLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} bytes, found {}", self.expected, self.found)
    }
}

impl core::error::Error for WrongLength {}

/// Copies a slice of exactly `N` bytes.
pub(crate) fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], WrongLength> {
    bytes.try_into().map_err(|_| WrongLength { expected: N, found: bytes.len() })
}

/// Writes two lower-case hexadecimal digits a byte.
pub(crate) fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().flat_map(|byte| hex(*byte)).try_for_each(|digit| f.write_char(digit.into()))
}

/// The two lower-case digits of a byte.
pub(crate) const fn hex(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]
}

/// Defines types that differ in meaning and length only. Each is a type of its own, so that a
/// commitment is never passed where a hash of the chain belongs.
macro_rules! public_bytes {
    ($($(#[$doc:meta])* $name:ident, $length:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Public: compared as any value; `Display` and `Debug` print lower-case hexadecimal.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $length]);

        impl $name {
            /// Wraps the bytes; every value is possible.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; $length]) -> Self {
                Self(bytes)
            }

            /// The bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $length] {
                &self.0
            }
        }

        impl TryFrom<&[u8]> for $name {
            type Error = WrongLength;

            fn try_from(bytes: &[u8]) -> Result<Self, WrongLength> {
                exactly(bytes).map(Self)
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(f, &self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

public_bytes! {
    /// A SHA-256 of the chain (h_0, h_t, h_end) or one that a signature covers.
    Digest, 32;
    /// What a player binds himself to before the turn resolves: `C` of the sealing format.
    Commitment, 32;
    /// An Ed25519 public key.
    PublicKey, 32;
    /// An Ed25519 signature of the service, over a [`Receipt`](crate::Receipt) or a finished match.
    Signature, 64;
    /// An Ed25519 signature that a player made over [`player_digest`](crate::player_digest) of
    /// his commitment with a key of his own.
    PlayerSignature, 64;
}
