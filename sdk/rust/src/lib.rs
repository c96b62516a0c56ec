//! The Rust client of What the Shell.
//!
//! ```no_run
//! use whattheshell::{Client, Update, rules::Cell, v1};
//! use futures::StreamExt as _;
//!
//! # async fn bot() -> Result<(), whattheshell::Error> {
//! let client = Client::connect("http://127.0.0.1:7654").await?;
//! // A server in development mode mints for everyone; elsewhere your back end does.
//! let minted = client.mint_token("players/ann").await?;
//! let ann = client.player(&minted.token)?;
//!
//! // Somebody has invited ann; accepting makes the match, joining takes her seat.
//! let invite = ann.accept_invite("invites/0198c5a0-0000-7000-8000-00000000002a", None).await?;
//! let game = ann.join(&invite.r#match).await?;
//! let mut updates = game.watch();
//! while let Some(update) = updates.next().await {
//!     match update? {
//!         Update::Status(status) if game.is_due(&status) => {
//!             if let Some(cell) = game.position().legal_cells().next() {
//!                 game.seal(status.turn, cell).await?;
//!             }
//!         }
//!         Update::Turn(turn) => println!("turn {}: {:?}", turn.turn, turn.events),
//!         Update::Finished(finish) => println!("{:?}", finish.message.result()),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - [`Client`]: a connection to a server; makes sessions.
//! - [`Player`]: a session that acts as one player. [`Backend`]: one that acts for any.
//! - [`MatchHandle`]: a match as its player has it at hand: seal, reveal, offer draws, resign, watch.
//! - [`MatchStream`]: a match as it happens; every turn verified, nothing twice, nothing missing.
//! - [`PlayerStream`]: all that waits for a player, as it changes.
//! - [`TicketStream`]: a search for an opponent ([`Player::create_ticket`]), until it is matched or over.
//! - [`Transcript`]: a whole match that is verified offline.
//!
//! Messages are the API's own, generated into [`v1`], and names follow the API's. Only what this crate
//! has verified has types of its own. A cell is a [`rules::Cell`]; on the wire it is its number, 1 to 81.
//!
//! What a client never has to think about here: salts are drawn from the operating system and stay in
//! the handle; a call that gets no answer is repeated with the same request id, so that it has one
//! effect; a broken stream is opened again from the last verified turn; an enum value or an update that
//! a newer server sends is kept as its number, or skipped.
//!
//! Nothing of an unresolved move is in any `Debug` or error of this crate.

mod backend;
mod bot_turn;
mod call;
mod client;
mod convert;
mod credential;
mod draw;
mod error;
mod feed;
mod ledger;
mod line;
mod match_handle;
mod match_list;
mod player;
mod player_watch;
mod random;
mod receipt;
mod replay;
mod retry;
mod reveal;
mod server_keys;
mod standing;
mod ticket;
mod ticket_watch;
mod tokens;
mod transcript;
mod watch;

pub use backend::Backend;
pub use client::{Client, ClientBuilder};
pub use error::{Claim, Error, ReceiptMismatch, Violation};
pub use feed::{FeedItem, FeedStream};
pub use match_handle::MatchHandle;
pub use player::Player;
pub use player_watch::PlayerStream;
pub use replay::{Finish, VerifiedTurn};
pub use reveal::SecretOpening;
pub use server_keys::server_keys;
pub use ticket_watch::TicketStream;
pub use transcript::{Transcript, VerifiedMatch};
pub use watch::{MatchStream, Update};

pub use prost_types;
pub use rules;
pub use sealing;
pub use wire::v1;
pub use wire::{ApiError, Collection, NameError};

/// The README's examples, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
