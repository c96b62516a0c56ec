//! What the Shell: commitments, transcript hashes, receipts, signatures and boxes, byte for byte.
//!
//! A match is fixed by a chain of SHA-256 hashes: [`match_hash`] (h_0) over its settings and
//! players, [`turn_hash`] (h_t) over each resolved turn, [`end_hash`] (h_end) over its ending. A
//! player binds himself to a cell by a [`Commitment`] before the turn resolves; the [`Opening`] that
//! is published afterwards shows that the move went in unchanged. A [`Transcript`] holds all of it
//! and [`Transcript::verify`] checks it by playing the match again; a [`Replay`] does so turn by turn. The service signs receipts and
//! finished matches with Ed25519 ([`ServerSigningKey`]), a player his commitments if he likes
//! ([`PlayerSigningKey`]). An opening that must be stored before its turn resolves is put in a box
//! ([`seal_box`]).
//!
//! `lp(x)` is the length of `x` in bytes, 16 bits big-endian, then `x`; `‖` is concatenation; seats
//! are black 1 and white 2; a cell is its number, 1 to 81. Every formula stands at its function.
//! These bytes do not change: `tests/vectors` pins them for every language.
//!
//! Deliberately absent: a clock, a source of randomness, async, serialisation. Salts,
//! nonces, keys and stamps come from the caller. A sealed cell, its salt and every secret key have no
//! telling `Debug` and no `Display`.
#![no_std]

extern crate alloc;

mod bytes;
mod chain;
mod ending;
mod key_id;
mod match_id;
mod opening;
mod preimage;
mod replay;
mod seal_box;
mod settings;
mod signature;
mod signed;
mod transcript;

pub use bytes::{Commitment, Digest, PlayerSignature, PublicKey, Signature, WrongLength};
pub use chain::{Party, TurnFacts, end_hash, match_hash, turn_hash};
pub use ending::{EndReason, Ending, MatchResult, decided_by_turn};
pub use key_id::{KeyId, MalformedKeyId};
pub use match_id::{MalformedMatchId, MatchId};
pub use opening::{Opening, Salt, SealContext};
pub use preimage::FIELD_BYTES_MAX;
pub use replay::Replay;
pub use seal_box::{BoxContext, BoxError, BoxKey, BoxNonce, SealBox, open_box, seal_box};
pub use settings::{Bank, BotSeat, RULES_VERSION, SettingsFields};
pub use signature::{
    PlayerSigningKey, ServerKey, ServerSigningKey, is_usable_key, verify_end, verify_player, verify_receipt,
};
pub use signed::{Receipt, player_digest, transcript_digest};
pub use transcript::{Claim, Transcript, TranscriptError, TranscriptSignature, Verified};
