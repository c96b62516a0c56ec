//! What pairing answers, with its reasons.

use std::fmt;

use crate::{Ticket, TimeControlPlace};

/// Who plays whom, and who still waits. Every ticket is in one place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairing<'a> {
    /// In the order of their older tickets' age, oldest first.
    pub pairs: Vec<Pair<'a>>,
    /// Oldest first.
    pub waiting: Vec<Waiting<'a>>,
}

/// Two tickets that are to become a match, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair<'a> {
    /// The one that has waited longer: it chose the other, the nearest by rating of all that it could have.
    pub older: &'a Ticket,
    /// The other one.
    pub younger: &'a Ticket,
    /// The first in the pool's order that both would play.
    pub time_control: TimeControlPlace,
    /// The difference of their ratings, points.
    pub gap_points: u32,
    /// The window of the older one, points.
    pub older_window_points: u32,
    /// The window of the younger one, points.
    pub younger_window_points: u32,
    /// By which rule.
    pub terms: Terms,
}

/// The rule by which two may be paired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terms {
    /// Each is inside the other's window, and they have not met lately.
    BothWindows,
    /// Each is inside the other's window. They met lately, and have waited long enough to meet again.
    Rematch,
    /// The older one is past the bound, and this was the nearest compatible one.
    PastBound,
}

/// A ticket that still waits, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting<'a> {
    /// The ticket.
    pub ticket: &'a Ticket,
    /// Its window, points.
    pub window_points: u32,
    /// What keeps it.
    pub why: Why<'a>,
}

/// What keeps a ticket waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why<'a> {
    /// Nobody else who is left would play any of its time controls.
    NobodyElse,
    /// All who are left and would play its time controls exclude it, or it excludes them.
    AllExcluded,
    /// The nearest one who is left is outside the window of at least one of both.
    Apart {
        /// The nearest one.
        nearest: &'a Ticket,
        /// The difference of their ratings, points.
        gap_points: u32,
        /// If both still wait then, they can be paired, ms.
        opens_ms: u64,
    },
    /// The nearest one who is left is inside both windows, but they met lately.
    MetLately {
        /// The nearest one.
        nearest: &'a Ticket,
        /// If both still wait then, they can be paired, ms.
        opens_ms: u64,
    },
    /// The same player has an older ticket. Only that one counts.
    SecondTicket {
        /// The one that counts.
        first: &'a Ticket,
    },
}

impl fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time_control, gap_points, older_window_points, younger_window_points, .. } = self;
        write!(f, "paired at time control {time_control}: {gap_points} points apart, ")?;
        match self.terms {
            Terms::BothWindows | Terms::Rematch => {
                write!(f, "inside both windows of {older_window_points} and {younger_window_points} points")?;
            }
            Terms::PastBound => f.write_str("the nearest for one who has waited past the bound")?,
        }
        if self.terms == Terms::Rematch {
            f.write_str("; they met lately, and have waited long enough to meet again")?;
        }
        Ok(())
    }
}

impl fmt::Display for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Why::NobodyElse => f.write_str("waits: nobody else would play its time controls"),
            Why::AllExcluded => f.write_str("waits: all who would play its time controls are excluded"),
            Why::Apart { gap_points, opens_ms, .. } => write!(
                f,
                "waits: the nearest one is {gap_points} points away, \
                 to be paired at {opens_ms} ms at the latest"
            ),
            Why::MetLately { opens_ms, .. } => write!(
                f,
                "waits: the nearest one was met lately, to be paired at {opens_ms} ms at the latest"
            ),
            Why::SecondTicket { .. } => f.write_str("waits: its player has an older ticket"),
        }
    }
}
