//! Positions to try: those that games lead to.

use proptest::prelude::*;
use rules::{Cell, Position};

/// Turns of the longest random game.
const TURNS_MAX: usize = 60;

/// Four black turtles in a row with one free end.
pub(crate) const FOUR: [&str; 9] = [
    ".........",
    ".........",
    ".........",
    "...w.....",
    "..w......",
    ".........",
    ".........",
    "........w",
    "wbbbb....",
];

/// A row of five: black has won.
pub(crate) const FIVE: [&str; 9] = [
    ".........",
    ".........",
    ".........",
    ".........",
    ".........",
    ".........",
    ".........",
    ".........",
    "bbbbb....",
];

/// The position after some turns of a game in which both choose anything legal within a small part of the
/// board, so that collisions, captures and rows are common. It is not over.
pub(crate) fn open_position() -> impl Strategy<Value = Position> {
    proptest::collection::vec(any::<[u8; 2]>(), 0..TURNS_MAX).prop_map(|turns| {
        let mut position = Position::initial();
        for [black, white] in turns {
            let next = position.play(pick(&position, black), pick(&position, white));
            match next {
                Ok(next) if !next.outcome().status.is_over() => position = next,
                _ => break,
            }
        }
        position
    })
}

/// A legal cell: within six columns and rows while there is one.
fn pick(position: &Position, byte: u8) -> Cell {
    let near: Vec<Cell> = position.legal_cells().filter(|cell| cell.column() < 6 && cell.row() < 6).collect();
    let cells = if near.is_empty() { position.legal_cells().collect() } else { near };
    cells[usize::from(byte) % cells.len()]
}

/// A position from its rows, 9 down to 1, of `b`, `w` and `.`.
pub(crate) fn board(rows: [&str; 9]) -> Position {
    let mut setup = rules::Setup::default();
    for cell in Cell::all() {
        match rows[usize::from(8 - cell.row())].as_bytes()[usize::from(cell.column())] {
            b'b' => setup.black.push(cell),
            b'w' => setup.white.push(cell),
            _ => {}
        }
    }
    Position::from_setup(&setup).expect("a cell holds one piece at most")
}

pub(crate) fn cell(name: &str) -> Cell {
    name.parse().expect("the name of a cell")
}
