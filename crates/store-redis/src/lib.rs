//! The store of many nodes, in Redis or Valkey: any node serves any match.
//!
//! **How it works.** A match lies in one of a fixed number of shards; all keys of a shard carry one hash
//! tag, so that they are in one slot of a cluster. One step is one script on one slot in one round trip:
//! it reads the server's clock once, compares the version, judges the stamp, and writes head, turn, due
//! time and hint together. Whoever comes second is answered what the first one stored. Hints carry the
//! new head. There is no lock and no leader: nodes come and go. All of a pool of tickets is in one slot in the same
//! way, and so is all of a player and all of a leaderboard.
//!
//! **What can be lost.** With [`Durability::Primary`] an acknowledged write is lost if the primary dies
//! before a replica has it. With [`Durability::Replicas`] an answer leaves only when so many replicas have
//! all that it rests on; hints go out after that.
//!
//! **What is not there**: no lock, no leader, no clock of a node in any decision, no blocking command on a
//! connection that others share, no queue without a bound.
//!
//! `scripts/README.md` introduces the scripts; the key layout is in `names`.

mod access;
mod batch;
mod bus;
mod call;
mod caller;
mod dues;
mod envelope;
mod error;
mod fault;
mod feed;
mod hub;
mod import;
mod invites;
mod keys;
mod line;
mod lines;
mod location;
mod matches;
mod names;
mod nodes;
mod players;
mod recent;
mod records;
mod redis_store;
mod reply;
mod reservations;
mod routes;
mod scripts;
mod server;
mod start;
mod stored_ticket;
mod tickets;
mod turnstile;
mod watching;

pub use error::OpenError;
pub use import::Import;
pub use location::Location;
pub use redis_store::{Durability, Options, RedisStore, Tls};
// For its crypto provider, which the client library leaves to choose.
use rustls as _;
