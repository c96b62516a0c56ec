//! The chain of hashes that fixes a match: h_0, one h_t for each turn, h_end.

use alloc::string::String;

use rules::{PerSeat, Position};

use crate::bytes::{Commitment, Digest, PlayerSignature, PublicKey};
use crate::ending::Ending;
use crate::match_id::MatchId;
use crate::opening::Opening;
use crate::preimage::Preimage;
use crate::settings::SettingsFields;

/// Who sits in a seat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Party {
    /// The player's resource name, `players/{player}`.
    pub player: String,
    /// The player's own Ed25519 key, where he signs his commitments.
    pub public_key: Option<PublicKey>,
}

/// A resolved turn, as h_t takes it. Stamps are milliseconds since the Unix epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnFacts {
    /// What each seat had bound itself to.
    pub commitments: PerSeat<Commitment>,
    /// What opens them.
    pub openings: PerSeat<Opening>,
    /// When the turn opened.
    pub opened_ms: u64,
    /// When each seat sealed.
    pub sealed_ms: PerSeat<u64>,
    /// When the turn resolved.
    pub resolved_ms: u64,
    /// Each player's own signature of his commitment, where he made one.
    pub signatures: PerSeat<Option<PlayerSignature>>,
}

/// The first hash of a match:
///
/// ```text
/// h_0 = SHA-256( lp("whattheshell.v1.match") lp(match id) then lp of each setting in field-number order
///                (numbers u64 BE, absent: empty), then black's and white's lp(name) lp(public key or empty) )
/// ```
///
/// [`SettingsFields`] says how each setting is written.
#[must_use]
pub fn match_hash(match_id: MatchId, settings: &SettingsFields, parties: PerSeat<&Party>) -> Digest {
    let mut preimage = Preimage::new("whattheshell.v1.match").field(match_id.as_bytes());
    preimage = settings.write(preimage);
    for party in [parties.black, parties.white] {
        let key = party.public_key.as_ref().map(AsRef::as_ref);
        preimage = preimage.field(party.player.as_bytes()).optional(key);
    }
    Digest::from_bytes(preimage.sha256())
}

/// The hash of the match up to and including a turn:
///
/// ```text
/// h_t = SHA-256( lp("whattheshell.v1.turn") lp(h_{t-1}) lp(C_black) lp(C_white)
///                lp(cell ‖ salt of black) lp(… of white) lp(opened ‖ black sealed ‖ white sealed ‖ resolved, u64 BE ms)
///                lp(black's player signature or empty) lp(white's) lp(canonical text of the position after turn t) )
/// ```
///
/// The canonical text is the whole line of [`Position::canonical_line`], its LF included.
#[must_use]
pub fn turn_hash(previous: &Digest, facts: &TurnFacts, position_after: &Position) -> Digest {
    let mut preimage = Preimage::new("whattheshell.v1.turn").field(previous.as_bytes());
    for (_, commitment) in facts.commitments.iter() {
        preimage = preimage.field(commitment.as_bytes());
    }
    for (_, opening) in facts.openings.iter() {
        preimage = preimage.joined(&[&[opening.cell.number()], opening.salt.as_bytes()]);
    }
    preimage = preimage.joined(&[
        &facts.opened_ms.to_be_bytes(),
        &facts.sealed_ms.black.to_be_bytes(),
        &facts.sealed_ms.white.to_be_bytes(),
        &facts.resolved_ms.to_be_bytes(),
    ]);
    for (_, signature) in facts.signatures.iter() {
        preimage = preimage.optional(signature.as_ref().map(AsRef::as_ref));
    }
    Digest::from_bytes(preimage.field(position_after.canonical_line().as_bytes()).sha256())
}

/// The last hash of a match; `last` is the hash of its last resolved turn, h_0 if there is none:
///
/// ```text
/// h_end = SHA-256( lp("whattheshell.v1.end") lp(h_t) lp(result u8) lp(reason u8) lp(time u64 BE)
///                  lp(black's unresolved commitment or empty) lp(white's) )
/// ```
#[must_use]
pub fn end_hash(last: &Digest, ending: &Ending) -> Digest {
    let mut preimage = Preimage::new("whattheshell.v1.end")
        .field(last.as_bytes())
        .field(&[ending.result.number()])
        .field(&[ending.reason.number()])
        .number(ending.time_ms);
    for (_, commitment) in ending.unresolved.iter() {
        preimage = preimage.optional(commitment.as_ref().map(AsRef::as_ref));
    }
    Digest::from_bytes(preimage.sha256())
}
