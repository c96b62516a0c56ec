//! Numbers drawn from a seed.

use std::f64::consts::TAU;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};

pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Above 0 and up to 1, all equally likely.
    pub(crate) fn unit(&mut self) -> f64 {
        // The 53 bits that a float has.
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// The time to the next of events that come at random, `mean` apart on average.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// By the method of Box and Muller.
    pub(crate) fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        mean + deviation * radius * (TAU * self.unit()).cos()
    }
}
