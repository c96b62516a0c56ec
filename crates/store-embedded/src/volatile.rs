//! The store that forgets: the traits over shards in memory.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use referee::{Change, FollowUp, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Clock, Closing, Commit, CommitOutcome, Due, Hints, Indexed, Invite, InviteId, InviteStore, Loaded,
    MatchStore, PageKey, PlayerStore, RequestKey, RequestRecord, RequestStore, StoreError, Version,
};

use crate::ledger::Ledger;
use crate::players::Players;
use crate::shard::Shard;

/// Enough that cores seldom meet at one lock, few enough that asking all of them what is due is cheap.
const SHARDS: u16 = 16;

/// Everything in memory, gone with the process. Each operation is atomic under one lock that is never
/// held across an await.
pub struct VolatileStore {
    clock: Arc<dyn Clock>,
    shards: Vec<Mutex<Shard>>,
    ledger: Mutex<Ledger>,
    players: Mutex<Players>,
}

impl VolatileStore {
    /// An empty store whose time is that of `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let now = Stamp::from_ms(clock.now_ms());
        Self {
            clock,
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::new(now))).collect(),
            ledger: Mutex::new(Ledger::new()),
            players: Mutex::new(Players::default()),
        }
    }

    fn stamp(&self) -> Stamp {
        Stamp::from_ms(self.clock.now_ms())
    }

    /// One operation on a shard. The clock is read under the lock, so that stamps follow the order of
    /// the operations.
    fn shard<T>(&self, shard: store::Shard, operation: impl FnOnce(&mut Shard, Now) -> T) -> T {
        let index = usize::from(shard.0) % self.shards.len();
        let mut shard = lock(&self.shards[index]);
        let now = shard.now(self.stamp());
        operation(&mut shard, now)
    }

    fn shard_of<T>(&self, id: MatchId, operation: impl FnOnce(&mut Shard, Now) -> T) -> T {
        self.shard(store::Shard::of(id, SHARDS), operation)
    }
}

impl fmt::Debug for VolatileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VolatileStore").finish_non_exhaustive()
    }
}

/// No operation leaves half of its work behind, so a lock whose holder panicked is still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl MatchStore for VolatileStore {
    fn shard_count(&self) -> u16 {
        SHARDS
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        Ok(self.shard_of(id, |_, now| now))
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        self.shard_of(change.next.id, |shard, now| shard.create(change, nonce, now))
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        self.shard_of(id, |shard, now| shard.load(id, now))
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError> {
        self.shard_of(commit.change.next.id, |shard, now| shard.commit(commit, now))
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        self.shard_of(id, |shard, _| shard.turns(id, from, limit))
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        self.shard_of(id, |shard, _| shard.watch(id))
    }

    async fn due(&self, shard: store::Shard, limit: usize) -> Result<Due, StoreError> {
        let (due, expired) = self.shard(shard, |shard, now| (shard.due(limit, now), shard.expire(now)));
        if !expired.is_empty() {
            let mut players = lock(&self.players);
            expired.iter().for_each(|game| players.forget(game));
        }
        Ok(due)
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.shard_of(id, |shard, _| shard.postpone(id, version, due))
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        self.shard_of(id, |shard, _| shard.settle(id, version, done))
    }
}

#[async_trait]
impl InviteStore for VolatileStore {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        lock(&self.ledger).create_invite(invite, self.stamp())
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        let now = self.stamp();
        Ok((lock(&self.ledger).invite(id, now)?, now))
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        lock(&self.ledger).close_invite(id, closing, self.stamp())
    }
}

#[async_trait]
impl PlayerStore for VolatileStore {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        lock(&self.players).index(player, entry);
        Ok(())
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        Ok(lock(&self.players).page(player, finished, after, limit))
    }
}

#[async_trait]
impl RequestStore for VolatileStore {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        lock(&self.ledger).remember(key, record, self.stamp())
    }
}
