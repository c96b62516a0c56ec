//! Boards and turns to try: crowded enough for captures, chains and rows to be common.

use proptest::prelude::*;
use rules::{Cell, Position, Setup};

/// A position of any density with any mix of pieces, finished ones too.
pub(crate) fn any_position() -> impl Strategy<Value = Position> {
    (0..=10_u32, 0..=10_u32, 0..=10_u32, 0..=30_u32).prop_flat_map(|(black, white, eggs, empty)| {
        let piece = prop_oneof![
            black + 1 => Just('b'),
            white + 1 => Just('w'),
            eggs + 1 => Just('e'),
            empty + 1 => Just('.'),
        ];
        (proptest::collection::vec(piece, Cell::COUNT), Just(Cell::all().collect::<Vec<_>>()).prop_shuffle())
            .prop_map(|(board, order)| {
                let on = |piece| {
                    let board = &board;
                    order
                        .iter()
                        .copied()
                        .filter(move |cell| board[usize::from(cell.index())] == piece)
                        .collect()
                };
                let setup = Setup { black: on('b'), white: on('w'), eggs: on('e') };
                Position::from_setup(&setup).expect("each cell holds one piece")
            })
    })
}

/// A position in which a turn can be played.
pub(crate) fn open_position() -> impl Strategy<Value = Position> {
    any_position().prop_filter("play goes on", |position| !position.outcome().status.is_over())
}

/// An open position and a legal choice of each seat, the same one at times.
pub(crate) fn legal_turn() -> impl Strategy<Value = (Position, Cell, Cell)> {
    (open_position(), any::<[u8; 2]>(), proptest::bool::weighted(0.1)).prop_map(
        |(position, [b, w], collide)| {
            let black = pick(&position, b);
            (position, black, if collide { black } else { pick(&position, w) })
        },
    )
}

/// Bytes that choose the cells of a game, and the window of the board that it is played in while it
/// has room: the smaller, the sooner pieces meet.
pub(crate) fn game() -> impl Strategy<Value = (Vec<[u8; 3]>, [u8; 2])> {
    (proptest::collection::vec(any::<[u8; 3]>(), 0..60), [0..5_u8, 0..5_u8])
}

/// The turn that three bytes choose in a position: a collision in one of eight.
pub(crate) fn choose(position: &Position, [b, w, collide]: [u8; 3], [column, row]: [u8; 2]) -> (Cell, Cell) {
    let window =
        |cell: &Cell| (column..column + 5).contains(&cell.column()) && (row..row + 5).contains(&cell.row());
    let mut cells: Vec<Cell> = position.legal_cells().filter(window).collect();
    if cells.is_empty() {
        cells = position.legal_cells().collect();
    }
    let at = |byte: u8| cells[usize::from(byte) % cells.len()];
    (at(b), if collide < 32 { at(b) } else { at(w) })
}

fn pick(position: &Position, byte: u8) -> Cell {
    let cells = position.legal_cells();
    let count = cells.len();
    cells.into_iter().nth(usize::from(byte) % count).expect("an open position has an empty cell")
}
