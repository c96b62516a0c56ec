//! The two seats of a match and values that exist once for each.

use core::fmt;
use core::ops::{Index, IndexMut};

/// A seat of a match, named by the colour of its turtles.
///
/// On the wire and in every hash black is 1 and white is 2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Seat {
    /// Owns the black turtles.
    Black,
    /// Owns the white turtles.
    White,
}

impl Seat {
    /// Both seats, black first: the order in which everything is listed and hashed.
    pub const BOTH: [Self; 2] = [Self::Black, Self::White];

    /// The seat across the board.
    #[must_use]
    pub const fn opponent(self) -> Self {
        match self {
            Self::Black => Self::White,
            Self::White => Self::Black,
        }
    }

    /// The seat's number on the wire and in hashes: black 1, white 2.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Black => 1,
            Self::White => 2,
        }
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Black => "black",
            Self::White => "white",
        })
    }
}

/// One value for each seat.
///
/// ```
/// use rules::{PerSeat, Seat};
/// let sealed = PerSeat { black: true, white: false };
/// assert!(sealed[Seat::Black]);
/// assert_eq!(sealed.map(u8::from), PerSeat { black: 1, white: 0 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PerSeat<T> {
    /// Black's value.
    pub black: T,
    /// White's value.
    pub white: T,
}

impl<T> PerSeat<T> {
    /// Builds both values from their seats, black first.
    pub fn from_fn(mut value: impl FnMut(Seat) -> T) -> Self {
        Self { black: value(Seat::Black), white: value(Seat::White) }
    }

    /// Applies `change` to both values, black first.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerSeat<U> {
        PerSeat { black: change(self.black), white: change(self.white) }
    }

    /// Both values by reference.
    pub const fn as_ref(&self) -> PerSeat<&T> {
        PerSeat { black: &self.black, white: &self.white }
    }

    /// Both values with their seats, black first.
    pub fn iter(&self) -> impl Iterator<Item = (Seat, &T)> {
        [(Seat::Black, &self.black), (Seat::White, &self.white)].into_iter()
    }
}

impl<T> PerSeat<Option<T>> {
    /// Both values where both exist.
    pub fn both(self) -> Option<PerSeat<T>> {
        Some(PerSeat { black: self.black?, white: self.white? })
    }
}

impl<T> Index<Seat> for PerSeat<T> {
    type Output = T;

    fn index(&self, seat: Seat) -> &T {
        match seat {
            Seat::Black => &self.black,
            Seat::White => &self.white,
        }
    }
}

impl<T> IndexMut<Seat> for PerSeat<T> {
    fn index_mut(&mut self, seat: Seat) -> &mut T {
        match seat {
            Seat::Black => &mut self.black,
            Seat::White => &mut self.white,
        }
    }
}
