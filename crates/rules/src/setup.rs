//! Boards that nobody has checked yet.

use alloc::vec::Vec;
use core::fmt;

use crate::eggs::Eggs;
use crate::{Cell, PerSeat, Piece, Position, Seat};

/// A board as somebody describes it; [`Position::from_setup`] says whether it can be one.
///
/// ```
/// use rules::{Cell, Position, Setup, SetupError};
/// let e5: Cell = "E5".parse()?;
/// let setup = Setup { black: vec![e5], white: vec![e5], eggs: vec![] };
/// assert_eq!(Position::from_setup(&setup), Err(SetupError::Overlap { cell: e5 }));
/// # Ok::<(), rules::NotationError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Setup {
    /// Cells of the black turtles, in any order.
    pub black: Vec<Cell>,
    /// Cells of the white turtles, in any order.
    pub white: Vec<Cell>,
    /// Cells of the eggs, oldest first.
    pub eggs: Vec<Cell>,
}

/// Why a [`Setup`] is no position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SetupError {
    /// The same piece is listed twice.
    Duplicate {
        /// The piece that is listed twice.
        piece: Piece,
        /// Where.
        cell: Cell,
    },
    /// Two different pieces share a cell.
    Overlap {
        /// The cell they share.
        cell: Cell,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { piece: Piece::Turtle(seat), cell } => {
                write!(f, "{cell} is listed twice for {seat}")
            }
            Self::Duplicate { piece: Piece::Egg, cell } => write!(f, "{cell} is listed twice as an egg"),
            Self::Overlap { cell } => write!(f, "{cell} holds two different pieces"),
        }
    }
}

impl core::error::Error for SetupError {}

impl Position {
    /// Checks a described board and judges it.
    ///
    /// Any board on which each cell holds one piece at most is accepted, whether or not play can
    /// lead to it, finished ones too.
    ///
    /// # Errors
    ///
    /// The first duplicate or overlap, looking at black, then white, then the eggs.
    pub fn from_setup(setup: &Setup) -> Result<Self, SetupError> {
        let mut turtles = PerSeat { black: 0_u128, white: 0 };
        for (seat, cells) in [(Seat::Black, &setup.black), (Seat::White, &setup.white)] {
            for &cell in cells {
                if turtles[seat] & cell.bit() != 0 {
                    return Err(SetupError::Duplicate { piece: Piece::Turtle(seat), cell });
                }
                if turtles[seat.opponent()] & cell.bit() != 0 {
                    return Err(SetupError::Overlap { cell });
                }
                turtles[seat] |= cell.bit();
            }
        }
        let mut eggs = Eggs::NONE;
        for &cell in &setup.eggs {
            if eggs.bits() & cell.bit() != 0 {
                return Err(SetupError::Duplicate { piece: Piece::Egg, cell });
            }
            if (turtles.black | turtles.white) & cell.bit() != 0 {
                return Err(SetupError::Overlap { cell });
            }
            eggs.lay(cell);
        }
        Ok(Self::judged(turtles, eggs))
    }
}

impl From<&Position> for Setup {
    fn from(position: &Position) -> Self {
        Self {
            black: position.turtles(Seat::Black).collect(),
            white: position.turtles(Seat::White).collect(),
            eggs: position.eggs().to_vec(),
        }
    }
}
