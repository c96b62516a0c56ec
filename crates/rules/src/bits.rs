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
        // Beyond the last, this is no cell.
        let index = nth_bit(self.0, n.min(Cell::COUNT) as u64);
        // In two steps, for a shift by the whole width is none.
        self.0 = (self.0 >> index >> 1) << index << 1;
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

/// The index of the `n`th one of `bits`, from zero, or 127 if there are no more than `n`; `bits` are
/// on the board and `n` is below 128.
fn nth_bit(bits: u128, n: u64) -> u32 {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    let (low, high) = (bits as u64, (bits >> 64) as u64);
    let (low_sums, high_sums) = (byte_sums(low), byte_sums(high));
    let in_low = low_sums >> 56;
    let (half, sums, n, base) =
        if n < in_low { (low, low_sums, n, 0) } else { (high, high_sums, n - in_low, 64) };
    if n >= sums >> 56 {
        return 127;
    }
    // A byte whose sum is at most `n` lies wholly before the bit: it keeps the top bit set here.
    let before = (((n * BYTES) | (BYTES << 7)) - sums) & (BYTES << 7);
    let before = ((before >> 7).wrapping_mul(BYTES) >> 56) as u32 * 8;
    let in_byte = n - (((sums << 8) >> before) & 0xff);
    let byte = (half >> before) & 0xff;
    base + before + u32::from(NTH_IN_BYTE[byte as usize & 0xff][in_byte as usize & 7])
}

/// In each byte, the ones of it and of all bytes below.
fn byte_sums(bits: u64) -> u64 {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    let twos = bits - ((bits >> 1) & (BYTES * 0x55));
    let fours = (twos & (BYTES * 0x33)) + ((twos >> 2) & (BYTES * 0x33));
    ((fours + (fours >> 4)) & (BYTES * 0x0f)).wrapping_mul(BYTES)
}

/// The index of the `n`th one of a byte.
static NTH_IN_BYTE: [[u8; 8]; 256] = nth_in_byte();

const fn nth_in_byte() -> [[u8; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut n) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][n] = bit;
                n += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}
