//! What a command does to a match: the table of transitions.

use std::borrow::Cow;
use std::sync::Arc;

use rules::{PerSeat, Seat};
use sealing::{EndReason, MatchResult};

use crate::command::{Answer, Command, Refusal, RequestId};
use crate::draw;
use crate::ending::{Finish, Verdict};
use crate::game::{Match, OpenTurn, Phase, Revealing};
use crate::record::TurnRecord;
use crate::settings::{SealMode, Settings};
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
    TurnResolved(Arc<TurnRecord>),
    /// The match ended.
    Finished,
}

/// What a change must cause elsewhere. Written with the match, done by any node, once in effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FollowUp {
    /// The list of matches of this seat's player must show where the match stands.
    Index(Seat),
    /// The record of this seat's player must count the match, and his rating where it is ranked.
    Record(Seat),
    /// This seat's player is free for another match.
    Release(Seat),
    /// The match never began, which was not this seat's fault: its player waits again, as long as he has.
    Requeue(Seat),
}

impl FollowUp {
    /// The lists of all who are not bots.
    pub(crate) fn index(settings: &Settings) -> Vec<Self> {
        people(settings).map(Self::Index).collect()
    }

    /// All that the end of `game` causes.
    fn of_end(game: &Match, finish: &Finish) -> Vec<Self> {
        let mut all = Self::index(&game.settings);
        let decided = !matches!(finish.result, MatchResult::Aborted | MatchResult::Void);
        if decided && game.settings.bot.is_none() {
            all.extend(Seat::BOTH.map(Self::Record));
        }
        if let Some(origin) = &game.origin {
            all.extend(people(&game.settings).map(|seat| match origin.tickets[seat] {
                Some(_) if game.was_let_down(seat, finish) => Self::Requeue(seat),
                _ => Self::Release(seat),
            }));
        }
        all
    }
}

/// The seats that no bot plays.
fn people(settings: &Settings) -> impl Iterator<Item = Seat> {
    Seat::BOTH.into_iter().filter(|seat| !settings.is_bot(*seat))
}

/// A new state of a match, to be committed as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The match after it.
    pub next: Arc<Match>,
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
    pub fn turn(&self) -> Option<&Arc<TurnRecord>> {
        self.events.iter().find_map(|event| match event {
            Event::TurnResolved(record) => Some(record),
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
    /// Judges a command at a moment. Deadlines that have passed are applied first, but where a part of the
    /// match is lost: who would have missed them is not known then.
    #[must_use]
    pub fn apply(&self, command: &Command, now: Now) -> Transition {
        let mut game = self.under_outage(now.outage_ms);
        if *command == Command::LostHistory {
            return game.judge(command, now.stamp);
        }
        let expired = Verdict::of_deadlines(&game, now.stamp).map(|verdict| {
            game = Cow::Owned(verdict.end(&game, None));
            finished(game.clone().into_owned(), None)
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

            (Phase::Waiting { .. }, Command::Reveal(_) | Command::Draw(_)) => {
                refused(Refusal::MatchNotStarted)
            }
            (Phase::Waiting { .. }, Command::Abort) => self.abort(MatchResult::Aborted, now),
            (
                Phase::Waiting { .. } | Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. },
                Command::LostHistory,
            ) => self.lose_history(now),
            (
                Phase::Waiting { .. } | Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. },
                Command::ClaimHistory { seat, claim },
            ) => self.claim_history(*seat, *claim, now),

            (
                Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. } | Phase::Finished(_),
                Command::Join { .. },
            ) => unchanged(Answer::Done),
            (Phase::BotDue { .. }, Command::Seal(seal)) => self.seal_before_turn(seal, now),
            (Phase::BotDue { .. }, Command::Draw(draw)) => refused(self.not_open(draw.turn)),
            (Phase::BotDue { .. }, Command::Reveal(reveal)) => refused(self.not_open(reveal.turn)),
            (Phase::Open(open) | Phase::Revealing(Revealing { open, .. }), Command::Seal(seal)) => {
                self.seal(open, seal, now)
            }
            (Phase::Open(open) | Phase::Revealing(Revealing { open, .. }), Command::Draw(draw)) => {
                self.draw(open, draw, now)
            }
            (Phase::Open(_), Command::Reveal(_)) if self.settings.seal_mode == SealMode::ServerSealed => {
                refused(Refusal::SealModeMismatch)
            }
            (Phase::Open(open), Command::Reveal(reveal)) => refused(no_reveal(open.turn, reveal.turn)),
            (Phase::Revealing(revealing), Command::Reveal(reveal)) => self.reveal(revealing, reveal, now),
            (
                Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. },
                Command::Resign { seat, request_id },
            ) => {
                let verdict = Verdict::win(seat.opponent(), EndReason::Resignation, now);
                self.end_by(verdict, *seat, request_id)
            }
            (Phase::Open(_) | Phase::Revealing(_) | Phase::BotDue { .. }, Command::Abort) => {
                self.abort(MatchResult::Void, now)
            }

            (Phase::Finished(finish), Command::Seal(seal)) => self.seal_after_end(finish, seal),
            (Phase::Finished(finish), Command::Reveal(reveal)) => self.reveal_after_end(finish, reveal),
            (Phase::Finished(finish), Command::Draw(draw)) => {
                draw::after_end(self.resolved, &finish.requests, draw)
            }
            (Phase::Finished(finish), Command::Resign { seat, request_id }) => {
                if finish.by.as_ref() == Some(&(*seat, request_id.clone())) {
                    unchanged(Answer::Done)
                } else {
                    refused(Refusal::MatchFinished)
                }
            }
            (Phase::Finished(finish), Command::Abort) => found(finish, EndReason::Operator),
            (Phase::Finished(finish), Command::LostHistory | Command::ClaimHistory { .. }) => {
                found(finish, EndReason::LostHistory)
            }
        }
    }

    fn join(&self, joined: PerSeat<bool>, start_by: Option<Stamp>, seat: Seat, now: Stamp) -> Transition {
        if joined[seat] {
            return unchanged(Answer::Done);
        }
        let mut events = Vec::new();
        let mut now_joined = joined;
        now_joined[seat] = true;
        let next = if now_joined[seat.opponent()] {
            let (phase, opened) = self.next_turn(1, self.clock_ms, now);
            events.extend(opened);
            Self { started: Some(now), ..self.followed_by(phase, now) }
        } else {
            self.followed_by(Phase::Waiting { joined: now_joined, start_by }, now)
        };
        changed(
            Change { next: Arc::new(next), not_after: self.deadline(), events, follow_ups: Vec::new() },
            Answer::Done,
        )
    }

    /// A turn that opens now. Against a bot it opens with the bot's seal.
    pub(crate) fn next_turn(&self, turn: u32, clock_ms: PerSeat<u64>, now: Stamp) -> (Phase, Option<Event>) {
        match self.settings.bot {
            Some(_) => (Phase::BotDue { since: now }, None),
            None => (Phase::Open(OpenTurn::new(turn, now, clock_ms)), Some(Event::TurnOpened { turn })),
        }
    }

    /// Why a turn that has passed, or that waits for the bot, cannot be played.
    pub(crate) const fn not_open(&self, turn: u32) -> Refusal {
        if turn <= self.resolved { Refusal::TurnClosed { turn } } else { Refusal::TurnNotOpenYet { turn } }
    }

    /// Ends the match because a seat asked for it.
    fn end_by(&self, verdict: Verdict, seat: Seat, request_id: &RequestId) -> Transition {
        let next = verdict.end(self, Some((seat, request_id.clone())));
        changed(finished(next, self.deadline()), Answer::Done)
    }

    /// Ends the match because an operator asked for it.
    fn abort(&self, result: MatchResult, now: Stamp) -> Transition {
        let next = Verdict { result, reason: EndReason::Operator, at: now }.end(self, None);
        changed(finished(next, self.deadline()), Answer::Done)
    }

    /// The match after a player has done something: the idle limit starts again, and the phase is another.
    /// Each seal comes by here, so the old phase is not copied.
    pub(crate) fn followed_by(&self, phase: Phase, now: Stamp) -> Self {
        Self {
            id: self.id,
            settings: self.settings.clone(),
            parties: Arc::clone(&self.parties),
            rematch_of: self.rematch_of,
            origin: self.origin.clone(),
            created: self.created,
            started: self.started,
            outage_ms: self.outage_ms,
            idle_by: now.plus_ms(self.settings.idle_ms),
            resolved: self.resolved,
            position: self.position,
            hash: self.hash,
            clock_ms: self.clock_ms,
            claims: self.claims,
            phase,
        }
    }
}

/// The end of a match, which `next` is.
pub(crate) fn finished(next: Match, not_after: Option<Stamp>) -> Change {
    let follow_ups = next.finish().map(|finish| FollowUp::of_end(&next, finish)).unwrap_or_default();
    Change { next: Arc::new(next), not_after, events: vec![Event::Finished], follow_ups }
}

pub(crate) const fn unchanged(answer: Answer) -> Transition {
    Transition { change: None, answer: Ok(answer) }
}

pub(crate) const fn refused(refusal: Refusal) -> Transition {
    Transition { change: None, answer: Err(refusal) }
}

pub(crate) const fn changed(change: Change, answer: Answer) -> Transition {
    Transition { change: Some(change), answer: Ok(answer) }
}

/// What whoever wants to end a match for a reason is answered once it is over.
fn found(finish: &Finish, reason: EndReason) -> Transition {
    if finish.reason == reason { unchanged(Answer::Done) } else { refused(Refusal::MatchFinished) }
}

/// Why a turn that waits for seals has no reveal.
const fn no_reveal(open: u32, turn: u32) -> Refusal {
    if turn < open {
        Refusal::TurnClosed { turn }
    } else if turn > open {
        Refusal::TurnNotOpenYet { turn }
    } else {
        Refusal::NotInRevealPhase { turn }
    }
}
