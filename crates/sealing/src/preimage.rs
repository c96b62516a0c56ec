//! The byte string that a digest is taken of: a domain, then length-prefixed fields.

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

/// The longest field, in bytes: its length has 16 bits.
///
/// Names, key ids and versions are far shorter. A longer one has no encoding: what checks a claim
/// ([`SealContext::opens`](crate::SealContext::opens), [`Transcript::verify`](crate::Transcript::verify))
/// refuses it, and a digest made with it equals no digest that this format defines.
pub const FIELD_BYTES_MAX: usize = u16::MAX as usize;

/// A SHA-256 preimage in the making. Each field is written as `lp(x)`: its length as 16 bits,
/// big-endian, then its bytes.
pub(crate) struct Preimage {
    bytes: Vec<u8>,
    overlong: bool,
}

/// Room for a turn, the longest one that is usual: a digest takes whole blocks at once faster than fields.
const USUAL_BYTES: usize = 512;

impl Preimage {
    /// Starts with `lp(domain)`, so that no digest of one kind is ever one of another kind.
    pub(crate) fn new(domain: &str) -> Self {
        Self { bytes: Vec::with_capacity(USUAL_BYTES), overlong: false }.field(domain.as_bytes())
    }

    /// `lp(bytes)`.
    pub(crate) fn field(self, bytes: &[u8]) -> Self {
        self.joined(&[bytes])
    }

    /// `lp(parts[0] ‖ parts[1] ‖ …)`: one field that is a concatenation.
    pub(crate) fn joined(mut self, parts: &[&[u8]]) -> Self {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        match u16::try_from(length) {
            Ok(length) => self.bytes.extend_from_slice(&length.to_be_bytes()),
            Err(_) => self.overlong = true,
        }
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self
    }

    /// `lp` of a number as 64 bits, big-endian.
    pub(crate) fn number(self, number: u64) -> Self {
        self.field(&number.to_be_bytes())
    }

    /// `lp` of the number, or of nothing where it is absent.
    pub(crate) fn optional_number(self, number: Option<u64>) -> Self {
        match number {
            Some(number) => self.number(number),
            None => self.field(&[]),
        }
    }

    /// `lp` of the bytes, or of nothing where they are absent.
    pub(crate) fn optional(self, bytes: Option<&[u8]>) -> Self {
        self.field(bytes.unwrap_or_default())
    }

    /// The SHA-256 of everything written. Where a field was too long for its length, a digest
    /// under a domain of its own, which nothing valid has.
    pub(crate) fn sha256(self) -> [u8; 32] {
        let digest: [u8; 32] = Sha256::digest(&self.bytes).into();
        if self.overlong { Self::new("whattheshell.v1.overlong").field(&digest).sha256() } else { digest }
    }
}
