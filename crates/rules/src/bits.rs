//! Sets of cells as bit boards.

use core::iter::FusedIterator;

use crate::Cell;

/// All 81 cells.
pub(crate) const BOARD: u128 = (1 << Cell::COUNT) - 1;

/// The cells of a bit board in index order.
#[derive(Clone, Debug)]
pub struct Cells(u128);

impl Cells {
    /// The cells of `bits`; bits off the board are dropped.
    pub(crate) const fn new(bits: u128) -> Self {
        Self(bits & BOARD)
    }
}

impl Iterator for Cells {
    type Item = Cell;

    fn next(&mut self) -> Option<Cell> {
        // An empty set has 128 trailing zeros, which is no cell.
        let cell = Cell::from_index(self.0.trailing_zeros() as u8)?;
        self.0 &= self.0 - 1;
        Some(cell)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Cells {
    fn len(&self) -> usize {
        self.0.count_ones() as usize
    }
}

impl FusedIterator for Cells {}
