//! Pincers: what an arriving turtle captures.

use crate::Cell;

/// Steps in columns and rows, in the order in which captures are reported:
/// N, NE, E, SE, S, SW, W, NW. North is the next row, east the next column.
const DIRECTIONS: [(i8, i8); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

/// One direction from a cell: the two cells that a pincer takes and the one where its anchor
/// stands. Both are empty where the board ends earlier, so that no anchor is ever found there.
#[derive(Clone, Copy)]
struct Ray {
    pair: u128,
    anchor: u128,
}

/// The rays of every cell, in the order of [`DIRECTIONS`].
static RAYS: [[Ray; 8]; Cell::COUNT] = rays();

/// Where the anchors of a cell's pincers stand, all directions together.
static ANCHORS: [u128; Cell::COUNT] = anchors();

const fn rays() -> [[Ray; 8]; Cell::COUNT] {
    let mut rays = [[Ray { pair: 0, anchor: 0 }; 8]; Cell::COUNT];
    let mut index = 0;
    while index < Cell::COUNT {
        let mut direction = 0;
        while direction < 8 {
            if let (Some(near), Some(far), Some(anchor)) =
                (step(index, direction, 1), step(index, direction, 2), step(index, direction, 3))
            {
                rays[index][direction] = Ray { pair: near.bit() | far.bit(), anchor: anchor.bit() };
            }
            direction += 1;
        }
        index += 1;
    }
    rays
}

const fn anchors() -> [u128; Cell::COUNT] {
    let rays = rays();
    let mut anchors = [0; Cell::COUNT];
    let mut index = 0;
    while index < Cell::COUNT {
        let mut direction = 0;
        while direction < 8 {
            anchors[index] |= rays[index][direction].anchor;
            direction += 1;
        }
        index += 1;
    }
    anchors
}

/// The cell `steps` away, or none beyond the edge.
const fn step(index: usize, direction: usize, steps: i8) -> Option<Cell> {
    let (east, north) = DIRECTIONS[direction];
    let column = (index % 9) as i8 + east * steps;
    let row = (index / 9) as i8 + north * steps;
    if column < 0 || column > 8 || row < 0 || row > 8 {
        return None;
    }
    Cell::from_index((row * 9 + column) as u8)
}

/// A pincer that a turtle on `from` closes in one direction.
#[derive(Clone, Copy)]
pub(crate) struct Pincer {
    from: Cell,
    direction: usize,
    /// The two captured cells.
    pub(crate) pair: u128,
}

impl Pincer {
    /// The cells next to `from`, next to the anchor, and of the anchor.
    pub(crate) fn cells(self) -> Option<[Cell; 3]> {
        let at = |steps| step(usize::from(self.from.index()), self.direction, steps);
        Some([at(1)?, at(2)?, at(3)?])
    }
}

/// Finds the pincers that an arrival on `from` closes: two of `prey` side by side, then one of
/// `own`. They come in the order in which captures are reported.
pub(crate) fn closed_by(from: Cell, own: u128, prey: u128, mut found: impl FnMut(Pincer)) {
    let index = usize::from(from.index());
    // Most arrivals have no anchor at all.
    if own & ANCHORS[index] == 0 {
        return;
    }
    for (direction, ray) in RAYS[index].iter().enumerate() {
        if own & ray.anchor != 0 && prey & ray.pair == ray.pair {
            found(Pincer { from, direction, pair: ray.pair });
        }
    }
}
