//! The rules of What the Shell: boards, turns and outcomes.
//!
//! Two seats choose a cell of a 9 × 9 board in secret; [`Position::resolve`] plays both choices at
//! once and says what happened. Everything here is a pure function of its arguments: this crate
//! knows no clock, no randomness, no input or output, and needs no standard library.
//!
//! ```
//! use rules::{Cell, Position, Status};
//! let mut position = Position::initial();
//! for (black, white) in [("A1", "A9"), ("B1", "C8"), ("C1", "E7"), ("D1", "G6"), ("E1", "I5")] {
//!     let (black, white): (Cell, Cell) = (black.parse()?, white.parse()?);
//!     position = position.resolve(black, white)?.position;
//! }
//! assert_eq!(position.outcome().status, Status::BlackWins);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]

extern crate alloc;

mod bits;
mod canonical;
mod cell;
mod eggs;
pub mod notation;
mod outcome;
mod pincer;
mod position;
mod row;
mod seat;
mod setup;
mod turn;

pub use bits::Cells;
pub use canonical::CanonicalError;
pub use cell::Cell;
pub use notation::NotationError;
pub use outcome::{Outcome, Status};
pub use position::{Piece, Position};
pub use seat::{PerSeat, Seat};
pub use setup::{Setup, SetupError};
pub use turn::{Capture, Event, IllegalTurn, Turn};
