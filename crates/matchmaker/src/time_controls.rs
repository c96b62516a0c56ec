//! Which of a pool's time controls a player would play.

use std::fmt;

/// The place of a time control in its pool's list, from 0. What stands there is the pool's business: pairing
/// only needs to know whether two players mean the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimeControlPlace(u8);

impl TimeControlPlace {
    /// The most time controls in a pool. A pool splits its players by them, so that more would leave them
    /// waiting for each other; and pairing keeps an index for each.
    pub const COUNT_MAX: u8 = 16;

    /// The time control at `place`, or nothing from [`Self::COUNT_MAX`] on.
    #[must_use]
    pub const fn new(place: u8) -> Option<Self> {
        if place < Self::COUNT_MAX { Some(Self(place)) } else { None }
    }

    /// All there may be, in the pool's order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT_MAX).map(Self)
    }

    /// Its place in the pool's list, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TimeControlPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of time controls of one pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TimeControls(u16);

impl TimeControls {
    /// Whether `place` is among them.
    #[must_use]
    pub const fn contains(self, place: TimeControlPlace) -> bool {
        self.0 & (1 << place.0) != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in both sets.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The first in the pool's order, if there is any.
    #[must_use]
    pub fn first(self) -> Option<TimeControlPlace> {
        self.iter().next()
    }

    /// The last in the pool's order, if there is any.
    pub(crate) const fn last(self) -> Option<TimeControlPlace> {
        match self.0.checked_ilog2() {
            Some(place) => Some(TimeControlPlace(place as u8)),
            None => None,
        }
    }

    /// All of them, in the pool's order.
    pub fn iter(self) -> impl Iterator<Item = TimeControlPlace> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let place = TimeControlPlace::new(u8::try_from(rest.trailing_zeros()).ok()?)?;
            rest &= rest - 1;
            Some(place)
        })
    }
}

impl FromIterator<TimeControlPlace> for TimeControls {
    fn from_iter<I: IntoIterator<Item = TimeControlPlace>>(places: I) -> Self {
        Self(places.into_iter().fold(0, |set, place| set | 1 << place.0))
    }
}
