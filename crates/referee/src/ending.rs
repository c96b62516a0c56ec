//! How a match ended.

use rules::{PerSeat, Seat};
use sealing::{Digest, EndReason, Ending, MatchResult};

use crate::command::RequestId;
use crate::game::{Match, OpenTurn, Phase, Revealing, SealFacts, TurnRequests};
use crate::time::Stamp;

/// The end of a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finish {
    /// Who won, if anyone.
    pub result: MatchResult,
    /// Why.
    pub reason: EndReason,
    /// When, by the stamps: of a flag, the deadline that passed.
    pub at: Stamp,
    /// The seals of the turn that never resolved, without what they hid.
    pub unresolved: PerSeat<Option<SealFacts>>,
    /// What else each seat had asked for in that turn.
    pub requests: PerSeat<TurnRequests>,
    /// Who had joined by then.
    pub joined: PerSeat<bool>,
    /// Who resigned, and the name of his request.
    pub by: Option<(Seat, RequestId)>,
    /// h_end.
    pub end_hash: Digest,
}

/// A result, its reason and its time, before h_end is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    pub(crate) result: MatchResult,
    pub(crate) reason: EndReason,
    pub(crate) at: Stamp,
}

impl Verdict {
    pub(crate) const fn win(winner: Seat, reason: EndReason, at: Stamp) -> Self {
        Self { result: MatchResult::won_by(winner), reason, at }
    }

    /// What the clocks say at `now`: the earliest deadline that passed decides, deadlines are
    /// inclusive, and both seats flag only together.
    pub(crate) fn of_deadlines(game: &Match, now: Stamp) -> Option<Self> {
        let passed = match &game.phase {
            Phase::Finished(_) => return None,
            Phase::Waiting { start_by, .. } => no_show(*start_by, now),
            Phase::Open(open) => flag(open, now),
            Phase::Revealing(revealing) => unrevealed(game, revealing, now),
            // It is not the player's time that runs.
            Phase::BotDue { .. } => None,
        };
        let idle = Self { result: MatchResult::Void, reason: EndReason::Idle, at: game.idle_by };
        match passed {
            Some(passed) if passed.at <= game.idle_by => Some(passed),
            _ => (now > game.idle_by).then_some(idle),
        }
    }

    /// Ends `game` with this verdict. What an unresolved seal hid is gone after it.
    pub(crate) fn end(self, game: &Match, by: Option<(Seat, RequestId)>) -> Match {
        let in_play = game.turn_in_play();
        let unresolved = PerSeat::from_fn(|seat| {
            let seal = in_play.and_then(|open| open.seals[seat].as_ref());
            seal.map(|seal| seal.facts.clone())
        });
        let requests = in_play.map(|open| open.requests.clone()).unwrap_or_default();
        self.close(game, unresolved, requests, by)
    }

    /// Ends `game` after its last turn has resolved: nothing is left unresolved.
    pub(crate) fn end_resolved(self, game: &Match) -> Match {
        self.close(game, PerSeat::default(), PerSeat::default(), None)
    }

    fn close(
        self,
        game: &Match,
        unresolved: PerSeat<Option<SealFacts>>,
        requests: PerSeat<TurnRequests>,
        by: Option<(Seat, RequestId)>,
    ) -> Match {
        let ending = Ending {
            result: self.result,
            reason: self.reason,
            time_ms: self.at.as_ms(),
            unresolved: unresolved.as_ref().map(|facts| facts.as_ref().map(|facts| facts.commitment)),
        };
        let finish = Finish {
            result: self.result,
            reason: self.reason,
            at: self.at,
            unresolved,
            requests,
            joined: match &game.phase {
                Phase::Waiting { joined, .. } => *joined,
                _ => PerSeat { black: true, white: true },
            },
            by,
            end_hash: sealing::end_hash(&game.hash, &ending),
        };
        Match { phase: Phase::Finished(finish), ..game.clone() }
    }

    /// The end of a turn in which at least one seat has failed to reveal a legal cell.
    pub(crate) fn of_failed_reveal(failed: PerSeat<bool>, at: Stamp) -> Self {
        let reason = EndReason::FailedReveal;
        match (failed.black, failed.white) {
            (true, false) => Self::win(Seat::White, reason, at),
            (false, true) => Self::win(Seat::Black, reason, at),
            _ => Self { result: MatchResult::Draw, reason, at },
        }
    }
}

/// Who has failed to reveal in time: a seat that has not, and one that has revealed an illegal cell.
fn unrevealed(game: &Match, revealing: &Revealing, now: Stamp) -> Option<Verdict> {
    let at = Some(revealing.reveal_by).filter(|reveal_by| now > *reveal_by)?;
    let failed = PerSeat::from_fn(|seat| !game.has_legal_opening(&revealing.open, seat));
    Some(Verdict::of_failed_reveal(failed, at))
}

/// A match that not both have joined in time is aborted.
fn no_show(start_by: Option<Stamp>, now: Stamp) -> Option<Verdict> {
    let at = start_by.filter(|start_by| now > *start_by)?;
    Some(Verdict { result: MatchResult::Aborted, reason: EndReason::NoShow, at })
}

/// Who has flagged in an open turn at `now`. A seat that has sealed cannot.
fn flag(open: &OpenTurn, now: Stamp) -> Option<Verdict> {
    let passed = PerSeat::from_fn(|seat| {
        let deadline = open.deadlines[seat];
        (open.seals[seat].is_none() && now > deadline).then_some(deadline)
    });
    let loser = match (passed.black, passed.white) {
        (None, None) => return None,
        (Some(black), Some(white)) if black == white => {
            return Some(Verdict { result: MatchResult::Draw, reason: EndReason::BothFlagged, at: black });
        }
        (Some(black), Some(white)) if white < black => Seat::White,
        (Some(_), _) => Seat::Black,
        (None, Some(_)) => Seat::White,
    };
    Some(Verdict::win(loser.opponent(), EndReason::Flag, open.deadlines[loser]))
}
