//! What a node remembers of what it has seen: heads, and the time of every shard.
//!
//! All of it was durable when it was seen. It saves reads, and it is never more than a guess: a commit
//! that rests on it is checked by the store, and a refusal rests on a fresh read.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use quick_cache::UnitWeighter;
use quick_cache::sync::{Cache, DefaultLifecycle, EntryAction, EntryResult};
use referee::{Now, Stamp};
use sealing::MatchId;
use store::codec::Keyring;
use store::{Loaded, Shard, Stored, Version};

use crate::envelope;

/// Heads remembered at most; one takes about a kilobyte.
const HEADS_MAX: usize = 32_768;

/// How long the time of a shard can be guessed from one reading, s: clocks that differ by 100 ppm differ
/// by 3 ms then.
const GUESS_MAX_S: u64 = 30;

#[derive(Clone)]
enum Seen {
    /// As a hint brought it; most are never looked at.
    Bytes(Version, std::sync::Arc<[u8]>),
    Read(Stored),
}

impl Seen {
    fn version(&self) -> Version {
        match self {
            Self::Bytes(version, _) => *version,
            Self::Read(stored) => stored.version,
        }
    }
}

/// A shard's time as it was read, and when it came here.
#[derive(Clone, Copy)]
struct Reading {
    now: Now,
    at: Instant,
}

/// What a node has seen.
pub(crate) struct Recent {
    heads: Cache<MatchId, Seen, UnitWeighter, RandomState>,
    clocks: Vec<Mutex<Option<Reading>>>,
    keyring: Keyring,
}

impl Recent {
    pub(crate) fn new(shards: u16, keyring: Keyring) -> Self {
        let (hasher, lifecycle) = (RandomState::default(), DefaultLifecycle::default());
        let heads = Cache::with(HEADS_MAX, HEADS_MAX as u64, UnitWeighter, hasher, lifecycle);
        Self { heads, clocks: (0..shards).map(|_| Mutex::new(None)).collect(), keyring }
    }

    /// Takes note of a shard's time, just read.
    pub(crate) fn read_time(&self, shard: Shard, now: Now) {
        let Some(clock) = self.clocks.get(usize::from(shard.0)) else { return };
        let mut clock = clock.lock().unwrap_or_else(PoisonError::into_inner);
        // Answers can overtake each other; the later reading is the better one.
        if clock.is_none_or(|reading| reading.now.stamp <= now.stamp) {
            *clock = Some(Reading { now, at: Instant::now() });
        }
    }

    /// A guess of a shard's time: never ahead of it, but for what clocks differ.
    pub(crate) fn time(&self, shard: Shard) -> Option<Now> {
        let clock = self.clocks.get(usize::from(shard.0))?;
        let reading = (*clock.lock().unwrap_or_else(PoisonError::into_inner))?;
        let passed = reading.at.elapsed();
        let passed_ms = u64::try_from(passed.as_millis()).ok()?;
        (passed <= Duration::from_secs(GUESS_MAX_S))
            .then_some(Now { stamp: reading.now.stamp.plus_ms(passed_ms), ..reading.now })
    }

    /// What a shard's time was when it was read last.
    pub(crate) fn last_read(&self, shard: Shard) -> Option<Stamp> {
        let clock = self.clocks.get(usize::from(shard.0))?;
        Some((*clock.lock().unwrap_or_else(PoisonError::into_inner))?.now.stamp)
    }

    /// How long it is until a moment by a shard's clock, as far as anybody knows.
    pub(crate) fn until(&self, shard: Shard, due: Stamp) -> Option<Duration> {
        Some(Duration::from_millis(due.ms_since(self.time(shard)?.stamp)))
    }

    /// Takes note of a head that was just read: it is what is stored, whatever was seen before.
    pub(crate) fn read_head(&self, stored: &Stored) {
        self.heads.insert(stored.head.id, Seen::Read(stored.clone()));
    }

    /// Takes note of a head that was just committed; others may have gone on by now.
    pub(crate) fn committed(&self, stored: &Stored) {
        self.put_newer(stored.head.id, || Seen::Read(stored.clone()), stored.version);
    }

    /// Takes note of a head that a hint brought.
    pub(crate) fn hinted(&self, id: MatchId, version: Version, bytes: &[u8]) {
        self.put_newer(id, || Seen::Bytes(version, bytes.into()), version);
    }

    fn put_newer(&self, id: MatchId, seen: impl FnOnce() -> Seen, version: Version) {
        let mut seen = Some(seen);
        // Who meets another at work on the same head leaves it to him: it is a guess.
        let found = self.heads.entry(&id, Some(Duration::ZERO), |_, old| {
            if version.counter > old.version().counter
                && let Some(seen) = seen.take()
            {
                *old = seen();
            }
            EntryAction::Retain(())
        });
        if let (EntryResult::Vacant(place), Some(seen)) = (found, seen) {
            let _ = place.insert(seen());
        }
    }

    /// Forgets a head.
    pub(crate) fn forget(&self, id: MatchId) {
        self.heads.remove(&id);
    }

    /// The newest head of a match that was seen, and a guess of the time.
    pub(crate) fn head(&self, id: MatchId, shard: Shard) -> Option<Loaded> {
        let now = self.time(shard)?;
        let stored = match self.heads.get(&id)? {
            Seen::Read(stored) => stored,
            Seen::Bytes(_, bytes) => {
                let stored = envelope::read(id, &bytes, &self.keyring).ok()?;
                self.committed(&stored);
                stored
            }
        };
        Some(Loaded { now: Now { stamp: now.stamp.max(stored.stamp), ..now }, stored })
    }
}
