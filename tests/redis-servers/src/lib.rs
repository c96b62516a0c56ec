//! What the Shell: real Redis and Valkey servers for tests, and what can go wrong with them.
//!
//! - [`Single`]: one server.
//! - [`Sentinel`]: a primary with two replicas, watched by three sentinels.
//! - [`ClusterServers`]: primaries with replicas, among which slots move.
//! - [`Server`]: one process of these, to be asked and to meet faults: killed, stopped, started again.
//! - [`Servers`]: what a test does to all of a set.
//! - [`FaultProxy`]: a network between a client and a server that delays, breaks or swallows.
//!
//! Each set of servers has a loopback address and a folder of its own, is ready when its start returns, and is
//! gone when it is dropped, also by a panic. If the test's process ends without dropping it, because it was killed
//! or kept it in a static, the kernel kills the servers, and the next one to start servers removes the folder.

mod cluster;
mod error;
mod flavor;
mod ground;
mod launch;
mod loopback;
mod members;
mod migration;
mod options;
mod patience;
mod proxy;
mod reply;
mod scratch;
mod sentinel;
mod server;
mod servers;
mod single;

pub use cluster::{ClusterServers, Takeover};
pub use error::Error;
pub use flavor::Flavor;
pub use options::Options;
pub use proxy::{Direction, FaultProxy, Mode};
pub use reply::Reply;
pub use sentinel::Sentinel;
pub use server::{Life, Server};
pub use servers::Servers;
pub use single::Single;
