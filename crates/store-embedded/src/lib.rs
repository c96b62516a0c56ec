//! The single-node store: everything in one process, nothing else to install.
//!
//! [`VolatileStore`] keeps all in memory: for tests, and for a server whose matches may end with it.

mod ledger;
mod players;
mod shard;
mod volatile;

pub use volatile::VolatileStore;
