//! Rows of five and more.

use crate::Cell;

/// Turtles in a row.
const LENGTH: u8 = 5;

/// One of the four axes of the board.
struct Axis {
    /// Distance of neighbours in the bit board.
    shift: u32,
    /// The cells where a row can begin without running over the edge of the board.
    starts: u128,
}

/// East, north, north-east, north-west.
const AXES: [Axis; 4] = [axis(1, 0), axis(0, 1), axis(1, 1), axis(-1, 1)];

const fn axis(east: i8, north: i8) -> Axis {
    let mut starts = 0;
    let mut index = 0;
    while index < Cell::COUNT as u8 {
        let end_column = (index % 9) as i8 + east * (LENGTH as i8 - 1);
        let end_row = (index / 9) as i8 + north * (LENGTH as i8 - 1);
        if end_column >= 0 && end_column < 9 && end_row < 9 {
            starts |= 1u128 << index;
        }
        index += 1;
    }
    Axis { shift: (north * 9 + east) as u32, starts }
}

/// The turtles that belong to at least one row.
pub(crate) fn winning(turtles: u128) -> u128 {
    let mut winning = 0;
    for Axis { shift, starts } in AXES {
        let twos = turtles & (turtles >> shift);
        let fours = twos & (twos >> (2 * shift));
        let fives = fours & (turtles >> (4 * shift)) & starts;
        if fives != 0 {
            let pairs = fives | (fives << shift);
            winning |= pairs | (pairs << (2 * shift)) | (fives << (4 * shift));
        }
    }
    winning
}
