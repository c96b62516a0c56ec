//! What signatures cover. Each signature is Ed25519 over the 32 bytes of one of these digests.

use alloc::sync::Arc;

use rules::Seat;

use crate::bytes::{Commitment, Digest};
use crate::match_id::MatchId;
use crate::preimage::Preimage;

/// What a seal returns: the service took this commitment at this stamp, and nothing else, so that
/// the second sealer of a turn learns nothing before the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The match.
    pub match_id: MatchId,
    /// The turn sealed for, from 1.
    pub turn: u32,
    /// The seat that sealed.
    pub seat: Seat,
    /// What it is bound to.
    pub commitment: Commitment,
    /// When, in milliseconds since the Unix epoch.
    pub sealed_ms: u64,
    /// The service's key that signs, or would sign, this receipt.
    pub key_id: Arc<str>,
}

impl Receipt {
    /// What the service's signature of this receipt covers:
    ///
    /// ```text
    /// SHA-256( lp("whattheshell.v1.receipt") lp(match id) lp(turn u32 BE) lp(seat u8) lp(C)
    ///          lp(stamp u64 BE ms) lp(key id) )
    /// ```
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::from_bytes(
            Preimage::new("whattheshell.v1.receipt")
                .field(self.match_id.as_bytes())
                .field(&self.turn.to_be_bytes())
                .field(&[self.seat.number()])
                .field(self.commitment.as_bytes())
                .number(self.sealed_ms)
                .field(self.key_id.as_bytes())
                .sha256(),
        )
    }
}

/// What the service's signature of a finished match covers:
/// `SHA-256( lp("whattheshell.v1.transcript") lp(h_end) lp(key id) )`.
#[must_use]
pub fn transcript_digest(end: &Digest, key_id: &str) -> Digest {
    let preimage = Preimage::new("whattheshell.v1.transcript").field(end.as_bytes());
    Digest::from_bytes(preimage.field(key_id.as_bytes()).sha256())
}

/// What a player's own signature of his commitment covers:
/// `SHA-256( lp("whattheshell.v1.player") lp(C) )`.
#[must_use]
pub fn player_digest(commitment: &Commitment) -> Digest {
    Digest::from_bytes(Preimage::new("whattheshell.v1.player").field(commitment.as_bytes()).sha256())
}
