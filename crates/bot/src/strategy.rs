//! Mixed strategies: which cells, and how often.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use rules::Cell;

/// A distribution over cells: what can be known of a choice before it is made.
#[derive(Clone, PartialEq, Debug)]
pub struct MixedStrategy {
    /// Shares above zero that add up to 1.
    shares: Vec<(Cell, f32)>,
}

impl MixedStrategy {
    /// The cells in proportion to their weights, which are not negative. Cells whose part of the whole is at most
    /// `ignored` are left out; the heaviest never is.
    pub(crate) fn from_weights(weights: impl Iterator<Item = (Cell, f32)>, ignored: f32) -> Self {
        let mut shares: Vec<(Cell, f32)> = weights.collect();
        let total: f32 = shares.iter().map(|&(_, weight)| weight).sum();
        let heaviest = shares.iter().map(|&(_, weight)| weight).fold(0.0, f32::max);
        shares.retain(|&(_, weight)| weight > (ignored * total).min(heaviest / 2.0));
        let kept: f32 = shares.iter().map(|&(_, weight)| weight).sum();
        shares.iter_mut().for_each(|(_, share)| *share /= kept);
        Self { shares }
    }

    /// The cells that can be chosen, each once, with their probabilities, which add up to 1.
    #[must_use]
    pub fn shares(&self) -> &[(Cell, f32)] {
        &self.shares
    }

    /// The probability of a cell.
    #[must_use]
    pub fn share(&self, cell: Cell) -> f32 {
        self.shares.iter().find(|&&(chosen, _)| chosen == cell).map_or(0.0, |&(_, share)| share)
    }

    /// Draws a cell. The same seed draws the same cell, on every machine.
    pub(crate) fn draw(&self, seed: u64) -> Option<Cell> {
        let mut left = unit(ChaCha8Rng::seed_from_u64(seed).next_u32());
        for &(cell, share) in &self.shares {
            left -= share;
            if left < 0.0 {
                return Some(cell);
            }
        }
        // Rounding can leave a crumb.
        self.shares.last().map(|&(cell, _)| cell)
    }
}

/// A number from 0 to below 1, by as many bits as such a number has room for.
fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 / (1 << 24) as f32
}
