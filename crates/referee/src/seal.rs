//! Sealing: a seat's choice goes in and is final.

use std::sync::Arc;

use rules::Seat;

use crate::apply::{Change, Event, Transition, changed, refused};
use crate::command::{Answer, Refusal, SealCommand, SealedMove};
use crate::ending::Finish;
use crate::game::{Match, OpenTurn, Phase, Revealing, Seal, SealFacts};
use crate::record::commitment_of;
use crate::settings::SealMode;
use crate::time::Stamp;

impl Match {
    pub(crate) fn seal(&self, open: &OpenTurn, command: &SealCommand, now: Stamp) -> Transition {
        let (seat, turn) = (command.seat, command.turn);
        if let Err(refusal) = self.check_turn(open.turn, command) {
            return refused(refusal);
        }
        if let Some(seal) = &open.seals[seat] {
            return match self.repeat(&seal.facts, command) {
                Some(answer) => Transition { change: None, answer },
                None => refused(Refusal::AlreadySealed { turn }),
            };
        }
        let opening = match (&command.sealed, self.settings.seal_mode) {
            (SealedMove::Opening(opening), SealMode::ServerSealed) => Some(opening.clone()),
            (SealedMove::Commitment(_), SealMode::CommitReveal { .. }) => None,
            (SealedMove::Opening(_) | SealedMove::Commitment(_), _) => {
                return refused(Refusal::SealModeMismatch);
            }
        };
        if opening.as_ref().is_some_and(|opening| !self.position.is_empty(opening.cell)) {
            return refused(Refusal::CellOccupied);
        }
        let facts = self.seal_facts(command, now);
        if !self.is_signed_by(seat, &facts) {
            return refused(Refusal::SignatureInvalid);
        }
        let receipt = self.receipt(seat, turn, &facts);
        let mut sealed = open.clone();
        sealed.seals[seat] = Some(Seal { facts, opening });
        match self.sealed(sealed, seat, now) {
            Ok(change) => changed(change, Answer::Sealed(receipt)),
            Err(refusal) => refused(refusal),
        }
    }

    /// A seal while the bot's is awaited. The bot's own opens the turn: its commitment is known before the player
    /// moves, and no time of the player's runs while it is late.
    pub(crate) fn seal_before_turn(&self, command: &SealCommand, now: Stamp) -> Transition {
        let turn = self.resolved + 1;
        if let Err(refusal) = self.check_turn(turn, command) {
            return refused(refusal);
        }
        if !self.settings.is_bot(command.seat) {
            return refused(Refusal::TurnNotOpenYet { turn });
        }
        let SealedMove::Opening(opening) = &command.sealed else {
            return refused(Refusal::SealModeMismatch);
        };
        if !self.position.is_empty(opening.cell) {
            return refused(Refusal::CellOccupied);
        }
        let facts = self.seal_facts(command, now);
        let receipt = self.receipt(command.seat, turn, &facts);
        let mut open = OpenTurn::new(turn, now, self.clock_ms);
        open.seals[command.seat] = Some(Seal { facts, opening: Some(opening.clone()) });
        let change = Change {
            next: Arc::new(self.followed_by(Phase::Open(open), now)),
            not_after: self.deadline(),
            events: vec![Event::TurnOpened { turn }],
            follow_ups: Vec::new(),
        };
        changed(change, Answer::Sealed(receipt))
    }

    /// The public side of a seal.
    fn seal_facts(&self, command: &SealCommand, now: Stamp) -> SealFacts {
        SealFacts {
            commitment: commitment_of(self, &self.hash, command),
            sealed: now,
            request_id: command.request_id.clone(),
            key_id: Arc::clone(&command.key_id),
            signature: command.signature,
        }
    }

    /// Whether a seal's signature, if it has one, is that of the key bound into the match.
    fn is_signed_by(&self, seat: Seat, facts: &SealFacts) -> bool {
        match (&facts.signature, &self.parties[seat].public_key) {
            (None, _) => true,
            (Some(signature), Some(key)) => sealing::verify_player(&facts.commitment, signature, key),
            (Some(_), None) => false,
        }
    }

    /// Whether a seal is for the open turn, and of the history it stands on.
    fn check_turn(&self, open: u32, command: &SealCommand) -> Result<(), Refusal> {
        let turn = command.turn;
        if turn < open {
            return Err(Refusal::TurnClosed { turn });
        }
        let contradicts = |previous| turn > open || previous != self.hash;
        match command.previous {
            Some(previous) if contradicts(previous) => Err(Refusal::HistoryRegressed),
            _ if turn > open => Err(Refusal::TurnNotOpenYet { turn }),
            _ => Ok(()),
        }
    }

    /// The answer to a seal whose request has been here before; none if it has not.
    fn repeat(&self, facts: &SealFacts, command: &SealCommand) -> Option<Result<Answer, Refusal>> {
        if facts.request_id != command.request_id {
            return None;
        }
        let same = facts.commitment == commitment_of(self, &self.hash, command)
            && facts.signature == command.signature;
        Some(if same {
            Ok(Answer::Sealed(self.receipt(command.seat, command.turn, facts)))
        } else {
            Err(Refusal::RequestIdReused)
        })
    }

    /// The match after `seat` has sealed. With the second seal the turn resolves, or its reveals are due.
    fn sealed(&self, open: OpenTurn, seat: Seat, now: Stamp) -> Result<Change, Refusal> {
        let not_after = self.deadline();
        let mut clock_ms = self.clock_ms;
        clock_ms[seat] = self.clock_after_seal_ms(open.deadlines[seat], now);
        let both = open.seals[seat.opponent()].is_some();
        let phase = match self.settings.seal_mode {
            SealMode::ServerSealed if both => return self.resolve(open, clock_ms, now),
            SealMode::CommitReveal { reveal_ms } if both => {
                Phase::Revealing(Revealing { open, reveal_by: now.plus_ms(reveal_ms) })
            }
            SealMode::ServerSealed | SealMode::CommitReveal { .. } => Phase::Open(open),
        };
        let mut next = self.followed_by(phase, now);
        next.clock_ms = clock_ms;
        Ok(Change { next: Arc::new(next), not_after, events: Vec::new(), follow_ups: Vec::new() })
    }

    /// A seal after the end is a repetition, or too late.
    pub(crate) fn seal_after_end(&self, finish: &Finish, command: &SealCommand) -> Transition {
        let turn = command.turn;
        if turn <= self.resolved {
            return refused(Refusal::TurnClosed { turn });
        }
        let unresolved = finish.unresolved[command.seat].as_ref().filter(|_| turn == self.resolved + 1);
        match unresolved.and_then(|facts| self.repeat(facts, command)) {
            Some(answer) => Transition { change: None, answer },
            None => refused(Refusal::MatchFinished),
        }
    }
}
