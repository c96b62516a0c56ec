//! A store that has lost a part of a match: found, never played on.
//!
//! A store that promises nothing across a failover can lose turns and seals that players were told of. Going
//! on without them would decide again what was decided, so the match is void. What the service itself knows
//! is enough for that; what one player says is not, or whoever is about to lose would say it. Two who say
//! the same, down to the hash of a turn that neither could make up alone, are believed.

use std::sync::Arc;

use rules::Seat;
use sealing::{Digest, EndReason, MatchResult};

use crate::apply::{Change, Transition, changed, finished, unchanged};
use crate::command::Answer;
use crate::ending::Verdict;
use crate::game::Match;
use crate::time::Stamp;

/// What a seat says of the match that the store does not know: that this turn had this hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryClaim {
    /// The turn; 0: before the first.
    pub turn: u32,
    /// h of that turn.
    pub hash: Digest,
}

impl Match {
    /// The match ends without a result: the service knows that a part of it is gone. No deadline decides
    /// before that.
    pub(crate) fn lose_history(&self, now: Stamp) -> Transition {
        let verdict = Verdict { result: MatchResult::Void, reason: EndReason::LostHistory, at: now };
        changed(finished(verdict.end(self, None), None), Answer::Done)
    }

    /// A seat's claim is kept, in the place of its last one, until the opponent claims the same.
    pub(crate) fn claim_history(&self, seat: Seat, claim: HistoryClaim, now: Stamp) -> Transition {
        let is_this_one = claim == HistoryClaim { turn: self.resolved, hash: self.hash };
        if is_this_one || self.claims[seat] == Some(claim) {
            return unchanged(Answer::Done);
        }
        if self.claims[seat.opponent()] == Some(claim) {
            return self.lose_history(now);
        }
        // Nobody has played: the idle limit runs on.
        let mut next = self.clone();
        next.claims[seat] = Some(claim);
        let (next, not_after) = (Arc::new(next), self.deadline());
        changed(Change { next, not_after, events: Vec::new(), follow_ups: Vec::new() }, Answer::Done)
    }
}
