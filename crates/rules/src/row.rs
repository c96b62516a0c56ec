//! Rows of five and more.

use core::array;

use crate::{Cell, PerSeat};

/// Bits from a cell to the next in a line: east, north, north-east, north-west.
const EAST: u32 = 1;
const NORTH: u32 = 9;
const NORTH_EAST: u32 = 10;
const NORTH_WEST: u32 = 8;

/// Whether either colour may have a row; never no where there is one.
///
/// Most boards have none, so that this is what a turn pays. Five turtles in a line lie within seven
/// rows of cells of the board, the lower or the upper ones: 63 bits, so that both parts of both
/// colours go through the same four words side by side.
pub(crate) fn may_exist(turtles: PerSeat<u128>) -> bool {
    let lower = |bits: u128| bits as u64;
    let upper = |bits: u128| (bits >> 18) as u64;
    let parts = [lower(turtles.black), lower(turtles.white), upper(turtles.black), upper(turtles.white)];
    let (east, north) = (fives::<EAST>(parts), fives::<NORTH>(parts));
    let (north_east, north_west) = (fives::<NORTH_EAST>(parts), fives::<NORTH_WEST>(parts));
    let found: [u64; 4] =
        array::from_fn(|part| east[part] | north[part] | north_east[part] | north_west[part]);
    found != [0; 4]
}

/// Where five begin in a line, over the edge of the board too.
fn fives<const SHIFT: u32>(parts: [u64; 4]) -> [u64; 4] {
    parts.map(|turtles| {
        let twos = turtles & (turtles >> SHIFT);
        twos & (twos >> (2 * SHIFT)) & (turtles >> (4 * SHIFT))
    })
}

/// How many of these turtles belong to at least one row.
pub(crate) fn winning_turtles(turtles: u128) -> u8 {
    let winning = in_rows::<EAST>(turtles, const { starts(1, 0) })
        | in_rows::<NORTH>(turtles, const { starts(0, 1) })
        | in_rows::<NORTH_EAST>(turtles, const { starts(1, 1) })
        | in_rows::<NORTH_WEST>(turtles, const { starts(-1, 1) });
    winning.count_ones() as u8
}

/// The turtles of the rows along one axis that begin on one of `starts`.
fn in_rows<const SHIFT: u32>(turtles: u128, starts: u128) -> u128 {
    let twos = turtles & (turtles >> SHIFT);
    let fives = twos & (twos >> (2 * SHIFT)) & (turtles >> (4 * SHIFT)) & starts;
    if fives == 0 {
        return 0;
    }
    let pairs = fives | (fives << SHIFT);
    pairs | (pairs << (2 * SHIFT)) | (fives << (4 * SHIFT))
}

/// The cells from which five in a line stay on the board, for steps of so many columns and rows.
const fn starts(east: i8, north: i8) -> u128 {
    let mut starts = 0;
    let mut index = 0;
    while index < Cell::COUNT as u8 {
        let last_column = (index % 9) as i8 + east * 4;
        let last_row = (index / 9) as i8 + north * 4;
        if last_column >= 0 && last_column < 9 && last_row < 9 {
            starts |= 1u128 << index;
        }
        index += 1;
    }
    starts
}
