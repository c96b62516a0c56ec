//! A cell of the board.

use core::fmt::{self, Write as _};

/// One of the 81 cells, `A1` to `I9`.
///
/// The index is row-major from `A1`: `A1` = 0, `B1` = 1, …, `I9` = 80. On the wire and in hashes a
/// cell is its *number*, index + 1, because proto3 omits zero.
///
/// ```
/// use rules::Cell;
/// let cell = Cell::from_number(41).unwrap();
/// assert_eq!((cell.index(), cell.to_string()), (40, "E5".to_string()));
/// assert_eq!(Cell::from_number(0), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u8);

impl Cell {
    /// Cells on a board.
    pub const COUNT: usize = 81;

    /// The cell with this index, 0 to 80.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        if (index as usize) < Self::COUNT { Some(Self(index)) } else { None }
    }

    /// The cell with this number, 1 to 81.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number.checked_sub(1) {
            Some(index) => Self::from_index(index),
            None => None,
        }
    }

    /// The cell's index, 0 to 80.
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// The cell's number on the wire and in hashes, 1 to 81.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0 + 1
    }

    /// The column, 0 (`A`) to 8 (`I`).
    #[must_use]
    pub const fn column(self) -> u8 {
        self.0 % 9
    }

    /// The row, 0 (`1`) to 8 (`9`).
    #[must_use]
    pub const fn row(self) -> u8 {
        self.0 / 9
    }

    /// The cell's place on a bit board: bit `index`, the others zero.
    pub(crate) const fn bit(self) -> u128 {
        1 << self.0
    }

    /// The column's letter and the row's digit.
    pub(crate) const fn name(self) -> [char; 2] {
        [(b'A' + self.column()) as char, (b'1' + self.row()) as char]
    }

    /// Every cell in index order.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..Self::COUNT as u8).map(Self)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().into_iter().try_for_each(|letter| f.write_char(letter))
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
