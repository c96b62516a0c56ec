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
//!
//! # The rules
//!
//! A **turtle** is a black or a white piece; it never moves and leaves only by capture. An **egg**
//! is neutral, has an age, and blocks its cell. In every turn both seats choose an empty cell, and
//! this happens, in this order:
//!
//! 1. **Place.** Different cells: both turtles land. The same cell, a **collision**: an egg is laid
//!    there, the youngest, no turtle lands, and steps 2 and 3 do not happen.
//! 2. **Capture.** A **pincer** runs in one of 8 directions from a turtle that has just arrived:
//!    exactly two adjacent pieces that are not its owner's turtles (enemy turtles and eggs, any
//!    mix), then a turtle of its owner, the **anchor**. All pincers of the two placed turtles are
//!    found after both have landed and before anything is removed; each is a capture; then all
//!    their pieces leave together. So both sides' captures happen even if they capture each other's
//!    new turtle or anchor, a turtle can be captured in the turn in which it lands, and a piece held
//!    by both sides is removed once and counts for both. Landing between two enemy turtles captures
//!    nothing.
//! 3. **Hatch.** Every capture is a claim. While there is an egg and a claim: if both sides have
//!    claims, the oldest egg vanishes and each side loses one; otherwise the oldest egg becomes a
//!    turtle of the side with claims, which uses one up, and the pincers of the new turtle are found
//!    on the board as it is now, removed, and added to its side's claims. One egg at a time: an egg
//!    that such a chain captures is gone before it can hatch, and a turtle hatched earlier in the
//!    turn can be an anchor. Claims that find no egg are lost.
//! 4. **Outcome**, from the position alone. A **row** is five or more turtles of one colour in a
//!    straight, unbroken line; the **winning turtles** of a colour are those in at least one row,
//!    each counted once. More than the other: a win. Otherwise a full board (81 pieces, eggs
//!    included): a draw. Equal and above zero: **sudden death**, play goes on and every turn counts
//!    anew. Both zero: play goes on, also after sudden death. A row that is made and broken within
//!    a turn does not count.
//!
//! A choice is legal or not by the public board alone, never by what the opponent chose. On the
//! last empty cell both must collide. Positions can repeat for ever: to end such a game is up to
//! whoever runs it.
//!
//! These are the rules of [`RulesVersion::Wts2026_1`]. A match is played by the version that it began
//! with: [`RulesVersion::resolve`].
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
mod version;

pub use bits::Cells;
pub use canonical::CanonicalError;
pub use cell::Cell;
pub use notation::NotationError;
pub use outcome::{Outcome, Status};
pub use position::{Piece, Position};
pub use seat::{PerSeat, Seat};
pub use setup::{Setup, SetupError};
pub use turn::{Capture, Event, IllegalTurn, Turn};
pub use version::RulesVersion;
