//! Opponents for What the Shell: seven levels, from random to hard to beat.
//!
//! Both seats choose at once, so whoever can be foreseen is beaten: a bot that plays a fixed cell loses to
//! whoever replays one game that was won against it. So a level is a *mixed strategy*: [`analyse`] says with which
//! probability it chooses which cell, and [`choose`] draws one of them by a seed. Who knows the strategy, even
//! exactly, still does not know the cell; how much he gains by it is measured in the [`arena`].
//!
//! Everything is a pure function of the public position, the seat and the seed: this crate knows no clock, no
//! randomness of its own, and nothing of what the opponent has sealed. The work for a move has a bound,
//! [`Level::turns_max`]. Seeds must come from a secure source where the draw has to stay secret.
//!
//! ```
//! use bot::{Level, choose};
//! use rules::{Position, Seat};
//! let position = Position::initial();
//! let cell = choose(&position, Seat::Black, Level::HARDEST, 7)?;
//! assert!(position.is_empty(cell));
//! assert_eq!(choose(&position, Seat::Black, Level::HARDEST, 7), Ok(cell));
//! # Ok::<(), bot::GameOver>(())
//! ```
//!
//! # How a level decides
//!
//! | level | design |
//! | --- | --- |
//! | 0 | any legal cell, each as likely |
//! | 1 to 3 | looks at one turn, and errs: the worse a cell, the less likely (a quantal response) |
//! | 4 | the same look, without error: the equilibrium of a matrix game over the 16 best cells a side |
//! | 5 | two turns |
//! | 6 | three turns |
//!
//! Where the look ends, the [`evaluator`] judges. Of the turns in between only those are played out that the
//! equilibrium rests on (the double oracle method); a look by three turns begins where one by two has ended. Bots
//! look ahead by the newest rules; what they choose is legal by any.
//!
//! How the levels fare, and what each gives away to whoever knows it, is in `docs/bots.md`, as `wts bots` has
//! measured it.

pub mod arena;
mod candidates;
pub mod evaluator;
mod level;
mod lines;
mod matrix;
mod search;
mod strategy;
mod weights;

pub use level::Level;
pub use strategy::MixedStrategy;

use rules::{Cell, Position, Seat};
use search::Search;

/// There is no cell to choose: the game is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the game is over")]
pub struct GameOver;

/// What a level makes of a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// Which cells it chooses, and how often.
    pub strategy: MixedStrategy,
    /// Turns that were played out to find it: the work done, at most [`Level::turns_max`].
    pub turns: u32,
}

/// How a level plays this position from this seat.
///
/// # Errors
///
/// [`GameOver`].
pub fn analyse(position: &Position, seat: Seat, level: Level) -> Result<Analysis, GameOver> {
    if position.outcome().status.is_over() {
        return Err(GameOver);
    }
    let mut search = Search::new(seat);
    let strategy = level.design().strategy(position, &mut search);
    Ok(Analysis { strategy, turns: search.turns() })
}

/// The cell that a level chooses: a draw by `seed` from its strategy.
///
/// # Errors
///
/// [`GameOver`].
pub fn choose(position: &Position, seat: Seat, level: Level, seed: u64) -> Result<Cell, GameOver> {
    analyse(position, seat, level)?.strategy.draw(seed).ok_or(GameOver)
}
