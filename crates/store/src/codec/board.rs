//! The board of a head.

use rules::{Cell, Position, Seat, Setup};

use super::field::{damaged, required};
use super::{CodecError, record};

pub(super) fn write(position: &Position) -> record::Board {
    let turtles = |seat| {
        // Made once: a head is written for every change.
        let mut numbers = Vec::with_capacity(position.turtle_bits(seat).count_ones() as usize);
        numbers.extend(position.turtles(seat).map(Cell::number));
        numbers
    };
    record::Board {
        black: turtles(Seat::Black),
        white: turtles(Seat::White),
        eggs: position.eggs().iter().map(|egg| egg.number()).collect(),
    }
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
