//! How strong a player is, how sure that is, and what a match changes about it.

use skillratings::Outcomes;
use skillratings::glicko2::{Glicko2Config, Glicko2Rating, glicko2_rating_period};

use crate::Ticket;

/// Millionths in one.
const MICRO: f64 = 1e6;

/// Thousand-millionths in one.
const NANO: f64 = 1e9;

/// A Glicko-2 rating (Glickman, [Example of the Glicko-2 system](http://www.glicko.net/glicko/glicko2.pdf)) in
/// whole numbers, so that what is stored is what was computed, and two ratings are equal or not.
///
/// Every number has a range, whatever a store or a back end says: of ratings without bounds the search for a new
/// volatility may never end.
///
/// ```
/// use matchmaker::{MatchScore, Rating};
///
/// let (ann, bob) = (Rating::default(), Rating::default());
/// // Both from what they had before the match.
/// let (ann, bob) = (ann.after(bob, MatchScore::Win), bob.after(ann, MatchScore::Loss));
/// assert_eq!(ann.rounded_points(), 1662);
/// assert_eq!(bob.rounded_points(), 1338);
/// assert_eq!(ann.rounded_deviation_points(), 290);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rating {
    points_micro: u64,
    deviation_micro: u64,
    volatility_nano: u64,
}

/// What a player scored in a match.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatchScore {
    /// One.
    Win,
    /// A half.
    Draw,
    /// Nothing.
    Loss,
}

impl Default for Rating {
    /// A new player's, as in Glickman's paper: 1500 points, a deviation of 350, a volatility of 0.06.
    fn default() -> Self {
        Self::new(1_500_000_000, Self::DEVIATION_MAX_MICRO, 60_000_000)
    }
}

impl Rating {
    /// The most points, in millionths: 3,500 above a new player's, where the weaker side of a match scores less
    /// than one in a hundred million. The least is 0.
    pub const POINTS_MAX_MICRO: u64 = 5_000_000_000;
    /// The least deviation, millionths of a point: below, a player who learns is believed too slowly. Glickman
    /// advises this one for Glicko.
    pub const DEVIATION_MIN_MICRO: u64 = 30_000_000;
    /// The most deviation, millionths of a point: nobody is known less than a new player.
    pub const DEVIATION_MAX_MICRO: u64 = 350_000_000;
    /// The least volatility, thousand-millionths: at this one a match adds next to no doubt.
    pub const VOLATILITY_MIN_NANO: u64 = 10_000_000;
    /// The most volatility, thousand-millionths. Results that fit no rating raise it; at this one a match adds
    /// 17 points to the deviation of a player who was certain, which is enough.
    pub const VOLATILITY_MAX_NANO: u64 = 100_000_000;

    /// The rating of these numbers: millionths of a point, millionths of a point, thousand-millionths. A number
    /// out of its range becomes the nearest in it.
    #[must_use]
    pub fn new(points_micro: u64, deviation_micro: u64, volatility_nano: u64) -> Self {
        Self {
            points_micro: points_micro.min(Self::POINTS_MAX_MICRO),
            deviation_micro: deviation_micro.clamp(Self::DEVIATION_MIN_MICRO, Self::DEVIATION_MAX_MICRO),
            volatility_nano: volatility_nano.clamp(Self::VOLATILITY_MIN_NANO, Self::VOLATILITY_MAX_NANO),
        }
    }

    /// The rating after a match against `opponent`; both as they were when the match began.
    ///
    /// One match is one rating period. So a player sees what a match did as soon as it ends, and nothing has to
    /// be collected and closed at a time that somebody sets. It also means that a deviation grows by matches and
    /// not by time: each adds a little doubt (the volatility) and takes some away (the result), until both are
    /// equal at about 60 points against settled opponents of one's own strength. Who stays away for a year comes
    /// back with the deviation he left with.
    ///
    /// The same arguments give the same rating. On a machine whose logarithm rounds otherwise the last millionth
    /// may differ, so a rating is computed once, stored, and read from then on.
    #[must_use]
    pub fn after(self, opponent: Self, score: MatchScore) -> Self {
        let result = (opponent.to_glicko2(), score.to_outcome());
        Self::of_glicko2(glicko2_rating_period(&self.to_glicko2(), &[result], &Glicko2Config::new()))
    }

    /// The rating itself, points.
    #[must_use]
    pub fn points(self) -> f64 {
        self.points_micro as f64 / MICRO
    }

    /// How far off it may be (one standard deviation), points.
    #[must_use]
    pub fn deviation_points(self) -> f64 {
        self.deviation_micro as f64 / MICRO
    }

    /// How much the player's strength changes, on Glicko-2's own scale.
    #[must_use]
    pub fn volatility(self) -> f64 {
        self.volatility_nano as f64 / NANO
    }

    /// The rating itself, millionths of a point.
    #[must_use]
    pub const fn points_micro(self) -> u64 {
        self.points_micro
    }

    /// How far off it may be, millionths of a point.
    #[must_use]
    pub const fn deviation_micro(self) -> u64 {
        self.deviation_micro
    }

    /// How much the player's strength changes, thousand-millionths.
    #[must_use]
    pub const fn volatility_nano(self) -> u64 {
        self.volatility_nano
    }

    /// The rating as a [`TicketContent`](crate::TicketContent) has it, points.
    #[must_use]
    pub fn rounded_points(self) -> i32 {
        i32::try_from(rounded(self.points_micro)).unwrap_or(Ticket::RATING_MAX_POINTS)
    }

    /// The deviation as a [`TicketContent`](crate::TicketContent) has it, points.
    #[must_use]
    pub fn rounded_deviation_points(self) -> u32 {
        u32::try_from(rounded(self.deviation_micro)).unwrap_or(Ticket::DEVIATION_MAX_POINTS)
    }

    fn to_glicko2(self) -> Glicko2Rating {
        Glicko2Rating {
            rating: self.points(),
            deviation: self.deviation_points(),
            volatility: self.volatility(),
        }
    }

    fn of_glicko2(rating: Glicko2Rating) -> Self {
        // From a float to a whole number `as` takes the nearest there is: nothing below zero is left.
        let whole = |value: f64, parts: f64| (value * parts).round() as u64;
        Self::new(whole(rating.rating, MICRO), whole(rating.deviation, MICRO), whole(rating.volatility, NANO))
    }
}

impl MatchScore {
    const fn to_outcome(self) -> Outcomes {
        match self {
            Self::Win => Outcomes::WIN,
            Self::Draw => Outcomes::DRAW,
            Self::Loss => Outcomes::LOSS,
        }
    }
}

/// Whole points, half a point rounded up.
const fn rounded(micro: u64) -> u64 {
    (micro + 500_000) / 1_000_000
}
