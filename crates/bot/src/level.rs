//! The levels and what each may spend on a move.

use std::fmt;

use rules::Position;

use crate::MixedStrategy;
use crate::search::{Ply, Search};

/// How strong an opponent is: 0, random, to 6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Level(u8);

/// Cells a side that a look at one turn weighs: as many as a matrix game can have.
const CANDIDATES: usize = 16;

/// The budget of levels 1 to 4. More rounds change no choice that counts.
const ONE_PLY: [Ply; 1] = [Ply { candidates: CANDIDATES, rounds: 200, payoffs_max: 0 }];

/// The budget of level 5: about 5 ms of a core. Here and at level 6 the second turn has more cells than strength
/// needs: with 10, somebody who is shown the strategy and looks two turns ahead wins a tenth more.
const TWO_PLIES: [Ply; 2] = [
    Ply { candidates: CANDIDATES, rounds: 200, payoffs_max: CANDIDATES * CANDIDATES },
    Ply { candidates: 14, rounds: 200, payoffs_max: 0 },
];

/// The budget of level 6: some five times that of level 5.
const THREE_PLIES: [Ply; 3] = [
    Ply { candidates: CANDIDATES, rounds: 200, payoffs_max: 80 },
    Ply { candidates: 14, rounds: 80, payoffs_max: 20 },
    Ply { candidates: 7, rounds: 50, payoffs_max: 0 },
];

/// How much levels 1 to 3 err: a cell that loses this much of the expected result (from −1 to 1) against the
/// best one is chosen about a third as often.
const TEMPERATURES: [f32; 3] = [0.35, 0.14, 0.06];

/// How a level decides.
pub(crate) enum Design {
    Random,
    Response { temperature: f32 },
    Equilibrium { plies: &'static [Ply] },
}

impl Level {
    /// How many there are.
    pub const COUNT: usize = 7;

    /// All levels, weakest first.
    pub const ALL: [Self; Self::COUNT] = [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6)];

    /// The random one.
    pub const EASIEST: Self = Self(0);

    /// The strongest one.
    pub const HARDEST: Self = Self(6);

    /// The level of this number, 0 to 6.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        if number <= Self::HARDEST.0 { Some(Self(number)) } else { None }
    }

    /// The level's number, 0 to 6.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Turns that a move of this level plays out at most. One takes a fraction of a microsecond.
    #[must_use]
    pub fn turns_max(self) -> u32 {
        match self.design() {
            Design::Random => 0,
            Design::Response { .. } => Ply::turns_max(&ONE_PLY),
            Design::Equilibrium { plies } => Ply::turns_max(plies),
        }
    }

    pub(crate) const fn design(self) -> Design {
        match self.0 {
            0 => Design::Random,
            1..=3 => Design::Response { temperature: TEMPERATURES[self.0 as usize - 1] },
            4 => Design::Equilibrium { plies: &ONE_PLY },
            5 => Design::Equilibrium { plies: &TWO_PLIES },
            _ => Design::Equilibrium { plies: &THREE_PLIES },
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Design {
    /// The strategy for a position that is not over.
    pub(crate) fn strategy(&self, position: &Position, search: &mut Search) -> MixedStrategy {
        match *self {
            Self::Random => MixedStrategy::from_weights(position.legal_cells().map(|cell| (cell, 1.0)), 0.0),
            Self::Response { temperature } => {
                let game = search.solve(position, &ONE_PLY);
                let best = game.row_payoffs.iter().copied().fold(f32::MIN, f32::max);
                let likely = game.row_payoffs.map(|payoff| decay((best - payoff) / temperature));
                MixedStrategy::from_weights(game.mine.into_iter().zip(likely), 0.0)
            }
            Self::Equilibrium { plies } => {
                let game = search.solve(position, plies);
                MixedStrategy::from_weights(game.mine.into_iter().zip(game.row), NOISE_MAX)
            }
        }
    }
}

/// What an equilibrium gives to a cell up to this share is what is left of the first rounds.
const NOISE_MAX: f32 = 0.02;

/// Nearly e^−x for x ≥ 0: the limit's 16th element, which is the same on every machine.
fn decay(x: f32) -> f32 {
    let mut factor = 1.0 + x / 16.0;
    for _ in 0..4 {
        factor *= factor;
    }
    1.0 / factor
}
