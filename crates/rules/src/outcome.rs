//! What a position means for the match.

use core::cmp::Ordering;
use core::fmt;

use crate::bits::BOARD;
use crate::{PerSeat, Seat, row};

/// The state of play after a turn, from the position alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// Nobody has a row; play goes on.
    Ongoing,
    /// Both have the same number of winning turtles, more than none; play goes on and the next
    /// difference decides.
    SuddenDeath,
    /// Black has more winning turtles.
    BlackWins,
    /// White has more winning turtles.
    WhiteWins,
    /// The board is full and nobody is ahead.
    Draw,
}

impl Status {
    /// Whether no further turn can be played.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::BlackWins | Self::WhiteWins | Self::Draw)
    }

    /// The seat that has won, if one has.
    #[must_use]
    pub const fn winner(self) -> Option<Seat> {
        match self {
            Self::BlackWins => Some(Seat::Black),
            Self::WhiteWins => Some(Seat::White),
            Self::Ongoing | Self::SuddenDeath | Self::Draw => None,
        }
    }

    /// The word for it in canonical text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ongoing => "ongoing",
            Self::SuddenDeath => "sudden_death",
            Self::BlackWins => "black_wins",
            Self::WhiteWins => "white_wins",
            Self::Draw => "draw",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The status of a position and the counts behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// Who is ahead, and whether play goes on.
    pub status: Status,
    /// The turtles of each colour that belong to at least one row of five or more. Each is counted
    /// once, however many rows it is part of.
    pub winning_turtles: PerSeat<u8>,
}

impl Outcome {
    /// Judges a board.
    #[inline]
    pub(crate) fn of(turtles: PerSeat<u128>, eggs: u128) -> Self {
        if row::may_exist(turtles) { Self::with_rows(turtles, eggs) } else { Self::level(0, turtles, eggs) }
    }

    fn with_rows(turtles: PerSeat<u128>, eggs: u128) -> Self {
        let winning_turtles = turtles.map(row::winning_turtles);
        match winning_turtles.black.cmp(&winning_turtles.white) {
            Ordering::Greater => Self { status: Status::BlackWins, winning_turtles },
            Ordering::Less => Self { status: Status::WhiteWins, winning_turtles },
            Ordering::Equal => Self::level(winning_turtles.black, turtles, eggs),
        }
    }

    /// The outcome where both have the same number of winning turtles.
    fn level(count: u8, turtles: PerSeat<u128>, eggs: u128) -> Self {
        let status = if turtles.black | turtles.white | eggs == BOARD {
            Status::Draw
        } else if count > 0 {
            Status::SuddenDeath
        } else {
            Status::Ongoing
        };
        Self { status, winning_turtles: PerSeat { black: count, white: count } }
    }
}
