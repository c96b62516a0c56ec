//! What the Shell: the real service over a model store and a model network, on one thread, from a seed.
//!
//! A run is drawn from its seed ([`Plan`]): nodes with clocks that are wrong, matches with players of bad
//! habits, back ends that read the feed, and what goes wrong between them. The referee, the service's calls,
//! streams and clockwork are the product's own; the store, the network, time and the order of all steps are
//! models. [`run`] plays it; an independent judge keeps all that was asked, answered and stored, and names the
//! first invariant that is broken. The same plan is the same run, to the byte of its trace. [`minimize`] leaves
//! out whatever a failure does not need.
//!
//! - [`ModelStore`]: a store in memory like the one in Redis; it passes the conformance suite.
//! - [`compare`]: the same random steps on two stores, which must answer alike.
//! - [`Flaw`]: what a store can have wrong so that the judge must see it.
//!
//! What is not drawn from the seed: what the product itself draws (ids, versions, nonces). Nothing here depends
//! on those values, and the trace does not show them.

mod back_end;
mod caller;
mod compare;
mod feed_account;
mod flaw;
mod ledger;
mod link;
mod model;
mod model_access;
mod model_feed;
mod model_pools;
mod model_store;
mod network;
mod node_clock;
mod oracle;
mod plan;
mod player;
mod primary;
mod reader;
mod scheduler;
mod search;
mod weather;
mod world;

pub use compare::{Difference, compare};
pub use flaw::{Flaw, UnknownFlaw};
pub use model_store::ModelStore;
pub use oracle::Violation;
pub use plan::Plan;
pub use search::{Failure, Totals, minimize, search};
pub use world::{Outcome, run};

/// When every run begins, ms since 1970: the beginning of 2026.
pub(crate) const START_MS: u64 = 1_767_225_600_000;
