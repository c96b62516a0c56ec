//! What the service signs with.

use referee::Stamp;
use sealing::{
    Digest, KeyId, Receipt, ServerKey, ServerSigningKey, Signature, TranscriptSignature, verify_receipt,
};

use super::{Entry, Ring};

/// A key that the service signs or signed with, for everyone to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublishedKey {
    /// Its id and public key.
    pub key: ServerKey,
    /// Signs from then on; none: it is prepared and not in use yet.
    pub from: Option<Stamp>,
    /// Signed until then; none: it is in use, or not yet.
    pub until: Option<Stamp>,
}

/// The service's signing keys. `Debug` shows ids and public keys only.
#[derive(Clone, Debug)]
pub struct Signer {
    current: ServerSigningKey,
    others: Vec<ServerSigningKey>,
    published: Vec<PublishedKey>,
}

impl Signer {
    pub(super) fn new(ring: &Ring) -> Self {
        let key = |entry: &Entry| ServerSigningKey::from_seed(entry.id.clone(), &entry.secret);
        let publish = |entry: &Entry| PublishedKey {
            key: ServerKey { id: entry.id.clone(), public_key: key(entry).public_key() },
            from: entry.from,
            until: entry.until,
        };
        Self {
            current: key(&ring.current),
            others: ring.others.iter().map(key).collect(),
            published: ring.iter().map(publish).collect(),
        }
    }

    /// The id of the key in use: what new receipts name.
    #[must_use]
    pub const fn key_id(&self) -> &KeyId {
        self.current.id()
    }

    /// Signs a receipt by the key that it names: one that was given before a rotation is signed as it
    /// was, so that a repeated request has the same answer. None if the service has no such key, as for
    /// receipts that name none.
    #[must_use]
    pub fn sign_receipt(&self, receipt: &Receipt) -> Option<Signature> {
        let keys = std::iter::once(&self.current).chain(&self.others);
        keys.into_iter().find_map(|key| key.sign_receipt(receipt))
    }

    /// Signs a finished match by its h_end with the key in use.
    #[must_use]
    pub fn sign_end(&self, end: &Digest) -> TranscriptSignature {
        TranscriptSignature { key_id: self.current.id().to_string(), signature: self.current.sign_end(end) }
    }

    /// Whether a receipt is one of this service: signed by a key that it has or had.
    #[must_use]
    pub fn signed_receipt(&self, receipt: &Receipt, signature: &Signature) -> bool {
        let named = self.published.iter().find(|known| known.key.id.as_str() == &*receipt.key_id);
        named.is_some_and(|known| verify_receipt(receipt, signature, &known.key.public_key))
    }

    /// All keys for everyone to know, the one in use first.
    #[must_use]
    pub fn published(&self) -> &[PublishedKey] {
        &self.published
    }
}
