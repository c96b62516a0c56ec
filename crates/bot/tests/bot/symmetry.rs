//! Neither a colour nor a side of the board is special.

use bot::evaluator::{features, value};
use bot::{Level, analyse};
use proptest::prelude::*;
use rules::{Cell, Position, Seat, Setup};

use crate::boards::open_position;

/// The same board with every turtle in the other colour.
fn swapped(position: &Position) -> Position {
    let setup = Setup::from(position);
    Position::from_setup(&Setup { black: setup.white, white: setup.black, eggs: setup.eggs })
        .expect("a swapped position is one")
}

/// One of the 8 symmetries of the board: bit 0 mirrors the columns, bit 1 the rows, bit 2 swaps columns and rows.
fn moved(position: &Position, symmetry: u8) -> Position {
    let move_cell = |cell: &Cell| {
        let column = if symmetry & 1 == 0 { cell.column() } else { 8 - cell.column() };
        let row = if symmetry & 2 == 0 { cell.row() } else { 8 - cell.row() };
        let (column, row) = if symmetry & 4 == 0 { (column, row) } else { (row, column) };
        Cell::from_index(row * 9 + column).expect("both are below 9")
    };
    let move_all = |cells: &[Cell]| cells.iter().map(move_cell).collect();
    let setup = Setup::from(position);
    let setup =
        Setup { black: move_all(&setup.black), white: move_all(&setup.white), eggs: move_all(&setup.eggs) };
    Position::from_setup(&setup).expect("a moved position is one")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_one_seat_gains_the_other_loses(position in open_position()) {
        prop_assert_eq!(value(&position, Seat::Black), -value(&position, Seat::White));
        prop_assert_eq!(value(&position, Seat::Black), value(&swapped(&position), Seat::White));
    }

    #[test]
    fn a_turned_or_mirrored_board_is_worth_the_same(position in open_position(), symmetry in 0..8_u8) {
        let moved = moved(&position, symmetry);
        prop_assert_eq!(features(&moved, Seat::Black), features(&position, Seat::Black));
        prop_assert_eq!(value(&moved, Seat::Black), value(&position, Seat::Black));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn both_colours_play_alike(position in open_position()) {
        for level in &Level::ALL[..6] {
            let (black, white) =
                (analyse(&position, Seat::Black, *level), analyse(&swapped(&position), Seat::White, *level));
            prop_assert_eq!(black, white);
        }
    }
}
