//! The referee: a match of What the Shell as a state machine.
//!
//! [`Match::apply`] says what one [`Command`] does to a match at one moment. It is the only way a match
//! changes. Invariants of this crate:
//!
//! - It knows no clock: every moment is a [`Now`] that the caller read from the store's clock.
//! - It performs nothing: what must happen elsewhere comes back as [`Event`]s and [`FollowUp`]s.
//! - Every command first applies the deadlines that have passed, and the earliest one decides. Who is
//!   processed first, and how late, never changes a result.
//! - A refused command changes nothing but what time alone has changed.
//!
//! ```
//! use referee::{Command, Match, NewMatch, Now, Settings};
//! use rules::{PerSeat, Seat};
//! use sealing::{MatchId, Party};
//!
//! let party = |player: &str| Party { player: player.into(), public_key: None };
//! let new = NewMatch {
//!     id: MatchId::from_bytes([7; 16]),
//!     settings: Settings::default(),
//!     parties: PerSeat { black: party("players/ann"), white: party("players/bob") },
//!     rematch_of: None,
//!     origin: None,
//! };
//! let waiting = Match::create(new, Now::at_ms(1_000)).next;
//! let one = waiting.apply(&Command::Join { seat: Seat::Black }, Now::at_ms(2_000)).change.unwrap().next;
//! let both = one.apply(&Command::Join { seat: Seat::White }, Now::at_ms(3_000)).change.unwrap().next;
//! assert_eq!(both.open_turn().unwrap().deadlines.black.as_ms(), 33_000);
//! ```

mod apply;
mod command;
mod draw;
mod ending;
mod game;
mod lost_history;
mod origin;
mod record;
mod resolution;
mod reveal;
mod seal;
mod settings;
mod time;

pub use apply::{Change, Event, FollowUp, Transition};
pub use command::{
    Answer, Command, DrawCommand, Refusal, RequestId, RequestIdError, RevealCommand, SealCommand, SealedMove,
};
pub use draw::has_open_offer;
pub use ending::Finish;
pub use game::{DrawAnswer, Match, NewMatch, OpenTurn, Phase, Revealing, Seal, SealFacts, TurnRequests};
pub use lost_history::HistoryClaim;
pub use origin::{Origin, PinnedRating, TicketRef};
pub use record::TurnRecord;
pub use rules::RulesVersion;
pub use settings::{Bot, Mode, SealMode, SealStatus, Settings, SettingsError, Spectators, TimeControl};
pub use time::{Now, Stamp};
