//! A resolved turn: the unit of a match's history.

use std::sync::Arc;

use rules::{PerSeat, Seat};
use sealing::{Commitment, Digest, Receipt, SealContext, TurnFacts};

use crate::command::{DrawCommand, Refusal, RequestId, RevealCommand, SealCommand, SealedMove};
use crate::draw;
use crate::game::{Match, TurnRequests};

/// A resolved turn, as it is stored for ever. With the settings and the turns before it, everything
/// that happened on the board follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnRecord {
    /// Its number, from 1.
    pub turn: u32,
    /// What was sealed, when, and what it hid.
    pub facts: TurnFacts,
    /// The requests that sealed it.
    pub request_ids: PerSeat<RequestId>,
    /// What else each seat asked for in it.
    pub requests: PerSeat<TurnRequests>,
    /// The keys that the receipts name; empty where the service had none.
    pub key_ids: PerSeat<Arc<str>>,
    /// h of this turn.
    pub hash: Digest,
}

impl TurnRecord {
    /// What a seal that arrives after its turn resolved is answered: its first receipt if it is a
    /// repetition. `previous` is the h of the turn before this one.
    ///
    /// # Errors
    /// [`Refusal::HistoryRegressed`] if it is for another history, [`Refusal::RequestIdReused`] for the same
    /// request with another choice, [`Refusal::AlreadySealed`] for another request.
    pub fn repeat(&self, game: &Match, previous: &Digest, command: &SealCommand) -> Result<Receipt, Refusal> {
        let seat = command.seat;
        if command.previous.is_some_and(|known| known != *previous) {
            return Err(Refusal::HistoryRegressed);
        }
        if self.request_ids[seat] != command.request_id {
            return Err(Refusal::AlreadySealed { turn: self.turn });
        }
        let commitment = commitment_of(game, previous, command);
        if commitment != self.facts.commitments[seat] || command.signature != self.facts.signatures[seat] {
            return Err(Refusal::RequestIdReused);
        }
        Ok(self.receipt(game, seat))
    }

    /// What a reveal that arrives after its turn resolved is answered. The opening that was revealed is
    /// done under any request: the answer is the one that the repetition had while the turn was open.
    ///
    /// # Errors
    /// [`Refusal::RequestIdReused`] for the same request with another opening, [`Refusal::TurnClosed`]
    /// for another request with another one, and where nothing was revealed.
    pub fn repeat_reveal(&self, command: &RevealCommand) -> Result<(), Refusal> {
        let closed = Refusal::TurnClosed { turn: self.turn };
        let first = self.requests[command.seat].reveal.as_ref().ok_or(closed)?;
        if self.facts.openings[command.seat] == command.opening {
            Ok(())
        } else if *first == command.request_id {
            Err(Refusal::RequestIdReused)
        } else {
            Err(closed)
        }
    }

    /// What a draw offer or answer that arrives after its turn resolved is answered.
    ///
    /// # Errors
    /// [`Refusal::RequestIdReused`] for the same request with another content, [`Refusal::TurnClosed`]
    /// for another request.
    pub fn repeat_draw(&self, command: &DrawCommand) -> Result<(), Refusal> {
        let closed = Err(Refusal::TurnClosed { turn: self.turn });
        draw::repeated(&self.requests, command).map_or(closed, |answer| answer.map(|_| ()))
    }

    /// The receipt for the seal of `seat` in this turn.
    #[must_use]
    pub fn receipt(&self, game: &Match, seat: Seat) -> Receipt {
        Receipt {
            match_id: game.id,
            turn: self.turn,
            seat,
            commitment: self.facts.commitments[seat],
            sealed_ms: self.facts.sealed_ms[seat],
            key_id: Arc::clone(&self.key_ids[seat]),
        }
    }
}

/// The commitment that a seal makes, in a turn whose previous h is `previous`.
pub(crate) fn commitment_of(game: &Match, previous: &Digest, command: &SealCommand) -> Commitment {
    match &command.sealed {
        SealedMove::Commitment(commitment) => *commitment,
        SealedMove::Opening(opening) => SealContext {
            match_id: game.id,
            turn: command.turn,
            seat: command.seat,
            player: &game.parties[command.seat].player,
            previous,
        }
        .commit(opening),
    }
}
