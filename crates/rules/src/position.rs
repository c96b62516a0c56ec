//! A board between two turns.

use crate::bits::{BOARD, Cells};
use crate::eggs::Eggs;
use crate::{Cell, Outcome, PerSeat, Seat, Status};

/// What stands on a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Piece {
    /// A turtle of this seat.
    Turtle(Seat),
    /// An egg, which belongs to nobody.
    Egg,
}

/// A legal board: the turtles, the eggs with their ages, and the outcome that follows from them.
///
/// A cell holds one piece at most. Positions come from [`Position::initial`],
/// [`Position::from_setup`], canonical text, or a turn.
///
/// ```
/// use rules::{Cell, Piece, Position, Seat};
/// let (e5, d4): (Cell, Cell) = ("E5".parse()?, "D4".parse()?);
/// let position = Position::initial().play(e5, d4)?;
/// assert_eq!(position.piece(e5), Some(Piece::Turtle(Seat::Black)));
/// assert_eq!(position.legal_cells().count(), 79);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub(crate) turtles: PerSeat<u128>,
    pub(crate) eggs: Eggs,
    pub(crate) outcome: Outcome,
}

impl Position {
    /// The empty board before the first turn.
    #[must_use]
    pub const fn initial() -> Self {
        Self {
            turtles: PerSeat { black: 0, white: 0 },
            eggs: Eggs::NONE,
            outcome: Outcome { status: Status::Ongoing, winning_turtles: PerSeat { black: 0, white: 0 } },
        }
    }

    /// The position of a board whose cells hold one piece at most.
    pub(crate) fn judged(turtles: PerSeat<u128>, eggs: Eggs) -> Self {
        Self { turtles, eggs, outcome: Outcome::of(turtles, eggs.bits()) }
    }

    /// The status and the winning turtles behind it.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Whether nothing stands on the cell.
    #[must_use]
    pub const fn is_empty(&self, cell: Cell) -> bool {
        self.empty_bits() & cell.bit() != 0
    }

    /// What stands on the cell.
    #[must_use]
    pub const fn piece(&self, cell: Cell) -> Option<Piece> {
        if self.turtles.black & cell.bit() != 0 {
            Some(Piece::Turtle(Seat::Black))
        } else if self.turtles.white & cell.bit() != 0 {
            Some(Piece::Turtle(Seat::White))
        } else if self.eggs.bits() & cell.bit() != 0 {
            Some(Piece::Egg)
        } else {
            None
        }
    }

    /// The cells of the eggs, oldest first.
    #[must_use]
    pub fn eggs(&self) -> &[Cell] {
        self.eggs.as_slice()
    }

    /// The cells of a seat's turtles in index order.
    #[must_use]
    pub fn turtles(&self, seat: Seat) -> Cells {
        Cells::new(self.turtles[seat])
    }

    /// The cells that either seat may choose, in index order; none once the game is over.
    #[must_use]
    pub const fn legal_cells(&self) -> Cells {
        Cells::new(self.legal_bits())
    }

    /// A seat's turtles as a bit board: bit *i* is the cell of index *i*, bits 81 and up are zero.
    #[must_use]
    pub fn turtle_bits(&self, seat: Seat) -> u128 {
        self.turtles[seat]
    }

    /// The eggs as a bit board like [`Position::turtle_bits`], without their ages.
    #[must_use]
    pub const fn egg_bits(&self) -> u128 {
        self.eggs.bits()
    }

    /// [`Position::legal_cells`] as a bit board like [`Position::turtle_bits`].
    #[must_use]
    pub const fn legal_bits(&self) -> u128 {
        if self.outcome.status.is_over() { 0 } else { self.empty_bits() }
    }

    const fn empty_bits(&self) -> u128 {
        BOARD & !(self.turtles.black | self.turtles.white | self.eggs.bits())
    }
}

impl Default for Position {
    fn default() -> Self {
        Self::initial()
    }
}
