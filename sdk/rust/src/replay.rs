//! A match played again, turn by turn, against what the server says.

use rules::{Cell, Event, IllegalTurn, PerSeat, Position, Seat};
use sealing::{Claim as Chain, Digest, Ending, RULES_VERSION, SealContext, TurnFacts, turn_hash};
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

/// The turns of a match so far, all of them verified.
pub(crate) struct Replay {
    transcript: sealing::Transcript,
    position: Position,
    hash: Digest,
}

impl Replay {
    /// A match before its first turn, by rules that this client can play.
    pub(crate) fn start(terms: Terms) -> Result<Self, Violation> {
        if terms.settings.rules_version != RULES_VERSION {
            return Err(Violation::of_match(Claim::Transcript(Chain::RulesVersion)));
        }
        let first_hash = terms.first_hash();
        let transcript = sealing::Transcript {
            match_id: terms.match_id,
            settings: terms.settings,
            parties: terms.parties,
            first_hash,
            turns: Vec::new(),
            turn_hashes: Vec::new(),
            ending: None,
            end_hash: None,
        };
        Ok(Self { transcript, position: Position::initial(), hash: first_hash })
    }

    /// h_0.
    pub(crate) fn first_hash(&self) -> Digest {
        self.transcript.first_hash
    }

    /// The last verified turn; 0 before the first.
    pub(crate) fn turn(&self) -> u32 {
        u32::try_from(self.transcript.turns.len()).unwrap_or(u32::MAX)
    }

    /// The hash after that turn.
    pub(crate) fn hash(&self) -> Digest {
        self.hash
    }

    /// The board after that turn.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Verifies the next turn and plays it.
    pub(crate) fn play(&mut self, message: v1::ResolvedTurn) -> Result<VerifiedTurn, Violation> {
        let turn = self.turn().saturating_add(1);
        if message.turn != turn {
            return Err(Violation::of_turn(message.turn, Claim::Sequence));
        }
        self.verify(turn, &message).map_err(|(seat, claim)| Violation { turn: Some(turn), seat, claim })
    }

    fn verify(
        &mut self,
        turn: u32,
        message: &v1::ResolvedTurn,
    ) -> Result<VerifiedTurn, (Option<Seat>, Claim)> {
        let of_turn = |claim| (None, claim);
        if u64::from(turn) > self.transcript.settings.turn_limit {
            return Err(of_turn(Claim::Transcript(Chain::TurnLimit)));
        }
        let facts = convert::turn_facts(message)?;
        self.verify_commitments(turn, &facts)?;
        let cells = facts.openings.as_ref().map(|opening| opening.cell);
        let played = self.position.resolve(cells.black, cells.white).map_err(|illegal| match illegal {
            IllegalTurn::GameOver => of_turn(Claim::Transcript(Chain::GameOver)),
            IllegalTurn::Occupied(seat) => (Some(seat), Claim::Transcript(Chain::Move)),
        })?;
        let hash = convert::digest(&message.hash, "hash").map_err(of_turn)?;
        if turn_hash(&self.hash, &facts, &played.position) != hash {
            return Err(of_turn(Claim::Transcript(Chain::TurnHash)));
        }
        if convert::position(message.position.as_ref()) != Some(played.position) {
            return Err(of_turn(Claim::Position));
        }
        if !convert::same_events(&message.events, &played.events) {
            return Err(of_turn(Claim::Events));
        }
        self.position = played.position;
        self.hash = hash;
        self.transcript.turns.push(facts);
        self.transcript.turn_hashes.push(hash);
        let (events, position) = (played.events, played.position);
        Ok(VerifiedTurn { turn, cells, events, position, hash, message: message.clone() })
    }

    fn verify_commitments(&self, turn: u32, facts: &TurnFacts) -> Result<(), (Option<Seat>, Claim)> {
        for seat in Seat::BOTH {
            let context = SealContext {
                match_id: self.transcript.match_id,
                turn,
                seat,
                player: &self.transcript.parties[seat].player,
                previous: &self.hash,
            };
            if !context.opens(&facts.commitments[seat], &facts.openings[seat]) {
                return Err((Some(seat), Claim::Transcript(Chain::Commitment)));
            }
        }
        Ok(())
    }

    /// Verifies the end, and with it every claim that only the whole match can show.
    pub(crate) fn finish(&mut self, message: v1::MatchFinished) -> Result<Finish, Violation> {
        if message.turn != self.turn() {
            return Err(Violation::of_turn(message.turn, Claim::Sequence));
        }
        let ending = convert::ending(&message).map_err(Violation::of_match)?;
        if ending.is_some() {
            let end_hash = convert::digest(&message.end_hash, "end_hash").map_err(Violation::of_match)?;
            self.transcript.end_hash = Some(end_hash);
        }
        self.transcript.ending.clone_from(&ending);
        self.transcript.verify()?;
        Ok(Finish { message, ending })
    }
}
