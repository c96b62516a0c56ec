//! How the demo's players choose: at random, but not blindly.

use rand::Rng;
use rand::RngExt as _;
use rules::{Cell, Piece, Position, Seat};

/// What a cell is worth that continues a run of so many turtles; more than four is a row already.
const OWN_RUN: [u32; 5] = [0, 4, 20, 120, 2_500];

/// The same for cutting off the opponent's run.
const THEIR_RUN: [u32; 5] = [0, 1, 12, 250, 5_000];

/// What closing a pincer is worth.
const PINCER: u32 = 200;

/// The four lines through a cell, as steps of column and row.
const LINES: [(i8, i8); 4] = [(1, 0), (0, 1), (1, 1), (1, -1)];

/// A cell for a seat, drawn by its worth: rows are continued and cut off, pincers are closed, and every
/// empty cell has a chance. None: there is no legal cell.
pub(crate) fn choose(position: &Position, seat: Seat, random: &mut impl Rng) -> Option<Cell> {
    let weighed: Vec<_> = position.legal_cells().map(|cell| (cell, worth(position, seat, cell))).collect();
    let total: u32 = weighed.iter().map(|(_, worth)| worth).sum();
    let mut left = random.random_range(0..total.max(1));
    for (cell, worth) in weighed {
        if left < worth {
            return Some(cell);
        }
        left -= worth;
    }
    None
}

fn worth(position: &Position, seat: Seat, cell: Cell) -> u32 {
    let mut worth = 1;
    for (column, row) in LINES {
        let run = |of| ahead(position, cell, (column, row), of) + ahead(position, cell, (-column, -row), of);
        worth += OWN_RUN[run(seat).min(4)] + THEIR_RUN[run(seat.opponent()).min(4)];
        for step in [(column, row), (-column, -row)] {
            if closes_pincer(position, seat, cell, step) {
                worth += PINCER;
            }
        }
    }
    worth
}

/// The turtles of a seat that follow a cell without a gap.
fn ahead(position: &Position, from: Cell, step: (i8, i8), of: Seat) -> usize {
    let cells = std::iter::successors(next(from, step), |cell| next(*cell, step));
    cells.take_while(|cell| position.piece(*cell) == Some(Piece::Turtle(of))).count()
}

/// Whether two pieces that are not the seat's, then a turtle of the seat, follow a cell.
fn closes_pincer(position: &Position, seat: Seat, from: Cell, step: (i8, i8)) -> bool {
    let own = Some(Piece::Turtle(seat));
    let prey = |cell: Cell| position.piece(cell).is_some() && position.piece(cell) != own;
    let Some(near) = next(from, step) else { return false };
    let Some(far) = next(near, step) else { return false };
    let Some(anchor) = next(far, step) else { return false };
    prey(near) && prey(far) && position.piece(anchor) == own
}

fn next(cell: Cell, (column, row): (i8, i8)) -> Option<Cell> {
    let column = cell.column().checked_add_signed(column).filter(|column| *column < 9)?;
    let row = cell.row().checked_add_signed(row).filter(|row| *row < 9)?;
    Cell::from_index(row * 9 + column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use rules::Event;

    /// A match between two players of the demo: its turns, and everything that happened.
    fn play(seed: u64) -> (usize, Vec<Event>) {
        let mut black = StdRng::seed_from_u64(seed);
        let mut white = StdRng::seed_from_u64(seed + 1);
        let (mut position, mut turns, mut events) = (Position::initial(), 0, Vec::new());
        while let Some(cell) = choose(&position, Seat::Black, &mut black) {
            let other = choose(&position, Seat::White, &mut white).unwrap();
            let turn = position.resolve(cell, other).unwrap();
            position = turn.position;
            events.extend(turn.events);
            turns += 1;
        }
        (turns, events)
    }

    #[test]
    fn a_demo_is_short_and_shows_the_game() {
        const MATCHES: usize = 30;
        let played: Vec<_> = (0..MATCHES as u64).map(play).collect();
        let how_many =
            |shows: fn(&Event) -> bool| played.iter().filter(|(_, events)| events.iter().any(shows)).count();
        assert!(played.iter().all(|(turns, _)| *turns <= 81));
        assert!(played.iter().filter(|(turns, _)| *turns <= 60).count() > MATCHES * 9 / 10);
        assert!(how_many(|event| matches!(event, Event::Collided { .. })) > MATCHES / 2);
        assert!(how_many(|event| matches!(event, Event::Captured(_))) > MATCHES / 2);
        assert!(how_many(|event| matches!(event, Event::Hatched { .. })) > MATCHES / 2);
    }
}
