//! A store that can lose what was written last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{Change, FollowUp, NewMatch, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Access, AccessCursor, AccessPage, AccessStore, Claim, Clock, Closing, Commit, CommitOutcome, Due,
    FeedHints, FeedPage, FeedPosition, FeedStore, Glance, Held, Hints, Indexed, Invite, InviteId,
    InviteStore, Loaded, MatchStore, Meeting, NodeId, NodeReport, NodeStore, PageKey, PlayerHints,
    PlayerRecord, PlayerStore, PoolCursor, PoolName, PoolPage, Ranked, RecordStore, RequestKey,
    RequestRecord, RequestStore, Reservation, ReservationStore, SeenNode, SeenTicket, Shard, Speed, Store,
    StoreError, TicketName, TicketStore, Version, Wish,
};
use store_embedded::VolatileStore;

/// A primary with a replica that follows it until it is [cut off](Self::cut_off) and takes over on
/// [failover](Self::fail_over): what was written in between is lost then, as with a store whose writes count
/// before replicas have them.
///
/// Whoever watches the primary then hears nothing any more, as with a connection that is dead: heartbeats
/// make good for it.
pub struct ReplicatedStore {
    primary: Arc<dyn Store>,
    replica: Arc<dyn Store>,
    follows: AtomicBool,
    has_failed_over: AtomicBool,
}

impl ReplicatedStore {
    /// Both in memory, with the same clock.
    #[must_use]
    pub fn new(clock: &Arc<dyn Clock>) -> Self {
        let store = || Arc::new(VolatileStore::new(Arc::clone(clock)));
        let (primary, replica) = (store(), store());
        Self { primary, replica, follows: AtomicBool::new(true), has_failed_over: AtomicBool::new(false) }
    }

    /// From now on the replica gets nothing.
    pub fn cut_off(&self) {
        self.follows.store(false, Ordering::SeqCst);
    }

    /// The replica takes over, with what it has.
    pub fn fail_over(&self) {
        self.cut_off();
        self.has_failed_over.store(true, Ordering::SeqCst);
    }

    fn primary(&self) -> &dyn Store {
        if self.has_failed_over.load(Ordering::SeqCst) {
            self.replica.as_ref()
        } else {
            self.primary.as_ref()
        }
    }

    /// Who gets what the primary has taken.
    fn follower(&self) -> Option<&dyn Store> {
        self.follows.load(Ordering::SeqCst).then_some(self.replica.as_ref())
    }
}

impl std::fmt::Debug for ReplicatedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplicatedStore")
            .field("has_failed_over", &self.has_failed_over)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl MatchStore for ReplicatedStore {
    fn shard_count(&self) -> u16 {
        self.primary.shard_count()
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        self.replica.now(id).await?;
        self.primary().now(id).await
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        let created = self.primary().create(change.clone(), nonce).await?;
        if let Some(follower) = self.follower() {
            follower.create(change, nonce).await?;
        }
        Ok(created)
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        self.primary().load(id).await
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError> {
        let outcome = self.primary().commit(commit.clone()).await?;
        if let (CommitOutcome::Committed(_), Some(follower)) = (&outcome, self.follower()) {
            follower.commit(commit).await?;
        }
        Ok(outcome)
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        self.primary().turns(id, from, limit).await
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        self.primary().watch(id).await
    }

    async fn touch(&self, shard: Shard) -> Result<Now, StoreError> {
        self.replica.touch(shard).await?;
        self.primary().touch(shard).await
    }

    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError> {
        self.replica.due(shard, 0).await?;
        self.primary().due(shard, limit).await
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.primary().postpone(id, version, due).await?;
        match self.follower() {
            Some(follower) => follower.postpone(id, version, due).await,
            None => Ok(()),
        }
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        self.primary().settle(id, version, done).await?;
        match self.follower() {
            Some(follower) => follower.settle(id, version, done).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl InviteStore for ReplicatedStore {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        self.replica.create_invite(invite.clone()).await?;
        self.primary.create_invite(invite).await
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.primary().invite(id).await
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        self.replica.close_invite(id, closing.clone()).await?;
        self.primary.close_invite(id, closing).await
    }
}

#[async_trait]
impl PlayerStore for ReplicatedStore {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        self.replica.index_match(player, entry).await?;
        self.primary.index_match(player, entry).await
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        self.primary().matches_of(player, finished, after, limit).await
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        if let Some(follower) = self.follower() {
            follower.forget_matches_of(player).await?;
        }
        self.primary().forget_matches_of(player).await
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        self.primary().open_invites_of(player, limit).await
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        self.primary().watch_player(player).await
    }
}

#[async_trait]
impl RequestStore for ReplicatedStore {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        self.replica.remember(key.clone(), record).await?;
        self.primary.remember(key, record).await
    }
}

#[async_trait]
impl NodeStore for ReplicatedStore {
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError> {
        self.primary.meet(report).await
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        self.primary.part(node).await
    }

    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError> {
        self.primary.nodes().await
    }

    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError> {
        self.primary.ask_to_drain(node).await
    }

    async fn waiting_matches(&self) -> Result<u64, StoreError> {
        self.primary.waiting_matches().await
    }

    async fn glance(&self, shards: &[Shard]) -> Result<Vec<Glance>, StoreError> {
        self.primary().glance(shards).await
    }
}

#[async_trait]
impl FeedStore for ReplicatedStore {
    fn has_feed(&self) -> bool {
        self.primary.has_feed()
    }

    async fn feed_begin(&self, shard: Shard) -> Result<FeedPosition, StoreError> {
        self.primary().feed_begin(shard).await
    }

    async fn feed(&self, shard: Shard, after: FeedPosition, limit: usize) -> Result<FeedPage, StoreError> {
        self.primary().feed(shard, after, limit).await
    }

    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        self.primary().watch_feed().await
    }
}

#[async_trait]
impl TicketStore for ReplicatedStore {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.create_ticket(name, Arc::clone(&wish)).await?;
        }
        self.primary().create_ticket(name, wish).await
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.primary().ticket(name).await
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.renew_ticket(name).await?;
        }
        self.primary().renew_ticket(name).await
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.leave_ticket(name).await?;
        }
        self.primary().leave_ticket(name).await
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.claim(pool, tickets, game).await?;
        }
        self.primary().claim(pool, tickets, game).await
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        if let Some(follower) = self.follower() {
            follower.made(pool, match_id).await?;
        }
        self.primary().made(pool, match_id).await
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.requeue(name, aborted).await?;
        }
        self.primary().requeue(name, aborted).await
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        self.primary().pool(pool, after).await
    }
}

#[async_trait]
impl ReservationStore for ReplicatedStore {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        self.primary().reservation(player).await
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.reserve(player, expected, next).await?;
        }
        self.primary().reserve(player, expected, next).await
    }
}

#[async_trait]
impl RecordStore for ReplicatedStore {
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        self.primary().record(player).await
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.put_record(player, expected, record, nonce).await?;
        }
        self.primary().put_record(player, expected, record, nonce).await
    }

    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        if let Some(follower) = self.follower() {
            follower.remove_record(player).await?;
        }
        self.primary().remove_record(player).await
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        if let Some(follower) = self.follower() {
            follower.rank(speed, player, points_micro, matches).await?;
        }
        self.primary().rank(speed, player, points_micro, matches).await
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        if let Some(follower) = self.follower() {
            follower.unrank(speed, player).await?;
        }
        self.primary().unrank(speed, player).await
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        self.primary().leaderboard(speed, skip, limit).await
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        self.primary().leaderboard_place(speed, player).await
    }
}

#[async_trait]
impl AccessStore for ReplicatedStore {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        self.primary().access(player).await
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        if let Some(follower) = self.follower() {
            let _ = follower.put_access(player, expected, next).await?;
        }
        self.primary().put_access(player, expected, next).await
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        self.primary().access_changes(after).await
    }
}
