//! The eggs of a board and their ages.

use crate::Cell;

/// Eggs, oldest first, and the set of their cells.
///
/// Invariant: `bits` holds exactly the cells of `order[..len]`, each of which stands there once.
#[derive(Clone, Copy)]
pub(crate) struct Eggs {
    bits: u128,
    len: u8,
    order: [Cell; Cell::COUNT],
}

impl Eggs {
    const NO_CELL: Cell = match Cell::from_index(0) {
        Some(cell) => cell,
        None => unreachable!(),
    };

    pub(crate) const NONE: Self = Self { bits: 0, len: 0, order: [Self::NO_CELL; Cell::COUNT] };

    pub(crate) const fn bits(&self) -> u128 {
        self.bits
    }

    pub(crate) fn as_slice(&self) -> &[Cell] {
        self.order.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Lays an egg, the youngest; on a cell that has one already, nothing happens.
    pub(crate) fn lay(&mut self, cell: Cell) {
        if self.bits & cell.bit() != 0 {
            return;
        }
        if let Some(youngest) = self.order.get_mut(usize::from(self.len)) {
            *youngest = cell;
            self.len += 1;
            self.bits |= cell.bit();
        }
    }

    /// Takes the oldest egg off the board.
    pub(crate) fn take_oldest(&mut self) -> Option<Cell> {
        let oldest = *self.as_slice().first()?;
        self.order.copy_within(1..usize::from(self.len), 0);
        self.len -= 1;
        self.bits &= !oldest.bit();
        Some(oldest)
    }

    /// Takes the eggs on `cells` off the board; the others keep their order.
    pub(crate) fn remove(&mut self, cells: u128) {
        if self.bits & cells == 0 {
            return;
        }
        self.bits &= !cells;
        let mut kept = 0;
        for age in 0..usize::from(self.len) {
            let cell = self.order[age];
            if cells & cell.bit() == 0 {
                self.order[kept] = cell;
                kept += 1;
            }
        }
        self.len = kept as u8;
    }
}

impl PartialEq for Eggs {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Eggs {}
