//! The traits of a store over memory and what is behind it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use referee::{Change, FollowUp, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::codec::CodecError;
use store::{
    Clock, Closing, Commit, CommitOutcome, Due, FeedHints, FeedLimits, FeedPage, FeedPosition, FeedStore,
    Hints, Indexed, Invite, InviteId, InviteStore, Loaded, MatchStore, Meeting, NodeId, NodeReport,
    NodeStore, PageKey, PlayerHints, PlayerStore, RequestKey, RequestRecord, RequestStore, SeenNode, Shard,
    StoreError, Stored, Version,
};

use crate::disk::{Space, Write};
use crate::durable::Durable;
use crate::key;
use crate::ledger::{self, Expiring, Kept, Ledger};
use crate::lists;
use crate::memory::{Memory, SHARDS, lock};
use crate::options;
#[cfg(doc)]
use crate::options::Options;
use crate::record;
use crate::shard::{self, Behind, Prepared, Step};

/// What is behind the memory of a [`SingleNode`]: nothing, or a disk.
pub trait Backing: Behind + Send + Sync + 'static {
    /// The disk, if there is one.
    #[doc(hidden)]
    fn durable(&self) -> Option<&Durable>;
}

/// Nothing: what is stored is gone with the process.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Behind for Nothing {
    const KEEPS: bool = false;

    fn resting(&self, _: MatchId) -> Result<Option<Stored>, StoreError> {
        Ok(None)
    }
}

impl Backing for Nothing {
    fn durable(&self) -> Option<&Durable> {
        None
    }
}

impl Backing for Durable {
    fn durable(&self) -> Option<&Durable> {
        Some(self)
    }
}

/// A store in one process. See [`crate::EmbeddedStore`] and [`crate::VolatileStore`].
pub struct SingleNode<B: Backing> {
    pub(crate) memory: Arc<Memory>,
    pub(crate) behind: B,
}

impl SingleNode<Nothing> {
    /// An empty store in memory whose time is that of `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let now = Now { stamp: Stamp::from_ms(clock.now_ms()), outage_ms: 0 };
        let memory = Arc::new(Memory::new(clock, &[now; SHARDS as usize]));
        Self { memory, behind: Nothing }
    }

    /// The same store with another retention of finished matches, as
    /// [`Options::with_retention_days`] takes it. It is to be set before the store is used.
    #[must_use]
    pub fn with_retention_days(self, days: u32) -> Self {
        self.memory.retain_for(options::retention_ms(days));
        self
    }
}

impl<B: Backing> fmt::Debug for SingleNode<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleNode").finish_non_exhaustive()
    }
}

impl<B: Backing> SingleNode<B> {
    /// The same store with so much of a feed; none: without one. It is to be set before the store is used.
    #[must_use]
    pub fn with_feed(self, limits: Option<FeedLimits>) -> Self {
        self.memory.limit_feed(limits);
        self
    }

    /// Makes a prepared change of a match of `shard` durable, then lets everyone see it. Once this was polled
    /// the change is made even if nobody waits for it any more.
    async fn make(&self, shard: Shard, prepared: Prepared) -> Result<Stored, StoreError> {
        let Some(durable) = self.behind.durable() else {
            let stored = prepared.stored.clone();
            self.memory.apply::<B>(shard, prepared);
            return Ok(stored);
        };
        let id = prepared.stored.head.id;
        let told = prepared.told.as_ref().map(|told| told.position.order());
        let written = match record::put_match(&prepared, &durable.keyring, durable.retention_ms) {
            Ok(writes) => durable.write(writes, move |memory| {
                let stored = prepared.stored.clone();
                memory.apply::<B>(shard, prepared);
                stored
            }),
            Err(error) => Err(unwritable(&error)),
        };
        match written {
            Ok(written) => written.shown().await,
            Err(error) => {
                self.memory.give_up(shard, id, told);
                Err(error)
            }
        }
    }

    /// Makes a prepared entry of the ledger durable, then lets everyone see it.
    async fn enter<K, V>(
        &self,
        key: K,
        kept: Kept<V>,
        write: impl FnOnce(&K, &Kept<V>) -> Result<Write, CodecError>,
        entries: fn(&mut Ledger) -> &mut Expiring<K, V>,
        note: fn(&mut Ledger, &V) -> Vec<String>,
    ) -> Result<V, StoreError>
    where
        K: Clone + Ord + std::hash::Hash + Send + 'static,
        V: Clone + Send + 'static,
    {
        let Some(durable) = self.behind.durable() else {
            return Ok(self.memory.enter(key, kept, entries, note));
        };
        let claimed = key.clone();
        let written = match write(&key, &kept) {
            Ok(write) => durable.write(vec![write], move |memory| memory.enter(key, kept, entries, note)),
            Err(error) => Err(unwritable(&error)),
        };
        match written {
            Ok(written) => written.shown().await,
            Err(error) => {
                entries(&mut lock(&self.memory.ledger)).give_up(&claimed);
                Err(error)
            }
        }
    }

    /// What a change writes, where there is a disk to write it on.
    pub(crate) fn writes(
        &self,
        writes: impl FnOnce() -> Result<Vec<Write>, CodecError>,
    ) -> Result<Vec<Write>, StoreError> {
        match self.behind.durable() {
            None => Ok(Vec::new()),
            Some(_) => writes().map_err(|error| unwritable(&error)),
        }
    }

    /// Makes writes durable, where there is a disk, and then shows what they say. Once this was polled that is
    /// done even if nobody waits for it any more; whoever holds a lock meanwhile hands it to `show`.
    pub(crate) async fn show_once_written<T: Send + 'static>(
        &self,
        writes: Vec<Write>,
        show: impl FnOnce(&Memory) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.behind.durable() {
            None => Ok(show(&self.memory)),
            Some(durable) => durable.write(writes, show)?.shown().await,
        }
    }

    /// One look at the ledger. What it found forgotten leaves the disk as well.
    fn ledger<T>(&self, operation: impl FnOnce(&mut Ledger, Stamp) -> T) -> T {
        let mut ledger = lock(&self.memory.ledger);
        let result = operation(&mut ledger, self.memory.stamp());
        let forgotten = ledger.take_forgotten();
        if let Some(durable) = self.behind.durable().filter(|_| !forgotten.is_empty()) {
            // Under the lock, which waits for nothing here: a removal must not overtake a new entry.
            durable.remove(forgotten);
        }
        result
    }
}

/// A record that cannot be written is a fault of this program; the match goes on without the change.
pub(crate) fn unwritable(error: &CodecError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

#[async_trait]
impl<B: Backing> MatchStore for SingleNode<B> {
    fn shard_count(&self) -> u16 {
        self.memory.shard_count()
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        Ok(self.memory.shard_of(id, |_, now| now))
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        let id = change.next.id;
        let place = self.memory.place(id);
        let mut change = (change, nonce);
        loop {
            match self.memory.shard(place, |shard, now| shard.create(change, now, &self.behind)) {
                Step::Answered(answer) => return answer,
                Step::Busy(again, turnstile) => {
                    change = again;
                    let _ = turnstile.await;
                }
                Step::Prepared(prepared) => {
                    let stored = self.make(place, prepared).await?;
                    return Ok(self.memory.shard(place, |_, now| shard::loaded(stored, now)));
                }
            }
        }
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        let (in_memory, now) = self.memory.shard_of(id, |shard, now| (shard.load(id, now), now));
        match (in_memory, self.behind.durable()) {
            (Some(loaded), _) => Ok(loaded),
            (None, None) => Err(StoreError::NotFound),
            (None, Some(durable)) => {
                let stored = durable.read(move |durable| durable.resting(id)).await?;
                Ok(shard::loaded(stored.ok_or(StoreError::NotFound)?, now))
            }
        }
    }

    async fn commit(&self, mut commit: Commit) -> Result<CommitOutcome, StoreError> {
        let place = self.memory.place(commit.change.next.id);
        loop {
            match self.memory.shard(place, |shard, now| shard.commit(commit, now, &self.behind)) {
                Step::Answered(answer) => return answer,
                Step::Busy(again, turnstile) => {
                    commit = again;
                    let _ = turnstile.await;
                }
                Step::Prepared(prepared) => {
                    return self.make(place, prepared).await.map(CommitOutcome::Committed);
                }
            }
        }
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let in_memory = self.memory.shard_of(id, |shard, _| shard.turns(id, from, limit));
        let Some(durable) = self.behind.durable() else {
            return in_memory.map(|(_, turns)| turns).ok_or(StoreError::NotFound);
        };
        match in_memory {
            Some((earlier, turns)) if from > earlier => Ok(turns),
            Some((earlier, recent)) => {
                let mut turns = durable.read(move |durable| durable.turns(id, from, earlier, limit)).await?;
                turns.extend(recent);
                turns.truncate(limit);
                Ok(turns)
            }
            None => {
                let turns = durable.read(move |durable| {
                    let stored = durable.resting(id)?.ok_or(StoreError::NotFound)?;
                    durable.turns(id, from, stored.head.resolved, limit)
                });
                turns.await
            }
        }
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        self.memory.shard_of(id, |shard, _| shard.watch(id, &self.behind))
    }

    async fn touch(&self, shard: store::Shard) -> Result<Now, StoreError> {
        let now = self.memory.shard(shard, |_, now| now);
        if let Some(durable) = self.behind.durable() {
            durable.note_life();
        }
        Ok(now)
    }

    async fn due(&self, shard: store::Shard, limit: usize) -> Result<Due, StoreError> {
        let Some(durable) = self.behind.durable() else {
            let (due, expired) =
                self.memory.shard(shard, |shard, now| (shard.due(limit, now), shard.expire(now)));
            if !expired.is_empty() {
                let mut players = lock(&self.memory.players);
                expired.iter().for_each(|game| players.forget(game));
            }
            return Ok(due);
        };
        let due = self.memory.shard(shard, |shard, now| {
            shard.lay_to_rest();
            shard.due(limit, now)
        });
        durable.sweep(&self.memory).await?;
        Ok(due)
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.memory.shard_of(id, |shard, _| shard.postpone(id, version, due, &self.behind))
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        let place = self.memory.place(id);
        loop {
            match self.memory.shard(place, |shard, _| shard.settle(id, version, done, &self.behind)) {
                Step::Answered(answer) => return answer,
                Step::Busy((), turnstile) => {
                    let _ = turnstile.await;
                }
                Step::Prepared(prepared) => return self.make(place, prepared).await.map(drop),
            }
        }
    }
}

#[async_trait]
impl<B: Backing> InviteStore for SingleNode<B> {
    async fn create_invite(&self, mut invite: Invite) -> Result<Invite, StoreError> {
        let id = invite.id;
        loop {
            match self.ledger(|ledger, now| ledger.create_invite(invite, now)) {
                ledger::Step::Answered(answer) => return answer,
                ledger::Step::Busy(again, turnstile) => {
                    invite = again;
                    let _ = turnstile.await;
                }
                ledger::Step::Prepared(kept) => {
                    let write = |_: &InviteId, kept: &Kept<Invite>| record::put_invite(kept);
                    return self.enter(id, kept, write, |ledger| &mut ledger.invites, Ledger::note).await;
                }
            }
        }
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.ledger(|ledger, now| Ok((ledger.invite(id, now)?, now)))
    }

    async fn close_invite(&self, id: InviteId, mut closing: Closing) -> Result<Invite, StoreError> {
        loop {
            match self.ledger(|ledger, now| ledger.close_invite(id, closing, now)) {
                ledger::Step::Answered(answer) => return answer,
                ledger::Step::Busy(again, turnstile) => {
                    closing = again;
                    let _ = turnstile.await;
                }
                ledger::Step::Prepared(kept) => {
                    let write = |_: &InviteId, kept: &Kept<Invite>| record::put_invite(kept);
                    return self.enter(id, kept, write, |ledger| &mut ledger.invites, Ledger::note).await;
                }
            }
        }
    }
}

#[async_trait]
impl<B: Backing> PlayerStore for SingleNode<B> {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        match self.behind.durable() {
            None => lock(&self.memory.players).index(player, entry),
            Some(durable) => durable.write(lists::index(player, entry), |_| ())?.shown().await?,
        }
        lock(&self.memory.watchers).tell(player);
        Ok(())
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        match self.behind.durable() {
            None => Ok(lock(&self.memory.players).page(player, finished, after, limit)),
            Some(durable) => {
                let player = player.to_owned();
                durable.read(move |durable| durable.page(&player, finished, after, limit)).await
            }
        }
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        match self.behind.durable() {
            None => lock(&self.memory.players).forget_all(player),
            Some(durable) => {
                let whose = player.to_owned();
                let writes = durable.read(move |reader| reader.forget_lists(&whose)).await?;
                durable.write(writes, |_| ())?.shown().await?;
            }
        }
        lock(&self.memory.watchers).tell(player);
        Ok(())
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        Ok(self.ledger(|ledger, _| ledger.open_invites_of(player, limit)))
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        Ok(lock(&self.memory.watchers).watch(player))
    }
}

#[async_trait]
impl<B: Backing> RequestStore for SingleNode<B> {
    async fn remember(
        &self,
        key: RequestKey,
        mut record: RequestRecord,
    ) -> Result<RequestRecord, StoreError> {
        let key = key::request(&key);
        loop {
            match self.ledger(|ledger, now| ledger.remember(&key, record, now)) {
                ledger::Step::Answered(answer) => return answer,
                ledger::Step::Busy(again, turnstile) => {
                    record = again;
                    let _ = turnstile.await;
                }
                ledger::Step::Prepared(kept) => {
                    return self
                        .enter(
                            key,
                            kept,
                            |key, kept| record::put_request(key, kept),
                            |ledger| &mut ledger.requests,
                            |_, _| Vec::new(),
                        )
                        .await;
                }
            }
        }
    }
}

/// Whoever has it open is alone, and has all the work. Only a test has two nodes on one.
#[async_trait]
impl<B: Backing> NodeStore for SingleNode<B> {
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError> {
        let told = self.memory.nodes(|nodes, now| nodes.meet(report, now));
        Ok(Meeting { nodes: vec![report.node], ..told })
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        self.memory.nodes(|nodes, _| nodes.part(node));
        Ok(())
    }

    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError> {
        Ok(self.memory.nodes(|nodes, now| nodes.seen(now)))
    }

    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError> {
        self.memory.nodes(|nodes, now| nodes.ask_to_drain(node, now))
    }

    async fn waiting_matches(&self) -> Result<u64, StoreError> {
        Ok(self.memory.waiting_matches())
    }
}

#[async_trait]
impl<B: Backing> FeedStore for SingleNode<B> {
    fn has_feed(&self) -> bool {
        self.memory.feed_limits().is_some()
    }

    async fn feed_begin(&self, shard: Shard) -> Result<FeedPosition, StoreError> {
        match self.behind.durable() {
            Some(durable) => durable.read(move |reader| reader.feed_begin(shard.0)).await,
            None => Ok(self.memory.shard(shard, |shard, _| shard.feed.begin())),
        }
    }

    async fn feed(&self, shard: Shard, after: FeedPosition, limit: usize) -> Result<FeedPage, StoreError> {
        let Some(durable) = self.behind.durable() else {
            return Ok(self.memory.shard(shard, |shard, _| shard.feed.page(after, limit)));
        };
        // Asked before the disk is: all up to there is on it.
        let end = self.memory.feed_end(shard.0).unwrap_or(FeedPosition::START).order();
        durable.read(move |reader| reader.feed(shard.0, after, end, limit)).await
    }

    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        Ok(self.memory.watch_feed())
    }
}

impl Ledger {
    /// Takes note of an invite as it is now, and returns whom to tell.
    pub(crate) fn note(&mut self, invite: &Invite) -> Vec<String> {
        self.open.note(invite)
    }

    /// What removes from the disk what was forgotten since the last call.
    fn take_forgotten(&mut self) -> Vec<Write> {
        let invites = self.invites.take_forgotten();
        for id in &invites {
            self.open.forget(*id);
        }
        let requests = self.requests.take_forgotten().into_iter();
        invites
            .into_iter()
            .map(|id| Write::remove(Space::Invites, *id.as_bytes()))
            .chain(requests.map(|key| Write::remove(Space::Requests, key)))
            .collect()
    }
}
