//! What goes wrong between a node and the store.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{Change, FollowUp, NewMatch, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Access, AccessCursor, AccessPage, AccessStore, Claim, Closing, Commit, CommitOutcome, Due, FeedHints,
    FeedPage, FeedPosition, FeedStore, Glance, Held, Hints, Indexed, Invite, InviteId, InviteStore, Loaded,
    MatchStore, Meeting, NodeId, NodeReport, NodeStore, PageKey, Passage, PlayerHints, PlayerRecord,
    PlayerStore, PoolCursor, PoolName, PoolPage, Ranked, RecordStore, RequestKey, RequestRecord,
    RequestStore, Reservation, ReservationStore, SeenNode, SeenTicket, Shard, Speed, Store, StoreError,
    TicketName, TicketStore, Version, Wish,
};
use tokio::sync::watch;

use crate::{Subscriptions, soon};

/// An operation of the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of the store's traits")]
pub enum Operation {
    Now,
    Create,
    Load,
    Commit,
    Turns,
    Watch,
    Touch,
    Due,
    Postpone,
    Settle,
    CreateInvite,
    Invite,
    CloseInvite,
    IndexMatch,
    MatchesOf,
    OpenInvitesOf,
    WatchPlayer,
    Remember,
    CreateTicket,
    Ticket,
    RenewTicket,
    LeaveTicket,
    Claim,
    Made,
    Requeue,
    Pool,
    Reservation,
    Reserve,
    Record,
    PutRecord,
    Rank,
    Leaderboard,
    LeaderboardPlace,
    ForgetMatchesOf,
    RemoveRecord,
    Unrank,
    Access,
    PutAccess,
    AccessChanges,
}

/// What happens to a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It does not reach the store, and fails.
    Refused,
    /// It has its effect, and fails: the acknowledgement is lost.
    AnswerLost,
    /// It panics before it reaches the store.
    Panic,
    /// It does not reach the store, which has no room.
    Full,
    /// A commit finds that another one came first; nothing is stored. Other operations are as ever.
    Overtaken,
    /// It waits at the gate, then goes on.
    Held(Gate),
    /// It has its effect, and its answer waits at the gate.
    AnswerHeld(Gate),
}

/// Where a held call waits. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    waiting: watch::Sender<usize>,
    given_up: watch::Sender<usize>,
    open: watch::Sender<bool>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            waiting: watch::Sender::new(0),
            given_up: watch::Sender::new(0),
            open: watch::Sender::new(false),
        }
    }
}

impl Gate {
    /// Waits until a call has come to the gate.
    pub async fn reached(&self) {
        let mut waiting = self.waiting.subscribe();
        let came = soon("a call at the gate", waiting.wait_for(|waiting| *waiting > 0)).await;
        came.expect("the gate holds its own sender");
    }

    /// Waits until a call has been given up at the gate: whoever made it was dropped.
    pub async fn given_up(&self) {
        let mut given_up = self.given_up.subscribe();
        let gone = soon("a call given up at the gate", given_up.wait_for(|given_up| *given_up > 0)).await;
        gone.expect("the gate holds its own sender");
    }

    /// Lets every call through, now and later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    async fn pass(&self) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let _waits = Waits(self);
        let mut open = self.open.subscribe();
        // The sender is ours, so the wait ends only by the gate's opening.
        let _ = open.wait_for(|open| *open).await;
    }
}

/// A call at a gate.
struct Waits<'a>(&'a Gate);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if !*self.0.open.borrow() {
            self.0.given_up.send_modify(|given_up| *given_up += 1);
        }
    }
}

#[derive(Debug, Default)]
struct Plan {
    /// Calls since the plan was made.
    calls: usize,
    once: HashMap<usize, Fault>,
    always: Option<Fault>,
}

#[derive(Debug, Default)]
struct Plans {
    of: HashMap<Operation, Plan>,
    record: Option<Vec<Operation>>,
    hints_lost: bool,
    /// The last heads that the node has read or committed, if it remembers them.
    heads: Option<HashMap<MatchId, Loaded>>,
}

/// What is to go wrong, at which call. Clones are the same plan.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Plans>>);

impl Faults {
    /// The `nth` call of an operation from now on (1: the next) meets this fault.
    pub fn at(&self, operation: Operation, nth: usize, fault: Fault) {
        let mut plans = self.plans();
        let plan = plans.of.entry(operation).or_default();
        plan.once.insert(plan.calls + nth, fault);
    }

    /// The next call of an operation is held before it reaches the store.
    #[must_use]
    pub fn hold(&self, operation: Operation) -> Gate {
        let gate = Gate::default();
        self.at(operation, 1, Fault::Held(gate.clone()));
        gate
    }

    /// The answer of the next call of an operation is held.
    #[must_use]
    pub fn hold_answer(&self, operation: Operation) -> Gate {
        let gate = Gate::default();
        self.at(operation, 1, Fault::AnswerHeld(gate.clone()));
        gate
    }

    /// Every call of an operation meets this fault, until [`Self::clear`].
    pub fn always(&self, operation: Operation, fault: Fault) {
        self.plans().of.entry(operation).or_default().always = Some(fault);
    }

    /// From now on no hint of the store arrives, of a match or of a player, until [`Self::clear`].
    pub fn lose_hints(&self) {
        self.plans().hints_lost = true;
    }

    /// Nothing goes wrong any more.
    pub fn clear(&self) {
        let mut plans = self.plans();
        plans.of.clear();
        plans.hints_lost = false;
    }

    pub(crate) fn hints_arrive(&self) -> bool {
        !self.plans().hints_lost
    }

    /// From now on the node remembers the heads that it reads and commits, as nodes of a shared store do. What
    /// other nodes do it does not hear of: what it remembers may be as old as can be.
    pub fn remember_heads(&self) {
        self.plans().heads = Some(HashMap::new());
    }

    fn seen(&self, loaded: &Loaded) {
        if let Some(heads) = &mut self.plans().heads {
            heads.insert(loaded.stored.head.id, loaded.clone());
        }
    }

    /// Begins to note the calls of every operation, from now on.
    pub fn record(&self) {
        self.plans().record = Some(Vec::new());
    }

    /// The calls since [`Self::record`], in their order.
    #[must_use]
    pub fn recorded(&self) -> Vec<Operation> {
        self.plans().record.clone().unwrap_or_default()
    }

    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, operation: Operation) -> Option<Fault> {
        let mut plans = self.plans();
        plans.record.as_mut().into_iter().for_each(|record| record.push(operation));
        let plan = plans.of.get_mut(&operation)?;
        plan.calls += 1;
        plan.once.remove(&plan.calls).or_else(|| plan.always.clone())
    }
}

/// A store as a node reaches it: the real one, behind its [`Faults`].
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Faults,
    subscriptions: Subscriptions,
}

impl FaultyStore {
    /// The store behind these faults.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, faults: Faults) -> Self {
        Self { inner, faults, subscriptions: Subscriptions::default() }
    }

    /// Who has subscribed through it.
    #[must_use]
    pub fn subscriptions(&self) -> Subscriptions {
        self.subscriptions.clone()
    }

    async fn call<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.meet(self.faults.next(operation), operation, call).await
    }

    async fn meet<T>(
        &self,
        fault: Option<Fault>,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let unavailable = || Err(StoreError::Unavailable(format!("{operation:?} was told to fail")));
        match fault {
            None | Some(Fault::Overtaken) => call.await,
            Some(Fault::Full) => Err(StoreError::Full { limit: 1_000, what: "requests" }),
            Some(Fault::Refused) => unavailable(),
            Some(Fault::AnswerLost) => {
                call.await?;
                unavailable()
            }
            Some(Fault::Panic) => panic!("{operation:?} was told to panic"),
            Some(Fault::Held(gate)) => {
                gate.pass().await;
                call.await
            }
            Some(Fault::AnswerHeld(gate)) => {
                let answer = call.await;
                gate.pass().await;
                answer
            }
        }
    }
}

impl std::fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyStore").field("faults", &self.faults).finish_non_exhaustive()
    }
}

#[async_trait]
impl MatchStore for FaultyStore {
    fn shard_count(&self) -> u16 {
        self.inner.shard_count()
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        self.call(Operation::Now, self.inner.now(id)).await
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        self.call(Operation::Create, self.inner.create(change, nonce)).await
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        let loaded = self.call(Operation::Load, self.inner.load(id)).await?;
        self.faults.seen(&loaded);
        Ok(loaded)
    }

    async fn pass(&self, id: MatchId) -> Passage<'_> {
        self.inner.pass(id).await
    }

    fn recent(&self, id: MatchId) -> Option<Loaded> {
        match &self.faults.plans().heads {
            Some(heads) => heads.get(&id).cloned(),
            None => self.inner.recent(id),
        }
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError> {
        let now = commit.judged;
        let outcome = match self.faults.next(Operation::Commit) {
            Some(Fault::Overtaken) => {
                self.inner.load(commit.change.next.id).await.map(CommitOutcome::Conflict)
            }
            fault => self.meet(fault, Operation::Commit, self.inner.commit(commit)).await,
        }?;
        match &outcome {
            CommitOutcome::Committed(stored) => self.faults.seen(&Loaded { stored: stored.clone(), now }),
            CommitOutcome::Conflict(winner) => self.faults.seen(winner),
            CommitOutcome::Restamp(_) | CommitOutcome::TooLate(_) => {}
        }
        Ok(outcome)
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        self.call(Operation::Turns, self.inner.turns(id, from, limit)).await
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        let hints = self.call(Operation::Watch, self.inner.watch(id)).await?;
        Ok(self.subscriptions.count(hints, self.faults.clone()))
    }

    async fn touch(&self, shard: Shard) -> Result<Now, StoreError> {
        self.call(Operation::Touch, self.inner.touch(shard)).await
    }

    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError> {
        self.call(Operation::Due, self.inner.due(shard, limit)).await
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.call(Operation::Postpone, self.inner.postpone(id, version, due)).await
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        self.call(Operation::Settle, self.inner.settle(id, version, done)).await
    }
}

#[async_trait]
impl InviteStore for FaultyStore {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        self.call(Operation::CreateInvite, self.inner.create_invite(invite)).await
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.call(Operation::Invite, self.inner.invite(id)).await
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        self.call(Operation::CloseInvite, self.inner.close_invite(id, closing)).await
    }
}

#[async_trait]
impl PlayerStore for FaultyStore {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        self.call(Operation::IndexMatch, self.inner.index_match(player, entry)).await
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        self.call(Operation::MatchesOf, self.inner.matches_of(player, finished, after, limit)).await
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        self.call(Operation::ForgetMatchesOf, self.inner.forget_matches_of(player)).await
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        self.call(Operation::OpenInvitesOf, self.inner.open_invites_of(player, limit)).await
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        let hints = self.call(Operation::WatchPlayer, self.inner.watch_player(player)).await?;
        Ok(self.subscriptions.relay(hints, self.faults.clone()))
    }
}

#[async_trait]
impl RequestStore for FaultyStore {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        self.call(Operation::Remember, self.inner.remember(key, record)).await
    }
}

/// How nodes know of each other has no faults: it decides nothing.
#[async_trait]
impl NodeStore for FaultyStore {
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

/// The feed has no faults: it is read, and reading again is all there is to do.
#[async_trait]
impl FeedStore for FaultyStore {
    fn has_feed(&self) -> bool {
        self.inner.has_feed()
    }

    async fn feed_begin(&self, shard: Shard) -> Result<FeedPosition, StoreError> {
        self.inner.feed_begin(shard).await
    }

    async fn feed(&self, shard: Shard, after: FeedPosition, limit: usize) -> Result<FeedPage, StoreError> {
        self.inner.feed(shard, after, limit).await
    }

    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        self.inner.watch_feed().await
    }
}

#[async_trait]
impl TicketStore for FaultyStore {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        self.call(Operation::CreateTicket, self.inner.create_ticket(name, wish)).await
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.call(Operation::Ticket, self.inner.ticket(name)).await
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.call(Operation::RenewTicket, self.inner.renew_ticket(name)).await
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.call(Operation::LeaveTicket, self.inner.leave_ticket(name)).await
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        self.call(Operation::Claim, self.inner.claim(pool, tickets, game)).await
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        self.call(Operation::Made, self.inner.made(pool, match_id)).await
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        self.call(Operation::Requeue, self.inner.requeue(name, aborted)).await
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        self.call(Operation::Pool, self.inner.pool(pool, after)).await
    }
}

#[async_trait]
impl ReservationStore for FaultyStore {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        self.call(Operation::Reservation, self.inner.reservation(player)).await
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        self.call(Operation::Reserve, self.inner.reserve(player, expected, next)).await
    }
}

#[async_trait]
impl RecordStore for FaultyStore {
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        self.call(Operation::Record, self.inner.record(player)).await
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        self.call(Operation::PutRecord, self.inner.put_record(player, expected, record, nonce)).await
    }

    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        self.call(Operation::RemoveRecord, self.inner.remove_record(player)).await
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        self.call(Operation::Rank, self.inner.rank(speed, player, points_micro, matches)).await
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        self.call(Operation::Unrank, self.inner.unrank(speed, player)).await
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        self.call(Operation::Leaderboard, self.inner.leaderboard(speed, skip, limit)).await
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        self.call(Operation::LeaderboardPlace, self.inner.leaderboard_place(speed, player)).await
    }
}

#[async_trait]
impl AccessStore for FaultyStore {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        self.call(Operation::Access, self.inner.access(player)).await
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        self.call(Operation::PutAccess, self.inner.put_access(player, expected, next)).await
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        self.call(Operation::AccessChanges, self.inner.access_changes(after)).await
    }
}
