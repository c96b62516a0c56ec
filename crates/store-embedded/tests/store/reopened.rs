//! A store that is closed and opened again before every operation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{Change, FollowUp, NewMatch, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Access, AccessCursor, AccessPage, AccessStore, Claim, Clock as _, Closing, Commit, CommitOutcome, Due,
    FeedHints, FeedPage, FeedPosition, FeedStore, Held, Hints, Indexed, Invite, InviteId, InviteStore,
    Loaded, MatchStore, Meeting, NodeId, NodeReport, NodeStore, PageKey, PlayerHints, PlayerRecord,
    PlayerStore, PoolCursor, PoolName, PoolPage, Ranked, RecordStore, RequestKey, RequestRecord,
    RequestStore, Reservation, ReservationStore, ScriptedClock, SeenNode, SeenTicket, Shard, Speed,
    StoreError, TicketName, TicketStore, Version, Wish,
};
use store_embedded::EmbeddedStore;
use tokio::sync::{Mutex, MutexGuard};

use crate::place;

/// Processes that one promise is tried through at most; the last one lives on. Some promises take
/// thousands of operations.
const PROCESSES_MAX: u32 = 50;

/// Forgets before every operation whatever is not on the disk. A process remembers three things on its own, who
/// waits for hints, what is put off and when leases end: once one of the first two was asked for, or time has
/// passed with tickets there, this one lives on.
pub(crate) struct Reopened {
    path: PathBuf,
    clock: Arc<ScriptedClock>,
    shard_count: u16,
    process: Mutex<Process>,
}

struct Process {
    store: Option<EmbeddedStore>,
    /// How many there were before it.
    earlier: u32,
    opened_ms: u64,
    has_tickets: bool,
    lives_on: bool,
}

impl Process {
    fn store(&self) -> &EmbeddedStore {
        self.store.as_ref().expect("a store is open")
    }
}

impl Reopened {
    pub(crate) fn new(path: &Path, clock: &Arc<ScriptedClock>) -> Self {
        let store = place::open(path, clock);
        let shard_count = store.shard_count();
        let opened_ms = clock.now_ms();
        let process =
            Process { store: Some(store), earlier: 0, opened_ms, has_tickets: false, lives_on: false };
        let process = Mutex::new(process);
        Self { path: path.to_owned(), clock: Arc::clone(clock), shard_count, process }
    }

    /// The next process.
    async fn next(&self) -> MutexGuard<'_, Process> {
        let mut process = self.process.lock().await;
        let now_ms = self.clock.now_ms();
        process.lives_on |= process.has_tickets && process.opened_ms < now_ms;
        if !process.lives_on && process.earlier < PROCESSES_MAX {
            process.earlier += 1;
            process.opened_ms = now_ms;
            process.store = None;
            process.store = Some(place::open(&self.path, &self.clock));
        }
        process
    }

    /// The next process, which has tickets from now on.
    async fn next_with_tickets(&self) -> MutexGuard<'_, Process> {
        let mut process = self.next().await;
        process.has_tickets = true;
        process
    }

    /// The next process, which lives on.
    async fn last(&self) -> MutexGuard<'_, Process> {
        let mut process = self.next().await;
        process.lives_on = true;
        process
    }
}

#[async_trait]
impl MatchStore for Reopened {
    fn shard_count(&self) -> u16 {
        self.shard_count
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        self.next().await.store().now(id).await
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        self.next().await.store().create(change, nonce).await
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        self.next().await.store().load(id).await
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError> {
        self.next().await.store().commit(commit).await
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        self.next().await.store().turns(id, from, limit).await
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        self.last().await.store().watch(id).await
    }

    async fn touch(&self, shard: Shard) -> Result<Now, StoreError> {
        self.next().await.store().touch(shard).await
    }

    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError> {
        self.next().await.store().due(shard, limit).await
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.last().await.store().postpone(id, version, due).await
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        self.next().await.store().settle(id, version, done).await
    }
}

#[async_trait]
impl InviteStore for Reopened {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        self.next().await.store().create_invite(invite).await
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.next().await.store().invite(id).await
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        self.next().await.store().close_invite(id, closing).await
    }
}

#[async_trait]
impl PlayerStore for Reopened {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        self.next().await.store().index_match(player, entry).await
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        self.next().await.store().matches_of(player, finished, after, limit).await
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        self.next().await.store().forget_matches_of(player).await
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        self.next().await.store().open_invites_of(player, limit).await
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        // Hints end with their process, like those of a match.
        self.last().await.store().watch_player(player).await
    }
}

#[async_trait]
impl RequestStore for Reopened {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        self.next().await.store().remember(key, record).await
    }
}

/// Nodes are those of one process.
#[async_trait]
impl NodeStore for Reopened {
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError> {
        self.last().await.store().meet(report).await
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        self.last().await.store().part(node).await
    }

    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError> {
        self.last().await.store().nodes().await
    }

    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError> {
        self.last().await.store().ask_to_drain(node).await
    }

    async fn waiting_matches(&self) -> Result<u64, StoreError> {
        self.next().await.store().waiting_matches().await
    }
}

#[async_trait]
impl FeedStore for Reopened {
    fn has_feed(&self) -> bool {
        true
    }

    async fn feed_begin(&self, shard: Shard) -> Result<FeedPosition, StoreError> {
        self.next().await.store().feed_begin(shard).await
    }

    async fn feed(&self, shard: Shard, after: FeedPosition, limit: usize) -> Result<FeedPage, StoreError> {
        self.next().await.store().feed(shard, after, limit).await
    }

    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        // Hints end with their process, like those of a match.
        self.last().await.store().watch_feed().await
    }
}

#[async_trait]
impl TicketStore for Reopened {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        self.next_with_tickets().await.store().create_ticket(name, wish).await
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.next().await.store().ticket(name).await
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.next().await.store().renew_ticket(name).await
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.next().await.store().leave_ticket(name).await
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        self.next().await.store().claim(pool, tickets, game).await
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        self.next().await.store().made(pool, match_id).await
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        self.next().await.store().requeue(name, aborted).await
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        self.next().await.store().pool(pool, after).await
    }
}

#[async_trait]
impl ReservationStore for Reopened {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        self.next().await.store().reservation(player).await
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        self.next().await.store().reserve(player, expected, next).await
    }
}

#[async_trait]
impl RecordStore for Reopened {
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        self.next().await.store().record(player).await
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        self.next().await.store().put_record(player, expected, record, nonce).await
    }

    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        self.next().await.store().remove_record(player).await
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        self.next().await.store().rank(speed, player, points_micro, matches).await
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        self.next().await.store().unrank(speed, player).await
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        self.next().await.store().leaderboard(speed, skip, limit).await
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        self.next().await.store().leaderboard_place(speed, player).await
    }
}

#[async_trait]
impl AccessStore for Reopened {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        self.next().await.store().access(player).await
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        self.next().await.store().put_access(player, expected, next).await
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        self.next().await.store().access_changes(after).await
    }
}
