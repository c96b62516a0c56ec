//! What can be asked of a match, and what it answers.

use std::fmt;
use std::sync::Arc;

use rules::Seat;
use sealing::{Commitment, Digest, Opening, PlayerSignature, Receipt};
use thiserror::Error;

use crate::lost_history::HistoryClaim;

/// A caller's name for one request: the same name again is the same request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

/// A request id that is not 1 to 64 of `[A-Za-z0-9._-]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a request id is 1 to {} of A-Z a-z 0-9 . _ -", RequestId::LENGTH_MAX)]
pub struct RequestIdError;

impl RequestId {
    /// The most characters, enough for a UUID; both seats' ids stay in every stored turn.
    pub const LENGTH_MAX: usize = 64;

    /// Takes an id as it came from outside.
    ///
    /// # Errors
    /// If it is empty, too long, or holds another character.
    pub fn new(text: &str) -> Result<Self, RequestIdError> {
        if text.is_empty() || text.len() > Self::LENGTH_MAX {
            return Err(RequestIdError);
        }
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        // All of it is looked at, which is faster than to stop at the first that is wrong.
        if !text.bytes().fold(true, |all, byte| all & allowed(byte)) {
            return Err(RequestIdError);
        }
        Ok(Self(text.into()))
    }

    /// The id as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// What a seat seals: the move itself, or only its commitment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SealedMove {
    /// Server-sealed: cell and salt. Debug shows neither.
    Opening(Opening),
    /// Commit-reveal: the commitment; the opening follows in a reveal.
    Commitment(Commitment),
}

/// A seat's choice for one turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealCommand {
    /// Who seals.
    pub seat: Seat,
    /// The turn it is for, from 1.
    pub turn: u32,
    /// The choice.
    pub sealed: SealedMove,
    /// The h of the turn before, as the caller knows it; a contradiction is refused.
    pub previous: Option<Digest>,
    /// The player's own signature over the commitment.
    pub signature: Option<PlayerSignature>,
    /// The key that the receipt names; empty while the service has none.
    pub key_id: Arc<str>,
    /// The request's name.
    pub request_id: RequestId,
}

/// A seat opens what it committed to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RevealCommand {
    /// Who reveals.
    pub seat: Seat,
    /// The turn it is for, from 1.
    pub turn: u32,
    /// Cell and salt. Debug shows neither.
    pub opening: Opening,
    /// The request's name.
    pub request_id: RequestId,
}

/// A seat offers a draw, or answers the opponent's offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawCommand {
    /// Who offers or answers.
    pub seat: Seat,
    /// The turn it is for, from 1: an offer lapses with its turn.
    pub turn: u32,
    /// None: an offer. Else whether the opponent's is accepted.
    pub accept: Option<bool>,
    /// The request's name.
    pub request_id: RequestId,
}

/// Something asked of a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// A seat is there. The second one opens turn 1.
    Join {
        /// Who joins.
        seat: Seat,
    },
    /// A seat seals its choice. Final: there is no withdrawal.
    Seal(SealCommand),
    /// A seat opens its commitment. The first reveal is held until the second.
    Reveal(RevealCommand),
    /// A seat offers a draw or answers an offer.
    Draw(DrawCommand),
    /// A seat gives up. Before turn 1 the match is aborted, then the opponent wins.
    Resign {
        /// Who gives up.
        seat: Seat,
        /// The request's name.
        request_id: RequestId,
    },
    /// An operator ends the match.
    Abort,
    /// The service knows that the store has lost a part of the match, which is void then.
    LostHistory,
    /// A seat knows another history than the store. If the opponent claims the same, the match is void;
    /// else nothing but the claim is kept. It is for histories that are not the match's: whoever asks has
    /// compared a turn before the last one with the stored turns.
    ClaimHistory {
        /// Who says so.
        seat: Seat,
        /// What he says.
        claim: HistoryClaim,
    },
    /// Time has passed.
    Tick,
}

/// What a command that was not refused answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The seal is in; the same receipt for every repetition.
    Sealed(Receipt),
    /// It holds now.
    Done,
}

/// Why a command was refused. None tells anything about a cell that the opponent sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// Not both players have joined.
    #[error("the match has not started: both players must join first")]
    MatchNotStarted,
    /// The match is over.
    #[error("the match is finished")]
    MatchFinished,
    /// The turn has resolved. The caller may have sealed in it: [`crate::TurnRecord::repeat`] tells.
    #[error("turn {turn} is closed")]
    TurnClosed {
        /// The turn that was named.
        turn: u32,
    },
    /// The turn lies ahead.
    #[error("turn {turn} is not open yet")]
    TurnNotOpenYet {
        /// The turn that was named.
        turn: u32,
    },
    /// The seat has sealed this turn under another request.
    #[error("this seat has already sealed turn {turn}: a seal is final")]
    AlreadySealed {
        /// The turn that was named.
        turn: u32,
    },
    /// The request id was used for another request.
    #[error("the request id was used for another request")]
    RequestIdReused,
    /// The cell is occupied on the public board.
    #[error("the cell is occupied")]
    CellOccupied,
    /// An opening where a commitment is due, or the reverse.
    #[error("the match is played in the other seal mode")]
    SealModeMismatch,
    /// Nothing is to be revealed now.
    #[error("turn {turn} is not in its reveal phase")]
    NotInRevealPhase {
        /// The turn that was named.
        turn: u32,
    },
    /// Cell and salt are not those of the commitment.
    #[error("the opening does not fit the commitment")]
    CommitmentMismatch,
    /// The opponent has no offer open in this turn.
    #[error("the opponent has no draw offer open in this turn")]
    NoOpenOffer,
    /// The seat has offered a draw in this turn.
    #[error("this seat has already offered a draw in this turn")]
    AlreadyOffered,
    /// The player's signature is not of his key, or he has none.
    #[error("the signature is not that of the key bound into the match")]
    SignatureInvalid,
    /// The caller knows another history.
    #[error("the history does not go through the turn that the caller knows")]
    HistoryRegressed,
    /// A stored move is illegal: the record is damaged.
    #[error("the stored match is damaged")]
    Damaged,
}
