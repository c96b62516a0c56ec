//! What the Shell: the service over real sockets.
//!
//! The tests in `tests/service/` go through the public API alone; this library starts what they talk to.
//!
//! - [`Cluster`]: one or more nodes over one store, with a clock that stands still until a test moves it. With a
//!   store in a directory ([`Keeping`]) it can be stopped and started again.
//! - [`Caller`]: who calls, with what credential, through which node.
//! - [`Duel`]: a match of two callers; [`Watching`]: a stream of it; [`PlayerWatching`]: a player's stream.
//! - [`Faults`]: what goes wrong between a node and the store, at which call.
//! - [`Cut`]: a connection that withholds answers and breaks; [`Subscriptions`]: who listens at the store.
//! - [`Exporting`]: telemetry of a test's own nodes; [`Collector`]: where it goes.
//! - [`Tap`]: the bytes on a caller's socket; [`Log`]: everything that the process traces.
//!
//! No test sleeps to wait for a result: it moves the clock, and then waits for the effect to be seen, with
//! [`PATIENCE`] as the bound after which the effect counts as missing.

mod caller;
mod cluster;
mod collector;
mod cut;
mod duel;
mod exporting;
mod faults;
mod keeping;
mod log;
mod player_watching;
mod replicated;
mod subscriptions;
mod tap;
mod test_server;
mod watching;

pub use caller::{Caller, Credential, Line, connect, reason};
pub use cluster::{API_KEY, Cluster, START_MS, Setup};
pub use collector::{Collector, Manner};
pub use cut::Cut;
pub use duel::{Duel, cell, salt, seconds, stamp};
pub use exporting::Exporting;
pub use faults::{Fault, Faults, FaultyStore, Gate, Operation};
pub use keeping::Keeping;
pub use log::Log;
pub use player_watching::PlayerWatching;
pub use replicated::ReplicatedStore;
pub use subscriptions::Subscriptions;
pub use tap::Tap;
pub use test_server::TestServer;
pub use watching::Watching;

use std::future::Future;
use std::time::Duration;

/// How long an effect may take before it counts as missing: far longer than any takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that must happen.
///
/// # Panics
/// If it has not after [`PATIENCE`]; `what` says what is missing.
pub async fn soon<T>(what: &str, effect: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, effect).await {
        Ok(value) => value,
        Err(_) => panic!("still missing after {PATIENCE:?}: {what}"),
    }
}
