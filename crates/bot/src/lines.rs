//! Patterns along the lines of the board, found for all cells at once on bit boards.
//!
//! A pattern is known by the cell on which it starts; the other cells follow in steps along its axis.

use rules::Cell;

/// One of the four directions of a line.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    /// Bits from a cell to the next one.
    step: u32,
    /// Where five cells in a line start that are all on the board.
    fives: u128,
    /// The same for four cells.
    fours: u128,
}

/// East, north, north-east, north-west.
pub(crate) const AXES: [Axis; 4] = [Axis::new(1, 0), Axis::new(0, 1), Axis::new(1, 1), Axis::new(-1, 1)];

impl Axis {
    const fn new(east: i32, north: i32) -> Self {
        Self { step: (north * 9 + east) as u32, fives: starts(east, north, 4), fours: starts(east, north, 3) }
    }

    /// Where the windows of five start that `blocked` leaves open, by how many cells of `own` they hold:
    /// none to four. A window of five is a row and no longer a chance.
    pub(crate) fn windows(self, own: u128, blocked: u128) -> [u128; 5] {
        let open = self.fives & !self.any_of_five(blocked);
        let at = |cell: u32| own >> (cell * self.step);
        // Two adders: the bits of each window's count, side by side for all windows.
        let (ones, carry) = add(at(0), at(1), at(2));
        let (ones, second_carry) = add(ones, at(3), at(4));
        let (twos, fours) = (carry ^ second_carry, carry & second_carry);
        let small = open & !fours;
        [
            small & !ones & !twos,
            small & ones & !twos,
            small & !ones & twos,
            small & ones & twos,
            open & fours & !ones,
        ]
    }

    /// All cells of the windows of five that start on `starts`.
    pub(crate) fn cells_of_five(self, starts: u128) -> u128 {
        let pairs = starts | starts << self.step;
        pairs | pairs << (2 * self.step) | starts << (4 * self.step)
    }

    /// The five cells of the window that starts on the cell of this index.
    pub(crate) fn five_from(self, start: u32) -> impl Iterator<Item = usize> {
        (0..5).map(move |cell| (start + cell * self.step) as usize)
    }

    /// Where the far end of a pincer would close: two of `prey` side by side with one of `own` behind them.
    pub(crate) fn pincer_ends(self, own: u128, prey: u128) -> u128 {
        let pairs = prey >> self.step & prey >> (2 * self.step) & self.fours;
        let over = 3 * self.step;
        (pairs & own) << over | (pairs & own >> over)
    }

    fn any_of_five(self, cells: u128) -> u128 {
        let pairs = cells | cells >> self.step;
        pairs | pairs >> (2 * self.step) | cells >> (4 * self.step)
    }
}

/// The empty cells on which a turtle of `own` captures `prey`.
pub(crate) fn captures(own: u128, prey: u128, empty: u128) -> u128 {
    AXES.iter().fold(0, |ends, axis| ends | axis.pincer_ends(own, prey)) & empty
}

/// Sum and carry of three bits in each place.
const fn add(first: u128, second: u128, third: u128) -> (u128, u128) {
    let half = first ^ second;
    (half ^ third, first & second | half & third)
}

/// The cells from which so many steps stay on the board.
const fn starts(east: i32, north: i32, steps: i32) -> u128 {
    let mut starts = 0;
    let mut index = 0;
    while index < Cell::COUNT as i32 {
        let column = index % 9 + east * steps;
        let row = index / 9 + north * steps;
        if column >= 0 && column < 9 && row < 9 {
            starts |= 1 << index;
        }
        index += 1;
    }
    starts
}
