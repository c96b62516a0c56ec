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

    /// In constant time: how playouts draw a cell.
    fn nth(&mut self, n: usize) -> Option<Cell> {
        if n >= self.len() {
            self.0 = 0;
            return None;
        }
        let index = nth_bit(self.0, n as u32);
        // In two steps, for the last bit of the type cannot be shifted out in one.
        self.0 = self.0 >> index >> 1 << index << 1;
        Cell::from_index(index as u8)
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

/// The index of the `n`th one of `bits`, from zero; there must be more than `n`.
fn nth_bit(bits: u128, n: u32) -> u32 {
    let low = bits as u64;
    let in_low = low.count_ones();
    if n < in_low { nth_bit_of_half(low, n) } else { 64 + nth_bit_of_half((bits >> 64) as u64, n - in_low) }
}

fn nth_bit_of_half(bits: u64, n: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Ones of each byte, then byte by byte the ones up to and including it.
    let twos = bits - ((bits >> 1) & (ONES * 0x55));
    let fours = (twos & (ONES * 0x33)) + ((twos >> 2) & (ONES * 0x33));
    let sums = ((fours + (fours >> 4)) & (ONES * 0x0f)).wrapping_mul(ONES);
    // The bytes whose sum is at most `n` lie wholly before the bit.
    let before = ((((u64::from(n) * ONES) | (ONES << 7)) - sums) & (ONES << 7)).count_ones() * 8;
    let skipped = ((sums << 8) >> before) as u32 & 0xff;
    let mut byte = (bits >> before) as u32 & 0xff;
    for _ in skipped..n {
        byte &= byte - 1;
    }
    before + byte.trailing_zeros()
}
