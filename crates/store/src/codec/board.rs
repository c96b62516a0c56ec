//! The board of a head.

use rules::{Cell, Position, Setup};

use super::field::{damaged, required};
use super::{CodecError, record};

pub(super) fn write(position: &Position) -> record::Board {
    let setup = Setup::from(position);
    let numbers = |cells: &[Cell]| cells.iter().map(|cell| cell.number()).collect();
    record::Board { black: numbers(&setup.black), white: numbers(&setup.white), eggs: numbers(&setup.eggs) }
}

pub(super) fn read(board: &record::Board) -> Result<Position, CodecError> {
    let cells = |numbers: &[u8], field| {
        let cells = numbers.iter().map(|number| Cell::from_number(*number));
        required(cells.collect::<Option<Vec<_>>>(), field)
    };
    let setup = Setup {
        black: cells(&board.black, "Board.black")?,
        white: cells(&board.white, "Board.white")?,
        eggs: cells(&board.eggs, "Board.eggs")?,
    };
    Position::from_setup(&setup).map_err(|_| damaged("Head.board"))
}
