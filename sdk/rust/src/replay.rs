//! A match played again, turn by turn, against what the server says.

use rules::{Cell, Event, PerSeat, Position, Turn};
use sealing::{Digest, Ending, Verified};
use wire::v1;

use crate::convert::{self, Terms};
use crate::{Claim, Violation};

/// A turn whose every claim holds: the commitments open, the board and the events are what the rules
/// lead to, and the hash continues the chain.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifiedTurn {
    /// The number of the turn, from 1.
    pub turn: u32,
    /// What each seat had sealed.
    pub cells: PerSeat<Cell>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The board after the turn.
    pub position: Position,
    /// h_t.
    pub hash: Digest,
    /// The turn as it came, with its salts and stamps.
    pub message: v1::ResolvedTurn,
}

/// The end of a match.
#[derive(Clone, PartialEq, Debug)]
pub struct Finish {
    /// The end as it came.
    pub message: v1::MatchFinished,
    /// The end, verified against the board and the chain. None: its result or reason is one that only a
    /// newer client knows, and can verify.
    pub ending: Option<Ending>,
}

/// The turns of a match so far, all of them verified: first what its hashes take, then what only the
/// messages claim.
pub(crate) struct Replay(sealing::Replay);

impl Replay {
    /// A match before its first turn, by rules that this client can play; `first_hash` is the claimed h_0.
    pub(crate) fn start(terms: Terms, first_hash: &Digest) -> Result<Self, Violation> {
        let Terms { match_id, settings, parties } = terms;
        Ok(Self(sealing::Replay::new(match_id, settings, parties, first_hash)?))
    }

    /// h_0.
    pub(crate) fn first_hash(&self) -> Digest {
        self.0.first_hash()
    }

    /// The last verified turn; 0 before the first.
    pub(crate) fn turn(&self) -> u32 {
        self.0.turns()
    }

    /// The hash after that turn.
    pub(crate) fn hash(&self) -> Digest {
        self.0.hash()
    }

    /// The board after that turn.
    pub(crate) fn position(&self) -> Position {
        self.0.position()
    }

    /// What the turns so far lead to.
    pub(crate) fn verified(&self) -> Verified {
        self.0.verified()
    }

    /// Verifies the next turn and plays it.
    pub(crate) fn play(&mut self, message: v1::ResolvedTurn) -> Result<VerifiedTurn, Violation> {
        let turn = self.turn().saturating_add(1);
        if message.turn != turn {
            return Err(Violation::of_turn(message.turn, Claim::Sequence));
        }
        let facts = convert::turn_facts(&message).map_err(|(seat, claim)| Violation {
            turn: Some(turn),
            seat,
            claim,
        })?;
        let of_turn = |claim| Violation::of_turn(turn, claim);
        let hash = convert::digest(&message.hash, "hash").map_err(of_turn)?;
        let Turn { position, black, white, events } = self.0.turn(&facts, &hash)?;
        if convert::position(message.position.as_ref()) != Some(position) {
            return Err(of_turn(Claim::Position));
        }
        if !convert::same_events(&message.events, &events) {
            return Err(of_turn(Claim::Events));
        }
        Ok(VerifiedTurn { turn, cells: PerSeat { black, white }, events, position, hash, message })
    }

    /// Verifies the end, and says where it leaves the match.
    pub(crate) fn finish(self, message: v1::MatchFinished) -> Result<(Finish, Verified), Violation> {
        if message.turn != self.turn() {
            return Err(Violation::of_turn(message.turn, Claim::Sequence));
        }
        let ending = convert::ending(&message).map_err(Violation::of_match)?;
        let verified = match &ending {
            Some(ending) => {
                let hash = convert::digest(&message.end_hash, "end_hash").map_err(Violation::of_match)?;
                self.0.end(ending, &hash)?
            }
            None => self.verified(),
        };
        Ok((Finish { message, ending }, verified))
    }
}
