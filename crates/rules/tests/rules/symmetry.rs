//! Neither a colour nor a side of the board is special.

use proptest::prelude::*;
use rules::{Capture, Cell, Event, Outcome, PerSeat, Position, Seat, Setup, Status, Turn};

use crate::boards::legal_turn;

/// One of the 8 symmetries of the board: bit 0 mirrors the columns, bit 1 the rows, bit 2 swaps
/// columns and rows.
fn moved(cell: Cell, symmetry: u8) -> Cell {
    let column = if symmetry & 1 == 0 { cell.column() } else { 8 - cell.column() };
    let row = if symmetry & 2 == 0 { cell.row() } else { 8 - cell.row() };
    let (column, row) = if symmetry & 4 == 0 { (column, row) } else { (row, column) };
    Cell::from_index(row * 9 + column).expect("both are below 9")
}

/// How everything looks after moving the cells and, perhaps, swapping the colours.
struct Mirror {
    symmetry: u8,
    swap: bool,
}

impl Mirror {
    fn cell(&self, cell: Cell) -> Cell {
        moved(cell, self.symmetry)
    }

    fn seat(&self, seat: Seat) -> Seat {
        if self.swap { seat.opponent() } else { seat }
    }

    fn cells(&self, cells: &[Cell]) -> Vec<Cell> {
        cells.iter().map(|&cell| self.cell(cell)).collect()
    }

    fn position(&self, position: &Position) -> Position {
        let setup = Setup::from(position);
        let (black, white) = (self.cells(&setup.black), self.cells(&setup.white));
        let (black, white) = if self.swap { (white, black) } else { (black, white) };
        let setup = Setup { black, white, eggs: self.cells(&setup.eggs) };
        Position::from_setup(&setup).expect("a mirrored position is one")
    }

    fn outcome(&self, outcome: Outcome) -> Outcome {
        let PerSeat { black, white } = outcome.winning_turtles;
        match (self.swap, outcome.status) {
            (false, _) => outcome,
            (true, status) => Outcome {
                status: match status {
                    Status::BlackWins => Status::WhiteWins,
                    Status::WhiteWins => Status::BlackWins,
                    Status::Ongoing | Status::SuddenDeath | Status::Draw => status,
                },
                winning_turtles: PerSeat { black: white, white: black },
            },
        }
    }

    fn event(&self, event: &Event) -> Event {
        match *event {
            Event::Placed { seat, cell } => Event::Placed { seat: self.seat(seat), cell: self.cell(cell) },
            Event::Collided { cell } => Event::Collided { cell: self.cell(cell) },
            Event::Captured(Capture { by, from, removed, anchor }) => Event::Captured(Capture {
                by: self.seat(by),
                from: self.cell(from),
                removed: removed.map(|cell| self.cell(cell)),
                anchor: self.cell(anchor),
            }),
            Event::Hatched { seat, cell } => Event::Hatched { seat: self.seat(seat), cell: self.cell(cell) },
            Event::Vanished { cell } => Event::Vanished { cell: self.cell(cell) },
        }
    }

    /// What happens in a mirrored turn; captures are listed by seat and direction, so that only
    /// their order may differ.
    fn turn(&self, turn: &Turn) -> (Position, Vec<String>, Outcome) {
        let events = turn.events.iter().map(|event| self.event(event)).collect::<Vec<_>>();
        (self.position(&turn.position), listed(&events), self.outcome(turn.position.outcome()))
    }
}

fn listed(events: &[Event]) -> Vec<String> {
    let mut events: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    events.sort_unstable();
    events
}

proptest! {

    #[test]
    fn mirrored_turns_have_mirrored_effects(
        (position, black, white) in legal_turn(), symmetry in 0..8_u8, swap in any::<bool>(),
    ) {
        let mirror = Mirror { symmetry, swap };
        let turn = position.resolve(black, white).unwrap();
        let (black, white) = (mirror.cell(black), mirror.cell(white));
        let (black, white) = if swap { (white, black) } else { (black, white) };
        let mirrored = mirror.position(&position).resolve(black, white).unwrap();
        let outcome = mirrored.position.outcome();
        prop_assert_eq!((mirrored.position, listed(&mirrored.events), outcome), mirror.turn(&turn));
    }
}
