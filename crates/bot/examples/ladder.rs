//! Prints how the levels fare against each other, and against whoever knows them.
//!
//! `cargo run --release -p bot --example ladder -- [GAMES [LEVEL [SEED]]]`: `GAMES` a pair (100), of every
//! level or of one, from `SEED` (2026).

// A tool with a terminal and a clock.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::env;
use std::error::Error;
use std::time::Instant;

use bot::arena::{self, Foresight, Player, Score};
use bot::{Level, choose};
use rules::{Position, Seat};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let games: u32 = arguments.next().map_or(Ok(100), |games| games.parse())?;
    let only: Option<u8> = arguments.next().map(|level| level.parse()).transpose()?;
    let seed: u64 = arguments.next().map_or(Ok(2026), |seed| seed.parse())?;
    for level in Level::ALL.into_iter().filter(|level| only.is_none_or(|only| only == level.number())) {
        let bot = Player::Bot(level);
        println!("level {level}: {:.2} ms a move", move_ms(level)?);
        // To know that the lowest level is random helps nobody.
        let Some(below) = level.number().checked_sub(1).and_then(Level::from_number) else { continue };
        print("against the level below", arena::contest(&bot, &Player::Bot(below), games, seed));
        for foresight in [Foresight::One, Foresight::Two] {
            let responder = Player::Responder { opponent: level, foresight };
            let score = arena::contest(&responder, &bot, games, seed);
            print(&format!("best response, foresight {foresight:?}"), score);
        }
        print("replay of a won game", arena::replays(level, games, seed));
    }
    Ok(())
}

fn print(what: &str, score: Score) {
    let interval = score.interval();
    println!("    {:.3} [{:.3}, {:.3}]  {what}", score.mean(), interval.low, interval.high);
}

/// Time of a move, averaged over a game of the level against itself.
fn move_ms(level: Level) -> Result<f64, Box<dyn Error>> {
    let mut position = Position::initial();
    let mut moves = 0;
    let start = Instant::now();
    while !position.outcome().status.is_over() && moves < 2 * arena::TURNS_MAX as u64 {
        let black = choose(&position, Seat::Black, level, moves)?;
        let white = choose(&position, Seat::White, level, moves + 1)?;
        position.advance(black, white)?;
        moves += 2;
    }
    Ok(start.elapsed().as_secs_f64() * 1e3 / moves as f64)
}
