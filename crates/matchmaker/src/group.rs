//! Which of 32 neighbours are there.

use crate::queue::Spot;

/// A set of places in a group, from 0 to 31.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Group(u32);

impl Group {
    /// Places in a group.
    pub(crate) const SIZE: usize = u32::BITS as usize;

    /// All places.
    pub(crate) const FULL: Self = Self(u32::MAX);

    /// The group of a spot, and its place there.
    pub(crate) const fn of(spot: Spot) -> (usize, usize) {
        (spot as usize / Self::SIZE, spot as usize % Self::SIZE)
    }

    pub(crate) const fn insert(&mut self, place: usize) {
        self.0 |= 1 << place;
    }

    pub(crate) const fn remove(&mut self, place: usize) {
        self.0 &= !(1 << place);
    }

    pub(crate) const fn contains(self, place: usize) -> bool {
        self.0 & 1 << place != 0
    }

    /// Those who are in one of both.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those who are in both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those at or after `place`.
    pub(crate) const fn from(self, place: usize) -> Self {
        Self(self.0 & (u32::MAX << place))
    }

    /// Those before `place`.
    pub(crate) const fn before(self, place: usize) -> Self {
        Self(self.0 & !(u32::MAX << place))
    }

    /// Their spots, if this is the group at `at`.
    pub(crate) fn spots(self, at: usize) -> impl DoubleEndedIterator<Item = Spot> {
        self.map(move |place| (at * Self::SIZE + place) as Spot)
    }
}

impl Iterator for Group {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (place < Self::SIZE).then_some(place)
    }
}

impl DoubleEndedIterator for Group {
    fn next_back(&mut self) -> Option<usize> {
        let place = self.0.checked_ilog2()? as usize;
        self.remove(place);
        Some(place)
    }
}
