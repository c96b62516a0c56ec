//! What the Shell: real Redis and Valkey servers for tests.
//!
//! - [`Single`]: one server.
//! - [`Server`]: one process, to be asked and to meet faults: killed, stopped, started again.
//!
//! Each set of servers has a loopback address and a folder of its own, is ready when its start returns, and is
//! gone when it is dropped, also by a panic. If the test's process is killed, the kernel kills the servers.

#![allow(dead_code, reason = "sets of several servers use the rest")]

mod error;
mod flavor;
mod launch;
mod loopback;
mod options;
mod patience;
mod reply;
mod server;
mod single;

pub use error::Error;
pub use flavor::Flavor;
pub use options::Options;
pub use reply::Reply;
pub use server::{Life, Server};
pub use single::Single;
