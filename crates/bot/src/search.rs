//! Looking ahead: the matrix game of a turn, whose payoffs are evaluated or are games themselves.

use rules::{Cell, Position, Seat};

use crate::matrix::{Line, Matrix, SIZE_MAX, Solution};
use crate::{candidates, evaluator};

/// What one turn of the look ahead may cost.
pub(crate) struct Ply {
    /// Cells a side that are weighed, at most [`SIZE_MAX`].
    pub(crate) candidates: usize,
    /// Rounds of the solver.
    pub(crate) rounds: u32,
    /// Payoffs that are looked into by the plies below, each time that one more of these is used; the others
    /// count as they looked before.
    pub(crate) payoffs_max: usize,
}

impl Ply {
    /// Turns that a look by these plies plays out at most.
    pub(crate) fn turns_max(plies: &[Self]) -> u32 {
        match plies {
            [] => 0,
            [ply] => (ply.candidates * ply.candidates) as u32,
            [ply, below @ ..] => {
                let looks = (1..=below.len()).map(|depth| 1 + Self::turns_max(&below[..depth]));
                (ply.candidates * ply.candidates) as u32 + ply.payoffs_max as u32 * looks.sum::<u32>()
            }
        }
    }
}

/// A seat's look ahead from one position. All values are the seat's.
pub(crate) struct Search {
    seat: Seat,
    turns: u32,
}

/// The game of one turn, solved.
pub(crate) struct Game {
    /// The cells of the seat, of which `row` has the shares.
    pub(crate) mine: Vec<Cell>,
    pub(crate) row: Line,
    /// What each of them yields against the opponent's strategy.
    pub(crate) row_payoffs: Line,
    pub(crate) value: f32,
}

/// A share that a best response need not look at.
const SHARE_MIN: f32 = 0.005;
/// A share in the solution of the look before that lets a cell take part from the start.
const FIRST_SHARE_MIN: f32 = 0.05;
/// A response that gains no more than this, of a result from −1 to 1, is none.
const GAIN_MIN: f32 = 0.001;

impl Search {
    pub(crate) const fn new(seat: Seat) -> Self {
        Self { seat, turns: 0 }
    }

    /// Turns played out so far.
    pub(crate) const fn turns(&self) -> u32 {
        self.turns
    }

    /// Solves the game of a position that is not over, looking ahead by `plies`, of which there is one at least.
    pub(crate) fn solve(&mut self, position: &Position, plies: &[Ply]) -> Game {
        let (ply, below) =
            plies.split_first().unwrap_or((&Ply { candidates: 1, rounds: 1, payoffs_max: 0 }, &[]));
        let mine = candidates::best(position, self.seat, ply.candidates);
        let theirs = candidates::best(position, self.seat.opponent(), ply.candidates);
        let mut payoffs = Matrix::new(mine.len(), theirs.len(), |row, column| {
            self.value_after(position, mine[row], theirs[column], &[])
        });
        let mut solution = payoffs.solve(ply.rounds);
        // Each look is deeper by a turn than the one before, which has found where it begins, and tells the
        // payoffs that it does not look into.
        for depth in 1..=below.len() {
            let mut oracle = DoubleOracle {
                search: self,
                position,
                below: &below[..depth],
                mine: &mine,
                theirs: &theirs,
                payoffs,
                looked_into: [[false; SIZE_MAX]; SIZE_MAX],
                payoffs_left: ply.payoffs_max,
            };
            solution = oracle.solve(&solution, ply.rounds);
            payoffs = oracle.payoffs;
        }
        let row_payoffs = payoffs.row_payoffs(&solution.column);
        Game { mine, row: solution.row, row_payoffs, value: solution.value }
    }

    /// What a turn leads to, looking further by `plies`.
    pub(crate) fn value_after(
        &mut self,
        position: &Position,
        mine: Cell,
        theirs: Cell,
        plies: &[Ply],
    ) -> f32 {
        self.turns += 1;
        let (black, white) = match self.seat {
            Seat::Black => (mine, theirs),
            Seat::White => (theirs, mine),
        };
        match position.play(black, white) {
            Ok(next) if plies.is_empty() || next.outcome().status.is_over() => {
                evaluator::value(&next, self.seat)
            }
            Ok(next) => self.solve(&next, plies).value,
            // Candidates are legal, so this is never asked for; nothing is gained by it.
            Err(_) => 0.0,
        }
    }
}

/// Solves a game whose payoffs are costly: by a small game of the cells that matter so far, to which each side's
/// best response to the other is added until nobody gains by another one (McMahan, Gordon and Blum 2003,
/// "Planning in the presence of cost functions controlled by an adversary").
struct DoubleOracle<'a> {
    search: &'a mut Search,
    position: &'a Position,
    below: &'a [Ply],
    mine: &'a [Cell],
    theirs: &'a [Cell],
    /// As deep as they are known so far.
    payoffs: Matrix,
    looked_into: [[bool; SIZE_MAX]; SIZE_MAX],
    payoffs_left: usize,
}

impl DoubleOracle<'_> {
    fn solve(&mut self, first: &Solution, rounds: u32) -> Solution {
        let mut rows = support(&first.row);
        let mut columns = support(&first.column);
        loop {
            let small =
                Matrix::new(rows.len(), columns.len(), |row, column| self.payoff(rows[row], columns[column]));
            let solution = small.solve(rounds);
            let row = spread(&rows, &solution.row);
            let column = spread(&columns, &solution.column);
            let row_payoffs = self.row_payoffs(&column);
            let column_payoffs = self.column_payoffs(&row);
            let better_row = better(&row_payoffs[..self.mine.len()], solution.value, &rows);
            let better_column = better(&column_payoffs[..self.theirs.len()], -solution.value, &columns);
            if better_row.is_none() && better_column.is_none() {
                return Solution { row, column, value: solution.value };
            }
            // Each round adds a cell, so there are no more rounds than cells.
            rows.extend(better_row);
            columns.extend(better_column);
        }
    }

    /// What each row yields against the columns' strategy.
    fn row_payoffs(&mut self, column: &Line) -> Line {
        let mut payoffs = [0.0; SIZE_MAX];
        for (row, payoff) in payoffs.iter_mut().enumerate().take(self.mine.len()) {
            for (other, share) in column.iter().enumerate().filter(|(_, share)| **share > SHARE_MIN) {
                *payoff += share * self.payoff(row, other);
            }
        }
        payoffs
    }

    /// What each column yields, to its own side, against the rows' strategy.
    fn column_payoffs(&mut self, row: &Line) -> Line {
        let mut payoffs = [0.0; SIZE_MAX];
        for (column, payoff) in payoffs.iter_mut().enumerate().take(self.theirs.len()) {
            for (other, share) in row.iter().enumerate().filter(|(_, share)| **share > SHARE_MIN) {
                *payoff -= share * self.payoff(other, column);
            }
        }
        payoffs
    }

    fn payoff(&mut self, row: usize, column: usize) -> f32 {
        if self.payoffs_left > 0 && !self.looked_into[row][column] {
            self.payoffs_left -= 1;
            self.looked_into[row][column] = true;
            let deeper =
                self.search.value_after(self.position, self.mine[row], self.theirs[column], self.below);
            self.payoffs.set(row, column, deeper);
        }
        self.payoffs.payoff(row, column)
    }
}

/// The choices that a strategy rests on. One has a sixteenth at least, so there is one.
fn support(strategy: &Line) -> Vec<usize> {
    (0..SIZE_MAX).filter(|&choice| strategy[choice] > FIRST_SHARE_MIN).collect()
}

/// A small game's strategy as one of the whole game.
fn spread(choices: &[usize], shares: &Line) -> Line {
    let mut strategy = [0.0; SIZE_MAX];
    choices.iter().zip(shares).for_each(|(&choice, share)| strategy[choice] = *share);
    strategy
}

/// The best choice, if it yields more than `value` and is not among `known`.
fn better(payoffs: &[f32], value: f32, known: &[usize]) -> Option<usize> {
    let best = (0..payoffs.len()).max_by(|&one, &other| payoffs[one].total_cmp(&payoffs[other]))?;
    (payoffs[best] > value + GAIN_MIN && !known.contains(&best)).then_some(best)
}
