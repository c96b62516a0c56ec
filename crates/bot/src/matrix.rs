//! Zero-sum matrix games: both sides choose at once, one number says what the row side gets.

/// Choices that a side can have.
pub(crate) const SIZE_MAX: usize = 16;

/// One number for each choice of a side; those beyond its choices are zero.
pub(crate) type Line = [f32; SIZE_MAX];

/// A game, as far as its payoffs are known.
#[derive(Clone)]
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    payoffs: [Line; SIZE_MAX],
}

/// A pair of mixed strategies, nearly an equilibrium.
pub(crate) struct Solution {
    pub(crate) row: Line,
    pub(crate) column: Line,
    /// What the row side gets if both play them.
    pub(crate) value: f32,
}

impl Matrix {
    /// A game of so many choices, [`SIZE_MAX`] at most.
    pub(crate) fn new(rows: usize, columns: usize, mut payoff: impl FnMut(usize, usize) -> f32) -> Self {
        let (rows, columns) = (rows.min(SIZE_MAX), columns.min(SIZE_MAX));
        let mut payoffs = [[0.0; SIZE_MAX]; SIZE_MAX];
        for (row, line) in payoffs.iter_mut().enumerate().take(rows) {
            for (column, place) in line.iter_mut().enumerate().take(columns) {
                *place = payoff(row, column);
            }
        }
        Self { rows, columns, payoffs }
    }

    /// What the row side gets by these two choices.
    pub(crate) fn payoff(&self, row: usize, column: usize) -> f32 {
        self.payoffs[row][column]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, payoff: f32) {
        self.payoffs[row][column] = payoff;
    }

    /// What each row yields on average against a mixed strategy of the columns.
    pub(crate) fn row_payoffs(&self, column: &Line) -> Line {
        let mut payoffs = [0.0; SIZE_MAX];
        for (payoff, line) in payoffs.iter_mut().zip(&self.payoffs) {
            *payoff = product(line, column);
        }
        payoffs
    }

    /// Solves the game by regret matching+ in turns, averaging with linear weights (Tammelin 2014, "Solving large
    /// imperfect information games using CFR+"): nearly exact for games of this size after some 200 rounds.
    pub(crate) fn solve(&self, rounds: u32) -> Solution {
        let transposed = self.transposed();
        let mut rows = Learner::new(self.rows);
        let mut columns = Learner::new(self.columns);
        for round in 1..=rounds {
            rows.learn(&combine(&transposed, &columns.strategy), round as f32);
            columns.learn(&combine(&self.payoffs, &rows.strategy).map(|payoff| -payoff), round as f32);
        }
        let (row, column) = (rows.average(), columns.average());
        let value = product(&self.row_payoffs(&column), &row);
        Solution { row, column, value }
    }

    fn transposed(&self) -> [Line; SIZE_MAX] {
        std::array::from_fn(|column| std::array::from_fn(|row| self.payoffs[row][column]))
    }
}

/// The sum of lines, each times its share.
fn combine(lines: &[Line; SIZE_MAX], shares: &Line) -> Line {
    let mut sum = [0.0; SIZE_MAX];
    for (line, share) in lines.iter().zip(shares) {
        if *share > 0.0 {
            sum.iter_mut().zip(line).for_each(|(sum, payoff)| *sum += share * payoff);
        }
    }
    sum
}

/// The sum of the products of what stands in the same place. Four sums side by side: in one, each addition
/// would wait for the one before.
fn product(one: &Line, other: &Line) -> f32 {
    let mut sums = [0.0; 4];
    for (one, other) in one.chunks_exact(4).zip(other.chunks_exact(4)) {
        for (sum, (one, other)) in sums.iter_mut().zip(one.iter().zip(other)) {
            *sum += one * other;
        }
    }
    sums.iter().sum()
}

/// One side on its way to a strategy.
struct Learner {
    choices: usize,
    strategy: Line,
    regrets: Line,
    sums: Line,
}

impl Learner {
    fn new(choices: usize) -> Self {
        let mut learner =
            Self { choices, strategy: [0.0; SIZE_MAX], regrets: [0.0; SIZE_MAX], sums: [0.0; SIZE_MAX] };
        learner.match_regrets();
        learner
    }

    /// Takes in what each choice would have got, and how much this round counts.
    fn learn(&mut self, payoffs: &Line, weight: f32) {
        let expected = product(&self.strategy, payoffs);
        for (regret, payoff) in self.regrets.iter_mut().zip(payoffs).take(self.choices) {
            *regret = (*regret + payoff - expected).max(0.0);
        }
        self.match_regrets();
        self.sums.iter_mut().zip(&self.strategy).for_each(|(sum, share)| *sum += weight * share);
    }

    fn match_regrets(&mut self) {
        let total = product(&self.regrets, &[1.0; SIZE_MAX]);
        if total > f32::EPSILON {
            let unit = 1.0 / total;
            self.strategy = self.regrets.map(|regret| regret * unit);
        } else {
            self.strategy[..self.choices].fill(1.0 / self.choices as f32);
        }
    }

    fn average(&self) -> Line {
        let total: f32 = self.sums.iter().sum();
        if total > 0.0 { self.sums.map(|sum| sum / total) } else { self.strategy }
    }
}
