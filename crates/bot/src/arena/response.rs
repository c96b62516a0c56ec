//! The best answer to a strategy that is known.

use rules::{Cell, Position, Seat};

use super::Foresight;
use crate::search::{Ply, Search};
use crate::{GameOver, MixedStrategy};

/// How the second turn of [`Foresight::Two`] is looked at.
const NEXT_TURN: [Ply; 1] = [Ply { candidates: 12, rounds: 100, payoffs_max: 144 }];

/// Cells that [`Foresight::Two`] looks further from: those that do best in the first turn.
const CANDIDATES: usize = 16;

/// The cell that does best, by the evaluator, against the mixed strategy with which the other seat plays this
/// position. All legal cells are looked at, and the best 16 once more where a second turn is.
///
/// # Errors
///
/// [`GameOver`].
pub fn best_response(
    position: &Position,
    seat: Seat,
    strategy: &MixedStrategy,
    foresight: Foresight,
) -> Result<Cell, GameOver> {
    let mut search = Search::new(seat);
    let mut ranked = ranked(position, position.legal_cells(), strategy, &[], &mut search);
    if foresight == Foresight::Two {
        ranked.truncate(CANDIDATES);
        ranked = self::ranked(position, ranked.into_iter(), strategy, &NEXT_TURN, &mut search);
    }
    ranked.first().copied().ok_or(GameOver)
}

/// The cells by what they yield against a strategy, best first.
fn ranked(
    position: &Position,
    cells: impl Iterator<Item = Cell>,
    strategy: &MixedStrategy,
    plies: &[Ply],
    search: &mut Search,
) -> Vec<Cell> {
    let mut valued: Vec<(f32, Cell)> = cells
        .map(|cell| {
            let shares = strategy.shares().iter();
            let values =
                shares.map(|&(theirs, share)| share * search.value_after(position, cell, theirs, plies));
            (values.sum(), cell)
        })
        .collect();
    valued.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    valued.into_iter().map(|(_, cell)| cell).collect()
}
