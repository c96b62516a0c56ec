//! The cells worth looking at, best first.

use rules::{Cell, Position, Seat};

use crate::lines::{self, AXES};

/// What a cell gains by lying in an open window of five, by the turtles in it: none to four. Only the order
/// that the sums put cells in matters: each step outweighs the few windows of the step below that meet in a
/// cell.
const OWN_WINDOW: [u32; 5] = [3, 20, 80, 320, 8000];
/// The same for the opponent's windows: to stand in the way is worth a little less.
const OPPONENT_WINDOW: [u32; 5] = [0, 18, 60, 240, 4000];
/// What a cell gains if a capture can be made there, and again if an egg waits to hatch from it.
const CAPTURE: u32 = 240;
const CAPTURE_WITH_EGG: u32 = 200;
/// The same where the opponent would capture: an occupied cell is out of his reach.
const OPPONENT_CAPTURE: u32 = 190;
const OPPONENT_CAPTURE_WITH_EGG: u32 = 160;

/// The `count` legal cells that promise most for a seat, best first; fewer if fewer are legal.
pub(crate) fn best(position: &Position, seat: Seat, count: usize) -> Vec<Cell> {
    let scores = scores(position, seat);
    let mut ranked: Vec<(u32, Cell)> =
        position.legal_cells().map(|cell| (scores[usize::from(cell.index())], cell)).collect();
    // Cells of one score stay in index order, so that the result is one.
    ranked.sort_by_key(|&(score, _)| std::cmp::Reverse(score));
    ranked.truncate(count);
    ranked.into_iter().map(|(_, cell)| cell).collect()
}

fn scores(position: &Position, seat: Seat) -> [u32; Cell::COUNT] {
    let (own, theirs) = (position.turtle_bits(seat), position.turtle_bits(seat.opponent()));
    let eggs = position.egg_bits();
    let mut scores = [0; Cell::COUNT];
    for axis in AXES {
        let gains = axis.windows(own, theirs | eggs).into_iter().zip(OWN_WINDOW);
        let denials = axis.windows(theirs, own | eggs).into_iter().zip(OPPONENT_WINDOW);
        for (starts, gain) in gains.chain(denials).filter(|&(_, gain)| gain > 0) {
            for start in ones(starts) {
                axis.five_from(start).for_each(|cell| scores[cell] += gain);
            }
        }
    }
    let waiting = u32::from(eggs != 0);
    let empty = position.legal_bits();
    for cell in ones(lines::captures(own, theirs | eggs, empty)) {
        scores[cell as usize] += CAPTURE + waiting * CAPTURE_WITH_EGG;
    }
    for cell in ones(lines::captures(theirs, own | eggs, empty)) {
        scores[cell as usize] += OPPONENT_CAPTURE + waiting * OPPONENT_CAPTURE_WITH_EGG;
    }
    scores
}

/// The indices of the ones of `bits`.
fn ones(mut bits: u128) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let index = bits.trailing_zeros();
        bits &= bits.checked_sub(1)?;
        Some(index)
    })
}
