//! The store, in terms of the domain: what a back end must promise, whatever it is made of.
//!
//! A match changes by one [`MatchStore::commit`] at a time, a compare-and-set on its [`Version`]; the
//! loser of a race gets the winner's head and tries again. Everything else follows from that one step:
//! exactly-once resolution, many nodes, retries, the clock against the last move. There is no lock and
//! no leader. Invariants of this crate:
//!
//! - It knows no back end and nothing of the API.
//! - The store's clock alone decides: no caller's clock is ever compared with a deadline.
//! - Nothing derived from a commit is seen before the commit is as durable as the store promises.

mod access;
mod clock;
pub mod codec;
mod feed;
mod hint;
mod invite;
pub mod keys;
mod match_store;
mod node_book;
mod nodes;
mod player;
mod player_record;
mod request;
mod reservation;
mod ticket;
mod version;

pub use access::{Access, AccessCursor, AccessPage, AccessStore, Ban};
pub use clock::{Clock, OUTAGE_MIN_MS, ScriptedClock, SystemClock};
pub use feed::{
    FeedEntry, FeedEvent, FeedFinish, FeedHints, FeedLimits, FeedPage, FeedPosition, FeedResume, FeedStore,
};
pub use hint::{Hint, Hints, HintsLost, TraceContext};
pub use invite::{Closing, Invite, InviteEnd, InviteId, InviteStore};
pub use match_store::{Commit, CommitOutcome, Due, Loaded, MatchStore, Passage, Stored};
pub use node_book::NodeBook;
pub use nodes::{Glance, Meeting, NodeId, NodeReport, NodeStore, PoolReport, SeenNode};
pub use player::{Indexed, PageKey, PlayerHints, PlayerStore};
pub use player_record::{PlayerRecord, Ranked, RecordStore, Speed, Standing};
pub use request::{RequestKey, RequestRecord, RequestStore};
pub use reservation::{Entry, Held, Reservation, ReservationStore};
pub use ticket::{
    BotFallback, Claim, Met, PoolCursor, PoolName, PoolPage, SeenTicket, Ticket, TicketName, TicketNameError,
    TicketState, TicketStore, Wish,
};
pub use version::{Shard, Version};

use thiserror::Error;

/// Why a store could not answer. None of them changed anything that the caller was told of.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum StoreError {
    /// The store cannot be reached or cannot make a write durable. The call may be repeated.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The store holds as much as it may.
    #[error("the store is full: at most {limit} {what}")]
    Full {
        /// The bound.
        limit: usize,
        /// What there are too many of.
        what: &'static str,
    },
    /// There is no such object, or its retention has passed.
    #[error("not found")]
    NotFound,
}

/// Everything a node needs of its store.
pub trait Store:
    MatchStore
    + InviteStore
    + PlayerStore
    + RequestStore
    + NodeStore
    + FeedStore
    + TicketStore
    + ReservationStore
    + RecordStore
    + AccessStore
{
}

impl<S> Store for S where
    S: MatchStore
        + InviteStore
        + PlayerStore
        + RequestStore
        + NodeStore
        + FeedStore
        + TicketStore
        + ReservationStore
        + RecordStore
        + AccessStore
{
}
