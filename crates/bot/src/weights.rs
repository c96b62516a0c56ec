//! The weights of the evaluator.
//!
//! From `cargo run --release -p bot --example fit -- 12000 4`: level 4 against itself, 280,487 positions,
//! 0.927 bits of 1 left untold. That level 4 used the weights of an earlier fit of the same features (0.013 0.034
//! 0.13 0.32 0.35 0.50 0.32 0.36 0.058 0.046 0.026); to fit again is to start from these, and gives others nearby.

use crate::evaluator::FEATURES;

/// What each of [`features`](crate::evaluator::features) adds to the logarithm of the odds of winning.
pub(crate) const WEIGHTS: [f32; FEATURES] =
    [0.0032, 0.0373, 0.1362, 0.1483, 0.4484, 0.6206, 0.4511, 0.3756, -0.0459, 0.0138, 0.0093];
