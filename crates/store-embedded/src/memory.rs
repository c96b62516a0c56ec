//! What a node holds in memory, and its clock.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use referee::{Now, Stamp};
use sealing::MatchId;
use store::{Clock, FeedHints, FeedLimits, FeedPosition, NodeBook, Stored};
use tokio::sync::watch;

use crate::access::AccessList;
use crate::board::Boards;
use crate::disk::Write;
use crate::feed::Order;
use crate::ledger::{Expiring, Kept, Ledger};
use crate::players::Players;
use crate::pools::Pools;
use crate::record;
use crate::shard::{Behind, Prepared, Shard};
use crate::turns::Turns;
use crate::values::Values;
use crate::waiting::Watchers;

/// Enough that cores seldom meet at one lock, few enough that asking all of them what is due is cheap.
pub(crate) const SHARDS: u16 = 16;

/// All that is in memory. Each operation is atomic under one lock that is never held across an await.
pub(crate) struct Memory {
    clock: Arc<dyn Clock>,
    shards: Vec<Mutex<Shard>>,
    /// The clocks as they were written last; none at first.
    written: Mutex<Vec<Now>>,
    /// An outage was counted and its sum is not yet written.
    outage: AtomicBool,
    pub(crate) ledger: Mutex<Ledger>,
    /// Used where nothing is behind the memory.
    pub(crate) players: Mutex<Players>,
    /// Used where nothing is behind the memory.
    pub(crate) values: Mutex<Values>,
    pub(crate) pools: Pools,
    pub(crate) boards: Mutex<Boards>,
    pub(crate) access: AccessList,
    pub(crate) turns: Turns,
    pub(crate) watchers: Mutex<Watchers>,
    nodes: Mutex<NodeBook>,
    /// Where each shard's feed ends.
    feed_ends: watch::Sender<Vec<Option<FeedPosition>>>,
}

impl Memory {
    /// Nothing yet. `clocks` are those of the shards, at least one.
    pub(crate) fn new(clock: Arc<dyn Clock>, clocks: &[Now]) -> Self {
        let numbered = (0..).zip(clocks);
        let shards = numbered.map(|(number, now)| Mutex::new(Shard::new(number, now.stamp, now.outage_ms)));
        Self {
            clock,
            shards: shards.collect(),
            written: Mutex::default(),
            outage: AtomicBool::new(false),
            ledger: Mutex::new(Ledger::new()),
            players: Mutex::new(Players::default()),
            values: Mutex::default(),
            pools: Pools::default(),
            boards: Mutex::default(),
            access: AccessList::default(),
            turns: Turns::default(),
            watchers: Mutex::default(),
            nodes: Mutex::default(),
            feed_ends: watch::Sender::new(vec![None; clocks.len()]),
        }
    }

    /// Sets how long a finished match can be read, ms. Before any match is there.
    pub(crate) fn retain_for(&self, retention_ms: u64) {
        self.shards.iter().for_each(|shard| lock(shard).retention_ms = retention_ms);
    }

    /// The shard of a match.
    pub(crate) fn place(&self, id: MatchId) -> store::Shard {
        store::Shard::of(id, self.shard_count())
    }

    /// A shard, without telling it that somebody is there.
    fn quiet(&self, shard: store::Shard) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(shard.0) % self.shards.len()])
    }

    /// Takes in a match that an earlier process left.
    pub(crate) fn restore(&self, stored: Stored) {
        self.quiet(self.place(stored.head.id)).restore(stored);
    }

    /// Lets everyone see a change of a match of `shard` that is durable.
    pub(crate) fn apply<B: Behind>(&self, shard: store::Shard, prepared: Prepared) {
        let end = self.quiet(shard).apply::<B>(prepared);
        self.feed_goes_on(shard, end);
    }

    /// Lets everyone see an entry of the ledger that is durable, and tells whom it concerns.
    pub(crate) fn enter<K, V>(
        &self,
        key: K,
        kept: Kept<V>,
        entries: fn(&mut Ledger) -> &mut Expiring<K, V>,
        note: fn(&mut Ledger, &V) -> Vec<String>,
    ) -> V
    where
        K: Clone + Ord + Hash,
        V: Clone,
    {
        let value = kept.value.clone();
        let concerned = {
            let mut ledger = lock(&self.ledger);
            entries(&mut ledger).apply(key, kept);
            note(&mut ledger, &value)
        };
        self.tell(&concerned);
        value
    }

    /// Tells whoever watches these players.
    pub(crate) fn tell(&self, players: &[String]) {
        let mut watchers = lock(&self.watchers);
        players.iter().for_each(|player| watchers.tell(player));
    }

    /// Forgets a change that could not be written, and its place in the feed.
    pub(crate) fn give_up(&self, shard: store::Shard, id: MatchId, told: Option<Order>) {
        let end = self.quiet(shard).give_up(id, told);
        self.feed_goes_on(shard, end);
    }

    /// Tells whoever watches the feed. Two of one shard may come in any order.
    fn feed_goes_on(&self, shard: store::Shard, end: Option<FeedPosition>) {
        let Some(end) = end else { return };
        let shard = usize::from(shard.0);
        self.feed_ends.send_if_modified(|ends| {
            let known =
                ends.get_mut(shard).filter(|known| known.is_none_or(|known| known.order() < end.order()));
            known.map(|known| *known = Some(end)).is_some()
        });
    }

    /// Hints for all feeds.
    pub(crate) fn watch_feed(&self) -> FeedHints {
        FeedHints::new(self.feed_ends.subscribe())
    }

    /// Sets how much of the feed is kept; none switches it off.
    pub(crate) fn limit_feed(&self, limits: Option<FeedLimits>) {
        self.shards.iter().for_each(|shard| lock(shard).feed.limit(limits));
    }

    /// How much of the feed is kept, if there is one.
    pub(crate) fn feed_limits(&self) -> Option<FeedLimits> {
        self.shards.first().and_then(|shard| lock(shard).feed.limits())
    }

    /// Where a shard's feed ends.
    pub(crate) fn feed_end(&self, shard: u16) -> Option<FeedPosition> {
        self.shards.get(usize::from(shard)).and_then(|shard| lock(shard).feed.end())
    }

    /// Takes in what an earlier process left of a shard's feed.
    pub(crate) fn restore_feed(&self, shard: u16, end: Option<FeedPosition>, trimmed: Option<Order>) {
        let Some(kept) = self.shards.get(usize::from(shard)) else { return };
        lock(kept).feed.restore(end, trimmed);
        self.feed_ends.send_modify(|ends| ends[usize::from(shard)] = end);
    }

    /// Takes a match out of memory that is no longer stored.
    pub(crate) fn forget(&self, id: MatchId) {
        self.quiet(self.place(id)).forget(id);
    }

    pub(crate) fn shard_count(&self) -> u16 {
        u16::try_from(self.shards.len()).unwrap_or(u16::MAX)
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp::from_ms(self.clock.now_ms())
    }

    /// One operation on what is known of nodes.
    pub(crate) fn nodes<T>(&self, operation: impl FnOnce(&mut NodeBook, Stamp) -> T) -> T {
        operation(&mut lock(&self.nodes), self.stamp())
    }

    /// How many matches wait for something, in all shards. It tells no shard that somebody is there.
    pub(crate) fn waiting_matches(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).waiting() as u64).sum()
    }

    /// One operation on a shard. The clock is read under the lock, so that stamps follow the order of
    /// the operations.
    pub(crate) fn shard<T>(&self, shard: store::Shard, operation: impl FnOnce(&mut Shard, Now) -> T) -> T {
        let index = usize::from(shard.0) % self.shards.len();
        let mut shard = lock(&self.shards[index]);
        let before_ms = shard.clock().outage_ms;
        let now = shard.now(self.stamp());
        if now.outage_ms != before_ms {
            self.outage.store(true, Ordering::Release);
        }
        operation(&mut shard, now)
    }

    pub(crate) fn shard_of<T>(&self, id: MatchId, operation: impl FnOnce(&mut Shard, Now) -> T) -> T {
        self.shard(self.place(id), operation)
    }
}

/// The shards' clocks, as they are written.
impl Memory {
    /// What stores those that have changed since the last call.
    pub(crate) fn clock_writes(&self) -> Vec<Write> {
        let clocks: Vec<Now> = self.shards.iter().map(|shard| lock(shard).clock()).collect();
        let mut written = lock(&self.written);
        let unchanged = |shard: usize| written.get(shard) == Some(&clocks[shard]);
        let changed = (0..clocks.len()).filter(|shard| !unchanged(*shard));
        let writes = changed.map(|shard| record::put_clock(shard, clocks[shard])).collect();
        *written = clocks;
        writes
    }

    /// Whether an outage was counted since the last call: no change judged under its sum may be written
    /// before the sum itself.
    pub(crate) fn take_outage(&self) -> bool {
        self.outage.swap(false, Ordering::AcqRel)
    }
}

/// No operation leaves half of its work behind, so a lock whose holder panicked is still good.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
