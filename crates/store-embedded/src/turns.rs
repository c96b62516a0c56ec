//! Whose turn it is to change what is kept of a player.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::RandomState;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Locks that players share: enough that two of those who write at once seldom meet.
const LOCKS: u64 = 256;

/// A turn, until it is dropped: what is decided in it is written before anybody else decides.
pub(crate) type Turn = OwnedMutexGuard<()>;

/// A lock for each player, shared by some.
pub(crate) struct Turns {
    locks: Vec<Arc<Mutex<()>>>,
    hasher: RandomState,
}

impl Default for Turns {
    fn default() -> Self {
        Self { locks: (0..LOCKS).map(|_| Arc::default()).collect(), hasher: RandomState::default() }
    }
}

impl Turns {
    /// Waits for a player's turn. Nobody waits for one while he has another.
    pub(crate) async fn of(&self, player: &str) -> Turn {
        let lock = (self.hasher.hash_one(player) % LOCKS) as usize;
        Arc::clone(&self.locks[lock]).lock_owned().await
    }
}
