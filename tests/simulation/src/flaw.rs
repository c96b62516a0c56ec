//! Stores that are broken on purpose: a simulation that finds nothing in a sound product shows something only
//! if it finds what is wrong with these.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{Change, FollowUp, Match, NewMatch, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Access, AccessCursor, AccessPage, AccessStore, Claim, Closing, Commit, CommitOutcome, Due, FeedHints,
    FeedPage, FeedPosition, FeedStore, Glance, Held, Hints, Indexed, Invite, InviteId, InviteStore, Loaded,
    MatchStore, Meeting, NodeId, NodeReport, NodeStore, PageKey, PlayerHints, PlayerRecord, PlayerStore,
    PoolCursor, PoolName, PoolPage, Ranked, RecordStore, RequestKey, RequestRecord, RequestStore,
    Reservation, ReservationStore, SeenNode, SeenTicket, Shard, Speed, Store, StoreError, TicketName,
    TicketStore, Version, Wish,
};

use crate::scheduler::lock;

/// Of so many entries the feed lacks one, where it does.
const LOST_ONE_IN: u64 = 7;

/// What is wrong with a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// A commit overwrites whatever is there.
    IgnoresVersions,
    /// A commit is stored however late it comes.
    IgnoresNotAfter,
    /// A read now and then has the head before the last one, under the version of the last one.
    ReadsOldHeads,
    /// Deadlines do not move by the time that the store was down.
    IgnoresOutages,
    /// A request that creates is not remembered.
    ForgetsRequests,
    /// The feed lacks an entry now and then.
    LosesFeedEntries,
    /// The feed goes on by numbers alone, whatever a failover has put in their places.
    ResumesByNumber,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::IgnoresVersions,
        Self::IgnoresNotAfter,
        Self::ReadsOldHeads,
        Self::IgnoresOutages,
        Self::ForgetsRequests,
        Self::LosesFeedEntries,
        Self::ResumesByNumber,
    ];

    /// Its name for a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IgnoresVersions => "ignores-versions",
            Self::IgnoresNotAfter => "ignores-not-after",
            Self::ReadsOldHeads => "reads-old-heads",
            Self::IgnoresOutages => "ignores-outages",
            Self::ForgetsRequests => "forgets-requests",
            Self::LosesFeedEntries => "loses-feed-entries",
            Self::ResumesByNumber => "resumes-by-number",
        }
    }
}

/// A name that no flaw has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownFlaw;

impl fmt::Display for UnknownFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Flaw::ALL.iter().map(|flaw| flaw.name()).collect();
        write!(f, "there are {}", names.join(", "))
    }
}

impl std::error::Error for UnknownFlaw {}

impl FromStr for Flaw {
    type Err = UnknownFlaw;

    fn from_str(name: &str) -> Result<Self, UnknownFlaw> {
        Self::ALL.into_iter().find(|flaw| flaw.name() == name).ok_or(UnknownFlaw)
    }
}

/// A store with a flaw.
pub(crate) struct Flawed {
    inner: Arc<dyn Store>,
    flaw: Flaw,
    /// The last two heads of each match that were read.
    heads: Mutex<HashMap<MatchId, [Arc<Match>; 2]>>,
}

impl Flawed {
    pub(crate) fn new(inner: Arc<dyn Store>, flaw: Flaw) -> Self {
        Self { inner, flaw, heads: Mutex::default() }
    }

    /// What the flaw makes of a read.
    fn spoil(&self, mut loaded: Loaded) -> Loaded {
        match self.flaw {
            Flaw::ReadsOldHeads => {
                let head = &loaded.stored.head;
                let mut heads = lock(&self.heads);
                let known = heads.entry(head.id).or_insert_with(|| [Arc::clone(head), Arc::clone(head)]);
                if !Arc::ptr_eq(&known[1], head) {
                    known.swap(0, 1);
                    known[1] = Arc::clone(head);
                    loaded.stored.head = Arc::clone(&known[0]);
                }
            }
            Flaw::IgnoresOutages => loaded.now.outage_ms = 0,
            Flaw::IgnoresVersions
            | Flaw::IgnoresNotAfter
            | Flaw::ForgetsRequests
            | Flaw::LosesFeedEntries
            | Flaw::ResumesByNumber => {}
        }
        loaded
    }
}

#[async_trait]
impl MatchStore for Flawed {
    fn shard_count(&self) -> u16 {
        self.inner.shard_count()
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        self.inner.now(id).await
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        self.inner.create(change, nonce).await
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        self.inner.load(id).await.map(|loaded| self.spoil(loaded))
    }

    async fn commit(&self, mut commit: Commit) -> Result<CommitOutcome, StoreError> {
        let id = commit.change.next.id;
        match self.flaw {
            Flaw::IgnoresVersions => commit.expected = self.inner.load(id).await?.stored.version,
            Flaw::IgnoresNotAfter => commit.change.not_after = None,
            Flaw::IgnoresOutages => commit.judged.outage_ms = self.inner.now(id).await?.outage_ms,
            Flaw::ReadsOldHeads | Flaw::ForgetsRequests | Flaw::LosesFeedEntries | Flaw::ResumesByNumber => {}
        }
        self.inner.commit(commit).await
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        self.inner.turns(id, from, limit).await
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        self.inner.watch(id).await
    }

    async fn touch(&self, shard: Shard) -> Result<Now, StoreError> {
        self.inner.touch(shard).await
    }

    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError> {
        self.inner.due(shard, limit).await
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.inner.postpone(id, version, due).await
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        self.inner.settle(id, version, done).await
    }
}

#[async_trait]
impl InviteStore for Flawed {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        self.inner.create_invite(invite).await
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.inner.invite(id).await
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        self.inner.close_invite(id, closing).await
    }
}

#[async_trait]
impl PlayerStore for Flawed {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        self.inner.index_match(player, entry).await
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        self.inner.matches_of(player, finished, after, limit).await
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        self.inner.forget_matches_of(player).await
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        self.inner.open_invites_of(player, limit).await
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        self.inner.watch_player(player).await
    }
}

#[async_trait]
impl RequestStore for Flawed {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        if self.flaw == Flaw::ForgetsRequests {
            return Ok(record);
        }
        self.inner.remember(key, record).await
    }
}

#[async_trait]
impl NodeStore for Flawed {
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError> {
        self.inner.meet(report).await
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        self.inner.part(node).await
    }

    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError> {
        self.inner.nodes().await
    }

    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError> {
        self.inner.ask_to_drain(node).await
    }

    async fn waiting_matches(&self) -> Result<u64, StoreError> {
        self.inner.waiting_matches().await
    }

    async fn glance(&self, shards: &[Shard]) -> Result<Vec<Glance>, StoreError> {
        self.inner.glance(shards).await
    }
}

#[async_trait]
impl FeedStore for Flawed {
    fn has_feed(&self) -> bool {
        self.inner.has_feed()
    }

    async fn feed_begin(&self, shard: Shard) -> Result<FeedPosition, StoreError> {
        self.inner.feed_begin(shard).await
    }

    async fn feed(&self, shard: Shard, after: FeedPosition, limit: usize) -> Result<FeedPage, StoreError> {
        let read_from = if self.flaw == Flaw::ResumesByNumber { FeedPosition::START } else { after };
        let page = self.inner.feed(shard, read_from, usize::MAX).await?;
        let FeedPage::Entries(mut entries) = page else { return Ok(page) };
        match self.flaw {
            Flaw::ResumesByNumber => entries.retain(|(place, _)| place.number > after.number),
            Flaw::LosesFeedEntries => entries.retain(|(place, _)| place.number % LOST_ONE_IN != 0),
            _ => {}
        }
        entries.truncate(limit);
        Ok(FeedPage::Entries(entries))
    }

    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        self.inner.watch_feed().await
    }
}

#[async_trait]
impl TicketStore for Flawed {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        self.inner.create_ticket(name, wish).await
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.inner.ticket(name).await
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.inner.renew_ticket(name).await
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.inner.leave_ticket(name).await
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        self.inner.claim(pool, tickets, game).await
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        self.inner.made(pool, match_id).await
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        self.inner.requeue(name, aborted).await
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        self.inner.pool(pool, after).await
    }
}

#[async_trait]
impl ReservationStore for Flawed {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        self.inner.reservation(player).await
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        self.inner.reserve(player, expected, next).await
    }
}

#[async_trait]
impl RecordStore for Flawed {
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        self.inner.record(player).await
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        self.inner.put_record(player, expected, record, nonce).await
    }

    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        self.inner.remove_record(player).await
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        self.inner.rank(speed, player, points_micro, matches).await
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        self.inner.unrank(speed, player).await
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        self.inner.leaderboard(speed, skip, limit).await
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        self.inner.leaderboard_place(speed, player).await
    }
}

#[async_trait]
impl AccessStore for Flawed {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        self.inner.access(player).await
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        self.inner.put_access(player, expected, next).await
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        self.inner.access_changes(after).await
    }
}
