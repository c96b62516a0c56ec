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
    /// Where [`Starts`] keeps those of this axis: in which word, and so many bits up.
    word: usize,
    up: u32,
}

/// East, north, north-east, north-west.
pub(crate) const AXES: [Axis; 4] =
    [Axis::new(1, 0, (0, 0)), Axis::new(0, 1, (0, 83)), Axis::new(1, 1, (1, 0)), Axis::new(-1, 1, (1, 64))];

impl Axis {
    const fn new(east: i32, north: i32, (word, up): (usize, u32)) -> Self {
        let step = (north * 9 + east) as u32;
        Self { step, fives: starts(east, north, 4), fours: starts(east, north, 3), word, up }
    }

    /// Where the windows of five start that `blocked` leaves open, by how many cells of `own` they hold:
    /// none to four. A window of five is a row and no longer a chance.
    #[inline]
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
    #[inline]
    pub(crate) fn cells_of_five(self, starts: u128) -> u128 {
        let pairs = starts | starts << self.step;
        pairs | pairs << (2 * self.step) | starts << (4 * self.step)
    }

    /// The five cells of the window that starts on the cell of this index.
    pub(crate) fn five_from(self, start: u32) -> impl Iterator<Item = usize> {
        (0..5).map(move |cell| (start + cell * self.step) as usize)
    }

    /// Where the far end of a pincer would close: two of `prey` side by side with one of `own` behind them.
    #[inline]
    pub(crate) fn pincer_ends(self, own: u128, prey: u128) -> u128 {
        let pairs = prey >> self.step & prey >> (2 * self.step) & self.fours;
        let over = 3 * self.step;
        (pairs & own) << over | (pairs & own >> over)
    }

    #[inline]
    fn any_of_five(self, cells: u128) -> u128 {
        let pairs = cells | cells >> self.step;
        pairs | pairs >> (2 * self.step) | cells >> (4 * self.step)
    }
}

/// Where windows of five start, for all axes together: no more windows than fit side by side in two words, so
/// that half as many bits are counted as on four boards.
#[derive(Clone, Copy, Default)]
pub(crate) struct Starts([u128; 2]);

impl Starts {
    /// Adds those of an axis.
    #[inline]
    pub(crate) fn add(&mut self, axis: Axis, starts: u128) {
        self.0[axis.word] |= starts << axis.up;
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(self) -> u32 {
        self.0[0].count_ones() + self.0[1].count_ones()
    }
}

/// The empty cells on which a turtle of `own` captures `prey`.
pub(crate) fn captures(own: u128, prey: u128, empty: u128) -> u128 {
    let [east, north, north_east, north_west] = AXES.map(|axis| axis.pincer_ends(own, prey));
    (east | north | north_east | north_west) & empty
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
