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
mod admin;
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
mod first_bytes;
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
mod limits;
mod listener;
mod lost_history;
mod making;
mod match_list;
mod match_service;
mod matchmaking_service;
mod metered;
pub mod metrics;
mod node;
mod page;
mod player_deletion;
mod player_export;
mod player_service;
mod player_watch;
mod pool_keeper;
mod pools;
mod readiness;
mod roster;
mod server;
mod spans;
mod standing;
mod stats;
mod ticket_watch;
mod tickets;
mod tls;
mod transport;
mod vigil;
mod watch;
mod workers;

pub use admin::Operators;
pub use front::REQUEST_BYTES_MAX;
pub use in_process::InProcess;
pub use limits::{FixedLimit, fixed_limits};
pub use node::NodeConfig;
pub use pools::{Pool, Pools, PoolsError};
pub use server::{ServeError, Server};
pub use tls::{BackendKeys, Pems, Tls, TlsError};
