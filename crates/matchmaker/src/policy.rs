//! How much a player who waits puts up with, and after how long.

use thiserror::Error;

use crate::Ticket;

/// The numbers of a policy, not checked yet: [`Policy::new`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyNumbers {
    /// The window of a settled rating at the start, points to either side.
    pub window_start_points: u32,
    /// What a window grows by, points a second.
    pub window_growth_points_per_s: u32,
    /// The widest window, points to either side.
    pub window_max_points: u32,
    /// The part of a ticket's deviation that its window is wider by, percent.
    pub deviation_percent: u32,
    /// After this long a ticket accepts its player's recent opponents, ms.
    pub rematch_after_ms: u64,
    /// After this long a ticket takes the nearest compatible one, and no window counts, ms.
    pub bound_ms: u64,
}

impl Default for PolicyNumbers {
    /// Numbers for a queue of some hundred players a minute, from what a gap means: the stronger side of a gap
    /// of 100 points is expected to score 0.64, of 200 points 0.76, of 400 points 0.91 (the logistic curve of
    /// Elo and Glicko, `1 / (1 + 10^(-gap / 400))`).
    ///
    /// - Windows start at 100 points: both sides have a game.
    /// - They grow by 10 points a second: a player sees the search widen, and a second of patience is never
    ///   bought with a much worse match.
    /// - They end at 400 points, after half a minute: beyond, the weaker side wins less than one in ten.
    /// - Half a deviation comes on top. Of a new player (350 points) the rating says little, so that his window
    ///   starts at 275; that of a settled one (50 points) starts at 125.
    /// - Recent opponents are accepted after 15 s: before, somebody else may come; after, the same opponent is
    ///   better than a much stronger one.
    /// - The bound is a minute: it leaves the widest window half a minute to find somebody, and who has waited
    ///   longer gives up.
    fn default() -> Self {
        Self {
            window_start_points: 100,
            window_growth_points_per_s: 10,
            window_max_points: 400,
            deviation_percent: 50,
            rematch_after_ms: 15_000,
            bound_ms: 60_000,
        }
    }
}

/// Numbers that were checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy(PolicyNumbers);

/// Numbers that are no policy.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PolicyError {
    /// A number is too large.
    #[error("{field} must be at most {max} {unit}")]
    TooLarge {
        /// The field's name.
        field: &'static str,
        /// The most allowed.
        max: u64,
        /// Its unit.
        unit: &'static str,
    },
    /// Windows would have to shrink.
    #[error("window_start must be at most window_max")]
    StartsAboveMax,
    /// The bound relaxes everything, so that a later time would say what never happens.
    #[error("rematch_after must be at most bound")]
    RematchAfterBound,
}

impl Policy {
    /// The most of every number of points: the distance of the outermost ratings, which is no window at all.
    pub const POINTS_MAX: u32 = 20_000;
    /// The most of a deviation that widens a window, percent: two standard errors cover 95 % of where the
    /// rating may be.
    pub const DEVIATION_MAX_PERCENT: u32 = 200;
    /// The most that a bound may be, ms: a match that takes more than a day to find is an invite.
    pub const BOUND_MAX_MS: u64 = 24 * 60 * 60 * 1_000;

    /// Checks `numbers`.
    ///
    /// # Errors
    /// The first number at fault.
    pub fn new(numbers: PolicyNumbers) -> Result<Self, PolicyError> {
        let points = u64::from(Self::POINTS_MAX);
        at_most("window_max", numbers.window_max_points.into(), points, "points")?;
        at_most("window_growth", numbers.window_growth_points_per_s.into(), points, "points/s")?;
        let percent = u64::from(Self::DEVIATION_MAX_PERCENT);
        at_most("deviation", numbers.deviation_percent.into(), percent, "percent")?;
        at_most("bound", numbers.bound_ms, Self::BOUND_MAX_MS, "ms")?;
        if numbers.window_start_points > numbers.window_max_points {
            return Err(PolicyError::StartsAboveMax);
        }
        if numbers.rematch_after_ms > numbers.bound_ms {
            return Err(PolicyError::RematchAfterBound);
        }
        Ok(Self(numbers))
    }

    /// Its numbers.
    #[must_use]
    pub const fn numbers(&self) -> PolicyNumbers {
        self.0
    }

    /// How far from its rating `ticket` looks at `now_ms`, points to either side.
    #[must_use]
    pub fn window_points(&self, ticket: &Ticket, now_ms: u64) -> u32 {
        let growth = u64::from(self.0.window_growth_points_per_s);
        let grown = ticket.waited_ms(now_ms).saturating_mul(growth) / 1_000;
        let grown = u32::try_from(grown).unwrap_or(u32::MAX);
        self.start_points(ticket).saturating_add(grown).min(self.0.window_max_points)
    }

    /// Whether `ticket` has waited so long at `now_ms` that it takes the nearest compatible one.
    #[must_use]
    pub const fn is_past_bound(&self, ticket: &Ticket, now_ms: u64) -> bool {
        ticket.waited_ms(now_ms) >= self.0.bound_ms
    }

    /// Whether `ticket` accepts a player whom its own one met lately.
    #[must_use]
    pub const fn accepts_rematch(&self, ticket: &Ticket, now_ms: u64) -> bool {
        ticket.waited_ms(now_ms) >= self.0.rematch_after_ms
    }

    /// When `older` and `younger`, who may meet, can be paired at the latest: both accept the other by then,
    /// or one is past the bound; ms.
    pub(crate) fn opens_ms(&self, a: &Ticket, b: &Ticket) -> u64 {
        let bound_ms = a.created_ms().min(b.created_ms()).saturating_add(self.0.bound_ms);
        match (self.accepts_ms(a, b), self.accepts_ms(b, a)) {
            (Some(a), Some(b)) => bound_ms.min(a.max(b)),
            _ => bound_ms,
        }
    }

    /// When `ticket` accepts `other` by itself, ms; never if that is outside its widest window.
    fn accepts_ms(&self, ticket: &Ticket, other: &Ticket) -> Option<u64> {
        let gap = ticket.rating_points().abs_diff(other.rating_points());
        if gap > self.0.window_max_points {
            return None;
        }
        let missing_points = u64::from(gap.saturating_sub(self.start_points(ticket)));
        let growth = u64::from(self.0.window_growth_points_per_s);
        let wide_ms = match missing_points {
            0 => 0,
            _ if growth == 0 => return None,
            points => (points * 1_000).div_ceil(growth),
        };
        let met_ms = if ticket.relation_to(other).was_met { self.0.rematch_after_ms } else { 0 };
        Some(ticket.created_ms().saturating_add(wide_ms.max(met_ms)))
    }

    /// The window before it grows.
    fn start_points(&self, ticket: &Ticket) -> u32 {
        self.0.window_start_points + ticket.deviation_points() * self.0.deviation_percent / 100
    }
}

const fn at_most(field: &'static str, value: u64, max: u64, unit: &'static str) -> Result<(), PolicyError> {
    if value <= max { Ok(()) } else { Err(PolicyError::TooLarge { field, max, unit }) }
}
