//! What a command does to a match: the table of transitions.

use rules::{PerSeat, Seat};
use sealing::{EndReason, MatchResult, TurnFacts};

use crate::command::{Answer, Command, Refusal, RequestId, SealCommand, SealedMove};
use crate::ending::{Finish, Verdict};
use crate::game::{Match, OpenTurn, Phase, Seal, SealFacts};
use crate::record::{TurnRecord, commitment_of};
use crate::settings::SealMode;
use crate::time::{Now, Stamp};

/// What happened to a match, for whoever listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A turn opened.
    TurnOpened {
        /// Its number.
        turn: u32,
    },
    /// A turn resolved: the record to append to the history.
    TurnResolved(Box<TurnRecord>),
    /// The match ended.
    Finished,
}

/// What a change must cause elsewhere. Written with the match, done by any node, once in effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FollowUp {
    /// The list of matches of this seat's player must show where the match stands.
    Index(Seat),
}

impl FollowUp {
    /// Both players' lists.
    #[must_use]
    pub fn index_both() -> Vec<Self> {
        Seat::BOTH.map(Self::Index).to_vec()
    }
}

/// A new state of a match, to be committed as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The match after it.
    pub next: Match,
    /// The change holds only if it is stored by then (inclusive): the first deadline that was open when
    /// it was judged. None where no deadline was.
    pub not_after: Option<Stamp>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What it must cause elsewhere.
    pub follow_ups: Vec<FollowUp>,
}

impl Change {
    /// The turn that resolved in this change, if one did: never more than one.
    #[must_use]
    pub fn turn(&self) -> Option<&TurnRecord> {
        self.events.iter().find_map(|event| match event {
            Event::TurnResolved(record) => Some(record.as_ref()),
            Event::TurnOpened { .. } | Event::Finished => None,
        })
    }
}

/// What a command comes to. The change, if any, is committed *before* the answer leaves: a refusal may
/// rest on a deadline that this very command found passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition {
    /// What changes.
    pub change: Option<Change>,
    /// What the caller is told.
    pub answer: Result<Answer, Refusal>,
}

impl Match {
    /// Judges a command at a moment. Deadlines that have passed are applied first.
    #[must_use]
    pub fn apply(&self, command: &Command, now: Now) -> Transition {
        let mut game = self.under_outage(now.outage_ms);
        let expired = Verdict::of_deadlines(&game, now.stamp).map(|verdict| {
            game = verdict.end(&game, None);
            finished(game.clone(), None)
        });
        let judged = game.judge(command, now.stamp);
        Transition { change: judged.change.or(expired), answer: judged.answer }
    }

    /// The table: what each command does in each phase, no deadline having passed.
    fn judge(&self, command: &Command, now: Stamp) -> Transition {
        match (&self.phase, command) {
            (_, Command::Tick) => unchanged(Answer::Done),

            (Phase::Waiting { joined, start_by }, Command::Join { seat }) => {
                self.join(*joined, *start_by, *seat, now)
            }
            (Phase::Waiting { .. }, Command::Seal(_)) => refused(Refusal::MatchNotStarted),
            (Phase::Waiting { .. }, Command::Resign { seat, request_id }) => {
                let reason = EndReason::Resignation;
                let verdict = Verdict { result: MatchResult::Aborted, reason, at: now };
                self.end_by(verdict, *seat, request_id)
            }

            (Phase::Open(_) | Phase::Finished(_), Command::Join { .. }) => unchanged(Answer::Done),
            (Phase::Open(open), Command::Seal(seal)) => self.seal(open, seal, now),
            (Phase::Open(_), Command::Resign { seat, request_id }) => {
                let verdict = Verdict::win(seat.opponent(), EndReason::Resignation, now);
                self.end_by(verdict, *seat, request_id)
            }

            (Phase::Finished(finish), Command::Seal(seal)) => self.seal_after_end(finish, seal),
            (Phase::Finished(finish), Command::Resign { seat, request_id }) => {
                if finish.by.as_ref() == Some(&(*seat, request_id.clone())) {
                    unchanged(Answer::Done)
                } else {
                    refused(Refusal::MatchFinished)
                }
            }
        }
    }

    fn join(&self, joined: PerSeat<bool>, start_by: Option<Stamp>, seat: Seat, now: Stamp) -> Transition {
        if joined[seat] {
            return unchanged(Answer::Done);
        }
        let mut next = self.active(now);
        let mut events = Vec::new();
        let mut now_joined = joined;
        now_joined[seat] = true;
        if now_joined[seat.opponent()] {
            next.started = Some(now);
            next.phase = Phase::Open(next.next_turn(now));
            events.push(Event::TurnOpened { turn: 1 });
        } else {
            next.phase = Phase::Waiting { joined: now_joined, start_by };
        }
        changed(Change { next, not_after: self.deadline(), events, follow_ups: Vec::new() }, Answer::Done)
    }

    fn seal(&self, open: &OpenTurn, command: &SealCommand, now: Stamp) -> Transition {
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
            (SealedMove::Opening(opening), SealMode::ServerSealed) => opening,
            (SealedMove::Commitment(_), _) | (_, SealMode::CommitReveal { .. }) => {
                return refused(Refusal::SealModeMismatch);
            }
        };
        if !self.position.is_empty(opening.cell) {
            return refused(Refusal::CellOccupied);
        }
        let facts = SealFacts {
            commitment: commitment_of(self, &self.hash, command),
            sealed: now,
            request_id: command.request_id.clone(),
            key_id: command.key_id.clone(),
            signature: command.signature,
        };
        let receipt = self.receipt(seat, turn, &facts);
        let mut sealed = open.clone();
        sealed.seals[seat] = Some(Seal { facts, opening: Some(opening.clone()) });
        match self.sealed(sealed, seat, now) {
            Ok(change) => changed(change, Answer::Sealed(receipt)),
            Err(refusal) => refused(refusal),
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

    /// The match after `seat` has sealed: the turn resolves if it was the second.
    fn sealed(&self, open: OpenTurn, seat: Seat, now: Stamp) -> Result<Change, Refusal> {
        let not_after = self.deadline();
        let mut next = self.active(now);
        next.clock_ms[seat] = self.clock_after_seal_ms(open.deadlines[seat], now);
        let seals = open.seals.as_ref().map(Option::as_ref).both();
        let Some(seals) = seals else {
            next.phase = Phase::Open(open);
            return Ok(Change { next, not_after, events: Vec::new(), follow_ups: Vec::new() });
        };
        let record = self.resolve(&open, seals, now, &mut next)?;
        let ended = sealing::decided_by_turn(
            &self.position.outcome(),
            &next.position.outcome(),
            record.turn,
            u64::from(self.settings.turn_limit),
        );
        let mut events = vec![Event::TurnResolved(Box::new(record))];
        let mut follow_ups = Vec::new();
        if let Some((result, reason)) = ended {
            next = Verdict { result, reason, at: now }.end_resolved(&next);
            events.push(Event::Finished);
            follow_ups = FollowUp::index_both();
        } else {
            let open = next.next_turn(now);
            events.push(Event::TurnOpened { turn: open.turn });
            next.phase = Phase::Open(open);
        }
        Ok(Change { next, not_after, events, follow_ups })
    }

    /// Plays both moves, moves `next` past the turn and returns its record.
    fn resolve(
        &self,
        open: &OpenTurn,
        seals: PerSeat<&Seal>,
        now: Stamp,
        next: &mut Self,
    ) -> Result<TurnRecord, Refusal> {
        let openings = seals.map(|seal| seal.opening.clone()).both().ok_or(Refusal::Damaged)?;
        next.position =
            self.position.play(openings.black.cell, openings.white.cell).map_err(|_| Refusal::Damaged)?;
        let facts = TurnFacts {
            commitments: seals.map(|seal| seal.facts.commitment),
            openings,
            opened_ms: open.opened.as_ms(),
            sealed_ms: seals.map(|seal| seal.facts.sealed.as_ms()),
            resolved_ms: now.as_ms(),
            signatures: seals.map(|seal| seal.facts.signature),
        };
        next.hash = sealing::turn_hash(&self.hash, &facts, &next.position);
        next.resolved = open.turn;
        Ok(TurnRecord {
            turn: open.turn,
            facts,
            request_ids: seals.map(|seal| seal.facts.request_id.clone()),
            key_ids: seals.map(|seal| seal.facts.key_id.clone()),
            hash: next.hash,
        })
    }

    /// Ends the match because a seat asked for it.
    fn end_by(&self, verdict: Verdict, seat: Seat, request_id: &RequestId) -> Transition {
        let next = verdict.end(self, Some((seat, request_id.clone())));
        changed(finished(next, self.deadline()), Answer::Done)
    }

    /// A seal after the end is a repetition, or too late.
    fn seal_after_end(&self, finish: &Finish, command: &SealCommand) -> Transition {
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

    /// The match after a player has done something: the idle limit starts again.
    fn active(&self, now: Stamp) -> Self {
        Self { idle_by: now.plus_ms(self.settings.idle_ms), ..self.clone() }
    }
}

fn finished(next: Match, not_after: Option<Stamp>) -> Change {
    Change { next, not_after, events: vec![Event::Finished], follow_ups: FollowUp::index_both() }
}

const fn unchanged(answer: Answer) -> Transition {
    Transition { change: None, answer: Ok(answer) }
}

const fn refused(refusal: Refusal) -> Transition {
    Transition { change: None, answer: Err(refusal) }
}

const fn changed(change: Change, answer: Answer) -> Transition {
    Transition { change: Some(change), answer: Ok(answer) }
}
