//! Boxes: how the opening of an unresolved move is kept at rest.
//!
//! ```text
//! PRK  = HKDF-Extract( SHA-256, salt "whattheshell.v1.box", the key )
//! K    = HKDF-Expand( PRK, info = match id, 32 bytes )
//! AAD  = lp("whattheshell.v1.box") lp(match id) lp(turn u32 BE) lp(seat u8) lp(C)
//! box  = nonce (12 bytes) ‖ AES-256-GCM( K, nonce, AAD, cell u8 ‖ salt ) (33 bytes) ‖ tag (16 bytes)
//! ```
//!
//! A box has the same length whatever it holds, and opens only for the match, turn, seat and
//! commitment that it was made for. A match has a key of its own, so that random nonces are drawn for
//! a few thousand boxes at most.

use alloc::vec::Vec;
use core::fmt;

use aes_gcm::aead::AeadInOut as _;
use aes_gcm::{Aes256Gcm, KeyInit as _};
use hkdf::Hkdf;
use rules::{Cell, Seat};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::bytes::{Commitment, WrongLength, exactly};
use crate::match_id::MatchId;
use crate::opening::{Opening, Salt};

/// Separates these boxes from every other use of a key.
const DOMAIN: &[u8] = b"whattheshell.v1.box";

const NONCE_BYTES: usize = 12;
const OPENING_BYTES: usize = 1 + 32;
const TAG_BYTES: usize = 16;

/// The number that makes each box of a match another one. Draw it from a secure source for every box.
pub type BoxNonce = [u8; NONCE_BYTES];

/// A key that boxes are made with. Secret: `Debug` prints nothing of it, and its memory is wiped when
/// it is dropped.
#[derive(Clone)]
pub struct BoxKey {
    prk: Zeroizing<[u8; 32]>,
}

impl BoxKey {
    /// The key made of these bytes, which must come from a secure source.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        let (prk, _) = Hkdf::<Sha256>::extract(Some(DOMAIN), bytes);
        Self { prk: Zeroizing::new(prk.into()) }
    }

    /// The cipher under the key of one match.
    fn cipher(&self, match_id: MatchId) -> Result<Aes256Gcm, BoxError> {
        let mut key = Zeroizing::new([0; 32]);
        let prk = Hkdf::<Sha256>::from_prk(self.prk.as_ref()).map_err(|_| BoxError::Cipher)?;
        prk.expand(match_id.as_bytes(), key.as_mut()).map_err(|_| BoxError::Cipher)?;
        Aes256Gcm::new_from_slice(key.as_ref()).map_err(|_| BoxError::Cipher)
    }
}

impl fmt::Debug for BoxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxKey(..)")
    }
}

/// What a box is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoxContext {
    /// The match.
    pub match_id: MatchId,
    /// The turn, from 1.
    pub turn: u32,
    /// Whose move it is.
    pub seat: Seat,
    /// What the move is bound to in public.
    pub commitment: Commitment,
}

impl BoxContext {
    fn associated_data(&self) -> Vec<u8> {
        let (turn, seat) = (self.turn.to_be_bytes(), [self.seat.number()]);
        let fields = [DOMAIN, self.match_id.as_bytes(), &turn, &seat, self.commitment.as_bytes()];
        let mut data = Vec::with_capacity(96);
        for field in fields {
            data.extend_from_slice(&(field.len() as u16).to_be_bytes());
            data.extend_from_slice(field);
        }
        data
    }
}

/// An opening under lock. Public as ciphertext is: it tells nothing without the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SealBox([u8; Self::BYTES]);

impl SealBox {
    /// The length of every box, in bytes.
    pub const BYTES: usize = NONCE_BYTES + OPENING_BYTES + TAG_BYTES;

    /// Wraps the bytes; whether it opens is for [`open_box`] to say.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl TryFrom<&[u8]> for SealBox {
    type Error = WrongLength;

    fn try_from(bytes: &[u8]) -> Result<Self, WrongLength> {
        exactly(bytes).map(Self)
    }
}

/// Why there is no box, or it does not open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoxError {
    /// The box was made with another key, for another seal, or has been changed.
    NotAuthentic,
    /// It is authentic, but holds no cell.
    NoCell,
    /// The cipher refused; with keys and moves of fixed length it has no reason to.
    Cipher,
}

impl fmt::Display for BoxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAuthentic => "the box was made with another key, for another seal, or has been changed",
            Self::NoCell => "the box holds no cell",
            Self::Cipher => "the cipher refused",
        })
    }
}

impl core::error::Error for BoxError {}

/// Locks an opening away.
///
/// ```
/// use rules::{Cell, Seat};
/// use sealing::{BoxContext, BoxKey, Commitment, MatchId, Opening, Salt, open_box, seal_box};
///
/// let key = BoxKey::from_bytes(&[7; 32]);
/// let context = BoxContext {
///     match_id: MatchId::from_bytes([1; 16]),
///     turn: 1,
///     seat: Seat::Black,
///     commitment: Commitment::from_bytes([2; 32]),
/// };
/// let opening = Opening { cell: Cell::from_number(41).unwrap(), salt: Salt::from_bytes([3; 32]) };
/// let sealed = seal_box(&key, &context, &opening, [4; 12])?;
/// assert_eq!(open_box(&key, &context, &sealed)?, opening);
/// assert!(open_box(&key, &BoxContext { turn: 2, ..context }, &sealed).is_err());
/// # Ok::<(), sealing::BoxError>(())
/// ```
///
/// # Errors
/// [`BoxError::Cipher`].
pub fn seal_box(
    key: &BoxKey,
    context: &BoxContext,
    opening: &Opening,
    nonce: BoxNonce,
) -> Result<SealBox, BoxError> {
    let mut sealed = [0; SealBox::BYTES];
    let (head, rest) = sealed.split_at_mut(NONCE_BYTES);
    let (held, tail) = rest.split_at_mut(OPENING_BYTES);
    head.copy_from_slice(&nonce);
    held[0] = opening.cell.number();
    held[1..].copy_from_slice(opening.salt.as_bytes());
    let tag = key
        .cipher(context.match_id)?
        .encrypt_inout_detached(&nonce.into(), &context.associated_data(), held.into())
        .map_err(|_| BoxError::Cipher)?;
    tail.copy_from_slice(&tag);
    Ok(SealBox(sealed))
}

/// Takes an opening out of its box.
///
/// # Errors
/// The box is not authentic, or holds no cell.
pub fn open_box(key: &BoxKey, context: &BoxContext, sealed: &SealBox) -> Result<Opening, BoxError> {
    let (nonce, rest) = sealed.0.split_at(NONCE_BYTES);
    let (held, tag) = rest.split_at(OPENING_BYTES);
    let nonce: BoxNonce = exactly(nonce).map_err(|_| BoxError::NotAuthentic)?;
    let tag: [u8; TAG_BYTES] = exactly(tag).map_err(|_| BoxError::NotAuthentic)?;
    let mut opened = Zeroizing::new([0; OPENING_BYTES]);
    opened.copy_from_slice(held);
    key.cipher(context.match_id)?
        .decrypt_inout_detached(
            &nonce.into(),
            &context.associated_data(),
            opened.as_mut_slice().into(),
            &tag.into(),
        )
        .map_err(|_| BoxError::NotAuthentic)?;
    let cell = Cell::from_number(opened[0]).ok_or(BoxError::NoCell)?;
    let salt = Salt::try_from(&opened[1..]).map_err(|_| BoxError::NoCell)?;
    Ok(Opening { cell, salt })
}
