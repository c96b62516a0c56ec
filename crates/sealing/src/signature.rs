//! Signatures: who makes them and how they are checked. Ed25519 as in RFC 8032.
//!
//! Each covers the 32 bytes of one digest. Checking is strict: a signature has one form only, and keys
//! and nonces of small order are refused, so that no signature ever fits two messages or two keys.

use core::fmt;

use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};

use crate::bytes::{Commitment, Digest, PlayerSignature, PublicKey, Signature};
use crate::key_id::KeyId;
use crate::signed::{Receipt, player_digest, transcript_digest};

/// A key that the service signs with. Secret: `Debug` shows its id only, and its memory is wiped when
/// it is dropped.
///
/// ```
/// use rules::Seat;
/// use sealing::{Commitment, MatchId, Receipt, ServerSigningKey, verify_receipt};
///
/// let key = ServerSigningKey::from_seed("k1".parse()?, &[7; 32]);
/// let receipt = Receipt {
///     match_id: MatchId::from_bytes([1; 16]),
///     turn: 1,
///     seat: Seat::Black,
///     commitment: Commitment::from_bytes([2; 32]),
///     sealed_ms: 1_790_000_000_000,
///     key_id: key.id().shared(),
/// };
/// let signature = key.sign_receipt(&receipt).expect("it names this key");
/// assert!(verify_receipt(&receipt, &signature, &key.public_key()));
/// assert!(!verify_receipt(&Receipt { turn: 2, ..receipt }, &signature, &key.public_key()));
/// # Ok::<(), sealing::MalformedKeyId>(())
/// ```
#[derive(Clone)]
pub struct ServerSigningKey {
    id: KeyId,
    key: SigningKey,
}

impl ServerSigningKey {
    /// The key of this seed, which must come from a secure source.
    #[must_use]
    pub fn from_seed(id: KeyId, seed: &[u8; 32]) -> Self {
        Self { id, key: SigningKey::from_bytes(seed) }
    }

    /// The key's public name.
    #[must_use]
    pub const fn id(&self) -> &KeyId {
        &self.id
    }

    /// What its signatures are checked with.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey::from_bytes(self.key.verifying_key().to_bytes())
    }

    /// Signs a receipt. None if the receipt names another key: a signature covers the name.
    #[must_use]
    pub fn sign_receipt(&self, receipt: &Receipt) -> Option<Signature> {
        (*receipt.key_id == *self.id.as_str())
            .then(|| Signature::from_bytes(sign(&self.key, &receipt.digest())))
    }

    /// Signs a finished match by its last hash, h_end, under this key's name.
    #[must_use]
    pub fn sign_end(&self, end: &Digest) -> Signature {
        Signature::from_bytes(sign(&self.key, &transcript_digest(end, self.id.as_str())))
    }
}

impl fmt::Debug for ServerSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The public side of one of the service's keys, as it lists them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerKey {
    /// Its name in receipts and transcripts.
    pub id: KeyId,
    /// What its signatures are checked with.
    pub public_key: PublicKey,
}

/// A key that a player signs his commitments with. Secret: `Debug` shows nothing, and its memory is
/// wiped when it is dropped.
#[derive(Clone)]
pub struct PlayerSigningKey(SigningKey);

impl PlayerSigningKey {
    /// The key of this seed, which must come from a secure source.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// What its signatures are checked with: bound into h_0.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey::from_bytes(self.0.verifying_key().to_bytes())
    }

    /// Signs a commitment.
    #[must_use]
    pub fn sign(&self, commitment: &Commitment) -> PlayerSignature {
        PlayerSignature::from_bytes(sign(&self.0, &player_digest(commitment)))
    }
}

impl fmt::Debug for PlayerSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlayerSigningKey(..)")
    }
}

/// Whether the service signed this receipt with the key that this is the public side of.
#[must_use]
pub fn verify_receipt(receipt: &Receipt, signature: &Signature, key: &PublicKey) -> bool {
    verify(&receipt.digest(), signature.as_bytes(), key)
}

/// Whether the service signed a finished match, by its h_end and under this name of a key.
#[must_use]
pub fn verify_end(end: &Digest, key_id: &str, signature: &Signature, key: &PublicKey) -> bool {
    verify(&transcript_digest(end, key_id), signature.as_bytes(), key)
}

/// Whether a player signed this commitment with the key that this is the public side of.
#[must_use]
pub fn verify_player(commitment: &Commitment, signature: &PlayerSignature, key: &PublicKey) -> bool {
    verify(&player_digest(commitment), signature.as_bytes(), key)
}

fn sign(key: &SigningKey, digest: &Digest) -> [u8; 64] {
    key.sign(digest.as_bytes()).to_bytes()
}

fn verify(digest: &Digest, signature: &[u8; 64], key: &PublicKey) -> bool {
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    VerifyingKey::from_bytes(key.as_bytes())
        .is_ok_and(|key| key.verify_strict(digest.as_bytes(), &signature).is_ok())
}

/// Whether signatures can be checked with a key at all: a point of the curve, and not of small order.
#[must_use]
pub fn is_usable_key(key: &PublicKey) -> bool {
    VerifyingKey::from_bytes(key.as_bytes()).is_ok_and(|key| !key.is_weak())
}
