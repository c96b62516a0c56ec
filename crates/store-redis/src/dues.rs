//! What a node remembers of when something is due in each shard, so that a glance need not ask for it.
//!
//! It knows what it has seen, and what it has changed since. What other nodes change meanwhile it learns when it
//! asks again, after [`REMEMBERED_MS`]: then it looks that much later, and nothing else depends on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use referee::Stamp;
use store::Shard;

/// How long what was seen of a shard is good for, ms. As often as signs of life are looked for, so that a glance
/// over all shards asks for each of them; a deadline that another node has just set may be found this late.
const REMEMBERED_MS: u64 = 500;

/// When the next thing is due in each shard, as far as a node knows.
pub(crate) struct Dues {
    shards: Vec<Mutex<Known>>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    /// The earliest; none if nothing waits.
    earliest: Option<Stamp>,
    /// When the store was asked; never, if none.
    asked: Option<Instant>,
    /// Changes made from here.
    changes: u64,
}

/// How far the changes of a shard had come when it was asked.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    at: Instant,
    changes: u64,
}

impl Dues {
    pub(crate) fn new(shards: u16) -> Self {
        Self { shards: (0..shards).map(|_| Mutex::default()).collect() }
    }

    fn known(&self, shard: Shard) -> Option<MutexGuard<'_, Known>> {
        let known = self.shards.get(usize::from(shard.0))?;
        // No operation leaves half of its work behind.
        Some(known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// When the next thing is due in a shard: none if that is to be asked, and within it none if nothing is.
    pub(crate) fn earliest(&self, shard: Shard) -> Option<Option<Stamp>> {
        let known = self.known(shard)?;
        let fresh = known.asked?.elapsed() < Duration::from_millis(REMEMBERED_MS);
        fresh.then_some(known.earliest)
    }

    /// Takes note that this node has put something in a shard's due set.
    pub(crate) fn changed(&self, shard: Shard, due: Option<Stamp>) {
        let (Some(mut known), Some(due)) = (self.known(shard), due) else { return };
        known.earliest = Some(known.earliest.map_or(due, |earliest| earliest.min(due)));
        known.changes = known.changes.wrapping_add(1);
    }

    /// The store is about to be asked.
    pub(crate) fn ask(&self, shard: Shard) -> Asked {
        let changes = self.known(shard).map_or(0, |known| known.changes);
        Asked { at: Instant::now(), changes }
    }

    /// Takes note of what the store said. A change made from here meanwhile may not have been in it.
    pub(crate) fn answered(&self, shard: Shard, asked: Asked, earliest: Option<Stamp>) {
        let Some(mut known) = self.known(shard) else { return };
        let overtaken = known.earliest.filter(|_| known.changes != asked.changes);
        known.earliest = overtaken.into_iter().chain(earliest).min();
        known.asked = Some(asked.at);
    }
}
