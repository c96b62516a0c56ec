//! The best answer to a strategy that is known.

use rules::{Cell, Position, Seat};

use super::Foresight;
use crate::search::{Ply, Search};
use crate::{GameOver, Level, analyse};

/// How the second turn of [`Foresight::Two`] is looked at.
const NEXT_TURN: [Ply; 1] = [Ply { candidates: 12, rounds: 100, payoffs_max: 144 }];

/// The cell that does best, by the evaluator, against the mixed strategy with which `opponent` plays this
/// position from the other seat. All legal cells are looked at.
///
/// # Errors
///
/// [`GameOver`].
pub fn best_response(
    position: &Position,
    seat: Seat,
    opponent: Level,
    foresight: Foresight,
) -> Result<Cell, GameOver> {
    let strategy = analyse(position, seat.opponent(), opponent)?.strategy;
    let plies: &[Ply] = match foresight {
        Foresight::One => &[],
        Foresight::Two => &NEXT_TURN,
    };
    let mut search = Search::new(seat);
    let mut best = None;
    for cell in position.legal_cells() {
        let value =
            |&(theirs, share): &(Cell, f32)| share * search.value_after(position, cell, theirs, plies);
        let value: f32 = strategy.shares().iter().map(value).sum();
        if best.is_none_or(|(highest, _)| value > highest) {
            best = Some((value, cell));
        }
    }
    best.map(|(_, cell)| cell).ok_or(GameOver)
}
