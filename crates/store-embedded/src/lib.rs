//! The single-node store: everything in one process, nothing else to install.
//!
//! [`EmbeddedStore`] keeps all in a directory; what it has acknowledged survives `kill -9` and a power
//! cut. [`VolatileStore`] is the same code with nothing behind it: for tests, and for a server whose
//! matches may end with it.
//!
//! **How it works.** Live matches are in memory. A change is prepared there under its shard's lock, on
//! what everyone sees, and the match is claimed; then its records wait for the next group, which is
//! written as one batch with one fsync; only then is the change applied to the memory, and
//! so seen by reads, hints, conflicts and the caller. Another change of the same match waits for the
//! claim and then meets the winner's head. A finished match leaves memory and is read from the disk.
//! What is due and who waits for what is in the heads themselves: a start reads the live ones. Tickets and
//! leaderboards are in memory too, and written like a match; what is kept of a player is read from the disk.
//! Where a change of a pool or a player is decided, a lock is taken that goes with it to the writer, and is let
//! go once the change is seen; whoever has that of a pool decides for all who wait for it.
//! If a write fails the process ends: after a failed fsync nobody knows what is on the disk.
//!
//! **What a start finds.** After a clean close the journal must be what it was. After a crash, a last batch
//! that is torn in whatever way is cut off: nobody was told of it. A journal that is damaged before that is
//! refused, and nothing in the directory changes. After a crash, damage in the very last batch cannot be told
//! from a torn write, nor can the loss of a journal's end where that is at a batch's end: it is taken for one.
//! See `journal.rs` for how the two are told apart.
//!
//! Leases of tickets are in memory only: a ticket that waited has a whole new one after a start, since nobody
//! could renew it while no process was there.
//!
//! **The engine** is fjall, a log-structured store in safe Rust. Measured with one writing thread over
//! 10,000 live matches, a head of 300 bytes each commit and a turn of 400 bytes every second one, CPU
//! time a commit in groups of 1, 8, 64 and 256, without fsync: fjall 6.3, 4.5, 4.4, 4.1 µs; SQLite (WAL)
//! 19, 14, 11, 10 µs; redb 43, 17, 11, 10 µs; with fsync at 64 in flight 21,000 commits a second against
//! 12,000 and 10,000. A commit appends to a log here and touches whole pages there. redb alone lets a test
//! cut the power from within, by its storage trait; fjall shows a write only after its fsync, ends for
//! good after a failed one, and is cut off from outside, at the system calls.
#![allow(private_bounds, reason = "what is behind the memory is chosen here, by the two aliases")]

mod access;
mod backup;
mod board;
mod check;
mod claims;
mod directory;
mod disk;
mod durable;
mod error;
mod export;
mod feed;
mod feed_on_disk;
mod journal;
mod key;
mod ledger;
mod lists;
mod memory;
mod open;
mod options;
mod player_records;
mod players;
mod pool;
mod pool_on_disk;
mod pools;
mod reading_copy;
mod record;
mod reservations;
mod shard;
mod single_node;
mod turns;
mod unopenable;
mod values;
mod waiting;
mod writer;

pub use backup::{BackupError, backup, restore, verify_backup};
pub use check::{Checked, check};
pub use disk::Durability;
pub use durable::Durable;
pub use error::OpenError;
pub use export::{Export, ExportedMatch, ExportedRank, export};
pub use options::Options;
pub use single_node::{Backing, Nothing, SingleNode};

/// The store of one node, in a directory.
pub type EmbeddedStore = SingleNode<Durable>;

/// The store of one node, in memory.
pub type VolatileStore = SingleNode<Nothing>;
