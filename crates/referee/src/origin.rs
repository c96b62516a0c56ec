//! Where a match came from: what its end concerns beside the match itself.

use std::sync::Arc;

use rules::{PerSeat, Seat};
use sealing::{EndReason, MatchResult};

use crate::ending::Finish;
use crate::game::Match;

/// The name of a ticket, as its store writes it. The referee only hands it on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TicketRef(pub Arc<str>);

/// A rating in whole numbers, as it was when the match was created. The referee only keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PinnedRating {
    /// The rating, millionths of a point.
    pub points_micro: u64,
    /// Its deviation, millionths of a point.
    pub deviation_micro: u64,
    /// Its volatility, thousandths of a millionth.
    pub volatility_nano: u64,
}

/// Where a match came from. It never changes, and is no part of any hash.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// The ticket that brought each seat here, if one did.
    pub tickets: PerSeat<Option<TicketRef>>,
    /// What both were rated before a ranked match.
    pub ratings: Option<PerSeat<PinnedRating>>,
}

impl Match {
    /// Whether the match ended before it began, and `seat` has done all that was asked of it: it was there, or
    /// the other one gave up.
    pub(crate) fn was_let_down(&self, seat: Seat, finish: &Finish) -> bool {
        if self.started.is_some() || finish.result != MatchResult::Aborted {
            return false;
        }
        match finish.reason {
            EndReason::NoShow => finish.joined[seat],
            EndReason::Resignation => finish.by.as_ref().is_some_and(|(by, _)| *by != seat),
            _ => false,
        }
    }
}
