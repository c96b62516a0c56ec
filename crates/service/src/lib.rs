//! The gRPC service of What the Shell: the thin shell around the pure core.
//!
//! A call loads a match with its version, lets the referee judge a command, and commits the result if
//! the version is still the same (`drive`). Invariants of this crate:
//!
//! - Only `convert` knows both the wire and the domain; only `convert::view` decides what a viewer may
//!   see, and only `access` who he is.
//! - It knows the store's traits, never a back end, and holds no state that another node would miss.
//! - What an answer rests on is committed before the answer leaves.
//! - Streams are pulled: nothing is queued for a reader that does not read.

mod access;
mod admission;
mod bans;
mod bot_match;
mod bots;
mod clockwork;
mod commands;
mod convert;
mod drain;
mod drive;
mod feed_cursor;
mod feed_service;
mod follow_up;
mod front;
mod guard;
mod health;
mod history;
mod holding;
mod idempotency;
mod in_process;
mod invites;
mod leaderboard;
mod listener;
mod lost_history;
mod making;
mod match_list;
mod match_service;
mod matchmaking_service;
mod node;
mod page;
mod player_deletion;
mod player_export;
mod player_service;
mod player_watch;
mod pool_keeper;
mod pools;
mod readiness;
mod server;
mod standing;
mod ticket_watch;
mod tickets;
mod vigil;
mod watch;
mod workers;

pub use front::REQUEST_BYTES_MAX;
pub use in_process::InProcess;
pub use node::NodeConfig;
pub use pools::{Pool, Pools, PoolsError};
pub use server::{ServeError, Server};
