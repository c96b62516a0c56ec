//! Fits the evaluator's weights to games that bots play against each other.
//!
//! `cargo run --release -p bot --example fit -- [GAMES [LEVEL]]` (12000, 4) prints the weights for
//! `src/weights.rs`. A level plays each game against itself; every position of it that goes on is a sample, and
//! the game's result what it should have foretold. The fit is a logistic regression with a small penalty on
//! large weights.

// A tool with a terminal.
#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;

use bot::Level;
use bot::arena::{self, Player, Record};
use bot::evaluator::{FEATURES, features};
use rules::{PerSeat, Position, Seat};

/// Where all games start from.
const SEED: u64 = 1;

/// Turns at the start of a game that are no samples: what follows says little about them.
const OPENING_TURNS: usize = 2;

/// Steps down the slope, and their length at the start; enough for four digits.
const STEPS: u32 = 600;
const STEP: f64 = 0.05;

/// What the square of a weight costs next to a sample's loss.
const PENALTY: f64 = 1e-5;

/// How much of the slope's first and second moment is kept a step, as Adam (Kingma and Ba 2015) has them.
const KEPT: [f64; 2] = [0.9, 0.999];

/// A position's features and the result of its game, both black's: 1 won, 0.5 drawn, 0 lost.
struct Sample {
    features: [f32; FEATURES],
    result: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let games: u64 = arguments.next().map_or(Ok(12_000), |games| games.parse())?;
    let level = arguments.next().map_or(Ok(4), |level| level.parse())?;
    let bot = Player::Bot(Level::from_number(level).ok_or("no such level")?);
    let mut samples = Vec::new();
    for number in 0..games {
        let record = arena::game(PerSeat { black: &bot, white: &bot }, SEED + number);
        add_samples(&record, &mut samples)?;
    }
    let (weights, loss) = fit(&samples);
    println!("{} samples of {games} games, loss {loss:.4} bits a sample", samples.len());
    println!("{weights:.4?}");
    Ok(())
}

fn add_samples(record: &Record, samples: &mut Vec<Sample>) -> Result<(), Box<dyn Error>> {
    let result = match record.status.winner() {
        Some(Seat::Black) => 1.0,
        Some(Seat::White) => 0.0,
        None => 0.5,
    };
    let mut position = Position::initial();
    for (number, turn) in record.turns.iter().enumerate() {
        if number >= OPENING_TURNS {
            samples.push(Sample { features: features(&position, Seat::Black), result });
        }
        position.advance(turn.black, turn.white)?;
    }
    Ok(())
}

/// The weights that foretell the results best, and what they leave untold.
fn fit(samples: &[Sample]) -> ([f64; FEATURES], f64) {
    let mut weights = [0.0; FEATURES];
    let mut moments = [[0.0; 2]; FEATURES];
    let mut loss = 0.0;
    for step in 0..STEPS {
        let (slope, total) = slope(samples, &weights);
        loss = total;
        let length = STEP * (1.0 - f64::from(step) / f64::from(STEPS));
        let unbias = KEPT.map(|kept| 1.0 - kept.powi(step as i32 + 1));
        for ((weight, [first, second]), slope) in weights.iter_mut().zip(&mut moments).zip(slope) {
            *first = KEPT[0] * *first + (1.0 - KEPT[0]) * slope;
            *second = KEPT[1] * *second + (1.0 - KEPT[1]) * slope * slope;
            *weight -= length * (*first / unbias[0]) / ((*second / unbias[1]).sqrt() + 1e-9);
        }
    }
    (weights, loss)
}

/// The slope of the mean loss at these weights, and the loss in bits.
fn slope(samples: &[Sample], weights: &[f64; FEATURES]) -> ([f64; FEATURES], f64) {
    let mut slope = weights.map(|weight| 2.0 * PENALTY * weight);
    let mut loss = 0.0;
    let share = 1.0 / samples.len().max(1) as f64;
    for sample in samples {
        let sum: f64 =
            sample.features.iter().zip(weights).map(|(&feature, weight)| f64::from(feature) * weight).sum();
        let foretold = 1.0 / (1.0 + (-sum).exp());
        let wrong = foretold - sample.result;
        for (slope, &feature) in slope.iter_mut().zip(&sample.features) {
            *slope += share * wrong * f64::from(feature);
        }
        loss -= share * (sample.result * foretold.log2() + (1.0 - sample.result) * (1.0 - foretold).log2());
    }
    (slope, loss)
}
