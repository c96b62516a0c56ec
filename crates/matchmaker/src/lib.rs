//! The matchmaker: who plays whom, as a pure function of the tickets that wait, the time and a policy; and how
//! strong everybody is ([`Rating`], one for each [`SpeedClass`]).
//!
//! What [`pair`] promises:
//!
//! - Nobody is in two pairs, and nobody meets himself or whom either of both excludes.
//! - Both accept each other: the gap of their ratings is inside both windows, which widen with waiting, and
//!   neither still avoids the other as a recent opponent. Only who has waited past the policy's bound takes
//!   the nearest one whatever the windows say.
//! - No two that could be paired are left waiting, whatever the windows did since the last time.
//! - Who has waited longest chooses first, and the result depends on the tickets alone: not on their order.
//! - Every pair and every ticket that still waits comes with its reason, which prints as a sentence.
//!
//! Invariants of this crate: it knows no clock and no randomness, does no I/O, and no ticket or policy that it
//! lets exist makes it fail. Its cost is near linear in the tickets, whatever is in them: see [`pair`].
//!
//! ```
//! use matchmaker::{Policy, Ticket, TicketContent, TicketId, TimeControlPlace, pair};
//!
//! let ticket = |id: u8, player: &str, created_ms, rating_points| {
//!     Ticket::new(TicketContent {
//!         id: TicketId::from_bytes([id; 16]),
//!         player: player.to_owned(),
//!         created_ms,
//!         time_controls: TimeControlPlace::new(0).into_iter().collect(),
//!         rating_points,
//!         deviation_points: 50,
//!         exclusions: Vec::new(),
//!         recent_opponents: Vec::new(),
//!     })
//! };
//! let tickets = [ticket(1, "ann", 0, 1500)?, ticket(2, "bob", 5_000, 1700)?];
//! let policy = Policy::default();
//!
//! let early = pair(&tickets, 10_000, &policy)?;
//! assert_eq!(
//!     early.waiting[0].to_string(),
//!     "waits: the nearest one is 200 points away, to be paired at 12500 ms at the latest",
//! );
//! let later = pair(&tickets, 12_500, &policy)?;
//! assert_eq!(
//!     later.pairs[0].to_string(),
//!     "paired at time control 0: 200 points apart, inside both windows of 250 and 200 points",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod explanation;
mod group;
mod lane;
mod least;
mod leftover;
mod pairing;
mod policy;
mod queue;
mod rating;
mod speed_class;
mod ticket;
mod time_controls;

pub use explanation::{Pair, Pairing, Terms, Waiting, Why};
pub use pairing::pair;
pub use policy::{Policy, PolicyError, PolicyNumbers};
pub use queue::{TICKETS_MAX, TooManyTickets};
pub use rating::{MatchScore, Rating};
pub use speed_class::SpeedClass;
pub use ticket::{Ticket, TicketContent, TicketError, TicketId};
pub use time_controls::{TimeControlPlace, TimeControls};
