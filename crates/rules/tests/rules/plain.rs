//! The rules on a plain array of 81 cells, written as the rules read and sharing nothing with the
//! crate but the types of a report. The tests compare the crate with it; the bench measures it as
//! the floor.

use rules::{Capture, Cell, Event, PerSeat, Piece, Seat, Status};

/// N, NE, E, SE, S, SW, W, NW as steps in columns and rows.
const DIRECTIONS: [(i8, i8); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) board: [Option<Piece>; 81],
    /// Oldest first.
    pub(crate) eggs: Vec<Cell>,
    pub(crate) status: Status,
    pub(crate) winning_turtles: PerSeat<u8>,
}

impl Plain {
    pub(crate) fn new() -> Self {
        Self {
            board: [None; 81],
            eggs: Vec::new(),
            status: Status::Ongoing,
            winning_turtles: PerSeat { black: 0, white: 0 },
        }
    }

    pub(crate) fn empty_cells(&self) -> impl Iterator<Item = Cell> {
        Cell::all().filter(|cell| self.board[usize::from(cell.index())].is_none())
    }

    /// Plays a legal turn.
    pub(crate) fn play(&mut self, black: Cell, white: Cell, mut note: impl FnMut(Event)) {
        if black == white {
            note(Event::Collided { cell: black });
            self.put(black, Piece::Egg);
            self.eggs.push(black);
        } else {
            for (seat, cell) in [(Seat::Black, black), (Seat::White, white)] {
                note(Event::Placed { seat, cell });
                self.put(cell, Piece::Turtle(seat));
            }
            let mut claims = PerSeat { black: 0, white: 0 };
            let mut removed = Vec::new();
            for (by, from) in [(Seat::Black, black), (Seat::White, white)] {
                for capture in self.captures(by, from) {
                    note(Event::Captured(capture));
                    claims[by] += 1;
                    removed.extend(capture.removed);
                }
            }
            self.remove(&removed);
            self.hatch(claims, note);
        }
        self.judge();
    }

    fn hatch(&mut self, mut claims: PerSeat<u32>, mut note: impl FnMut(Event)) {
        while !self.eggs.is_empty() && (claims.black > 0 || claims.white > 0) {
            let cell = self.eggs.remove(0);
            if claims.black > 0 && claims.white > 0 {
                note(Event::Vanished { cell });
                self.board[usize::from(cell.index())] = None;
                claims.black -= 1;
                claims.white -= 1;
            } else {
                let seat = if claims.black > 0 { Seat::Black } else { Seat::White };
                note(Event::Hatched { seat, cell });
                self.put(cell, Piece::Turtle(seat));
                claims[seat] -= 1;
                for capture in self.captures(seat, cell) {
                    note(Event::Captured(capture));
                    claims[seat] += 1;
                    self.remove(&capture.removed);
                }
            }
        }
    }

    /// All pincers that `by` closes from `from`, on the board as it is.
    fn captures(&self, by: Seat, from: Cell) -> Vec<Capture> {
        let own = Some(Piece::Turtle(by));
        let prey = |cell| self.at(cell).is_some() && self.at(cell) != own;
        let mut captures = Vec::new();
        for direction in DIRECTIONS {
            if let (Some(near), Some(far), Some(anchor)) =
                (step(from, direction, 1), step(from, direction, 2), step(from, direction, 3))
                && prey(near)
                && prey(far)
                && self.at(anchor) == own
            {
                captures.push(Capture { by, from, removed: [near, far], anchor });
            }
        }
        captures
    }

    pub(crate) fn judge(&mut self) {
        let mut counts = PerSeat { black: 0, white: 0 };
        for cell in Cell::all() {
            if let Some(Piece::Turtle(seat)) = self.at(cell)
                && [(1, 0), (0, 1), (1, 1), (1, -1)].into_iter().any(|axis| self.row_length(cell, axis) >= 5)
            {
                counts[seat] += 1;
            }
        }
        self.winning_turtles = counts;
        self.status = if counts.black > counts.white {
            Status::BlackWins
        } else if counts.white > counts.black {
            Status::WhiteWins
        } else if self.board.iter().all(Option::is_some) {
            Status::Draw
        } else if counts.black > 0 {
            Status::SuddenDeath
        } else {
            Status::Ongoing
        };
    }

    /// The length of the unbroken line through a turtle along an axis.
    fn row_length(&self, cell: Cell, (east, north): (i8, i8)) -> usize {
        let run = |direction| {
            (1..)
                .map_while(|steps| step(cell, direction, steps))
                .take_while(|&other| self.at(other) == self.at(cell))
                .count()
        };
        1 + run((east, north)) + run((-east, -north))
    }

    fn at(&self, cell: Cell) -> Option<Piece> {
        self.board[usize::from(cell.index())]
    }

    fn put(&mut self, cell: Cell, piece: Piece) {
        self.board[usize::from(cell.index())] = Some(piece);
    }

    fn remove(&mut self, cells: &[Cell]) {
        for cell in cells {
            self.board[usize::from(cell.index())] = None;
        }
        self.eggs.retain(|egg| !cells.contains(egg));
    }
}

fn step(from: Cell, (east, north): (i8, i8), steps: i8) -> Option<Cell> {
    let column = from.column() as i8 + east * steps;
    let row = from.row() as i8 + north * steps;
    if (0..9).contains(&column) && (0..9).contains(&row) {
        Cell::from_index((row * 9 + column) as u8)
    } else {
        None
    }
}
