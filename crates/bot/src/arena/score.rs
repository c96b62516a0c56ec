//! Scores, and how far they can be trusted.

use rules::{Seat, Status};

/// The standard normal distribution has 95 % within so many deviations.
const DEVIATIONS: f64 = 1.96;

/// How a player fared over some games.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// Games won.
    pub won: u32,
    /// Games that ended in a draw, by the board or by the turn limit.
    pub drawn: u32,
    /// Games lost.
    pub lost: u32,
}

/// Where the true score lies with 95 % confidence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The lower bound, from 0.
    pub low: f64,
    /// The upper bound, up to 1.
    pub high: f64,
}

impl Score {
    /// Adds a game that this player played from `seat`; one that is not over counts as a draw.
    pub(crate) fn count(&mut self, status: Status, seat: Seat) {
        match status.winner() {
            Some(winner) if winner == seat => self.won += 1,
            Some(_) => self.lost += 1,
            None => self.drawn += 1,
        }
    }

    /// Games played.
    #[must_use]
    pub const fn games(&self) -> u32 {
        self.won + self.drawn + self.lost
    }

    /// Points a game: 1 for a win, a half for a draw. A half if no game was played.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.games() == 0 {
            return 0.5;
        }
        (f64::from(self.won) + f64::from(self.drawn) / 2.0) / f64::from(self.games())
    }

    /// The interval of Wilson (1927) for a share of games won. A draw counts as half a win, which makes the
    /// interval wider than it need be.
    ///
    /// ```
    /// use bot::arena::Score;
    /// let interval = Score { won: 5, drawn: 0, lost: 5 }.interval();
    /// assert!((interval.low - 0.2366).abs() < 1e-4 && (interval.high - 0.7634).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn interval(&self) -> Interval {
        if self.games() == 0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let (mean, games) = (self.mean(), f64::from(self.games()));
        let square = DEVIATIONS * DEVIATIONS;
        let shrink = 1.0 + square / games;
        let centre = (mean + square / (2.0 * games)) / shrink;
        let margin =
            DEVIATIONS * (mean * (1.0 - mean) / games + square / (4.0 * games * games)).sqrt() / shrink;
        Interval { low: (centre - margin).max(0.0), high: (centre + margin).min(1.0) }
    }
}
