//! Pincers: what an arriving turtle captures.

use core::iter;

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

/// The pincers that one arriving turtle closes.
#[derive(Clone, Copy)]
pub(crate) struct Pincers {
    from: Cell,
    /// A bit for each of [`DIRECTIONS`] in which one is closed.
    directions: u8,
}

impl Pincers {
    /// Finds where a turtle that arrives on `from` has two of `prey` side by side, then one of
    /// `own`.
    #[inline]
    pub(crate) fn closed_by(from: Cell, own: u128, prey: u128) -> Self {
        // Many arrivals have no anchor at all, which one look tells.
        let anchored = own & ANCHORS[usize::from(from.index())] != 0;
        Self { from, directions: if anchored { closed_directions(from, own, prey) } else { 0 } }
    }

    /// Whether there is one at all.
    pub(crate) const fn any(self) -> bool {
        self.directions != 0
    }

    /// Each of them is a capture.
    pub(crate) const fn count(self) -> u32 {
        self.directions.count_ones()
    }

    /// The cells that they clear, all together.
    pub(crate) fn captured(self) -> u128 {
        self.each().fold(0, |captured, direction| captured | self.ray(direction).pair)
    }

    /// The cells next to the arrival, next to the anchor, and of the anchor, in the order in which
    /// captures are reported.
    pub(crate) fn cells(self) -> impl Iterator<Item = [Cell; 3]> {
        self.each().filter_map(move |direction| {
            let at = |steps| step(usize::from(self.from.index()), direction, steps);
            Some([at(1)?, at(2)?, at(3)?])
        })
    }

    fn each(self) -> impl Iterator<Item = usize> {
        let mut left = self.directions;
        iter::from_fn(move || {
            let direction = left.trailing_zeros() as usize;
            left &= left.checked_sub(1)?;
            Some(direction)
        })
    }

    fn ray(self, direction: usize) -> Ray {
        RAYS[usize::from(self.from.index())][direction & 7]
    }
}

fn closed_directions(from: Cell, own: u128, prey: u128) -> u8 {
    let mut directions = 0;
    for (direction, ray) in RAYS[usize::from(from.index())].iter().enumerate() {
        if own & ray.anchor != 0 && prey & ray.pair == ray.pair {
            directions |= 1 << direction;
        }
    }
    directions
}
