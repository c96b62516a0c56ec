//! What the Shell: commitments, transcript hashes and receipts, byte for byte.
//!
//! A match is fixed by a chain of SHA-256 hashes: [`match_hash`] (h_0) over its settings and
//! players, [`turn_hash`] (h_t) over each resolved turn, [`end_hash`] (h_end) over its ending. A
//! player binds himself to a cell by a [`Commitment`] before the turn resolves; the [`Opening`] that
//! is published afterwards shows that the move went in unchanged. A [`Transcript`] holds all of it
//! and [`Transcript::verify`] checks it by playing the match again.
//!
//! `lp(x)` is the length of `x` in bytes, 16 bits big-endian, then `x`; `‖` is concatenation; seats
//! are black 1 and white 2; a cell is its number, 1 to 81. Every formula stands at its function.
//! These bytes do not change: `tests/vectors` pins them for every language.
//!
//! Deliberately absent: a clock, a source of randomness, async, serialisation. Salts and stamps come
//! from the caller. A sealed cell and its salt have no telling `Debug` and no `Display`.
#![no_std]

extern crate alloc;

mod bytes;
mod chain;
mod ending;
mod key_id;
mod match_id;
mod opening;
mod preimage;
mod seal_box;
mod settings;
mod signed;
mod transcript;

pub use bytes::{Commitment, Digest, PlayerSignature, PublicKey, WrongLength};
pub use chain::{Party, TurnFacts, end_hash, match_hash, turn_hash};
pub use ending::{EndReason, Ending, MatchResult, decided_by_turn};
pub use key_id::{KeyId, MalformedKeyId};
pub use match_id::{MalformedMatchId, MatchId};
pub use opening::{Opening, Salt, SealContext};
pub use preimage::FIELD_BYTES_MAX;
pub use seal_box::{BoxContext, BoxError, BoxKey, BoxNonce, SealBox, open_box, seal_box};
pub use settings::{Bank, BotSeat, RULES_VERSION, SettingsFields};
pub use signed::{Receipt, player_digest, transcript_digest};
pub use transcript::{Claim, Transcript, TranscriptError, Verified};
