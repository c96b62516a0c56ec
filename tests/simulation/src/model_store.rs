//! The model as a node sees it: the traits of a store, over a link where there is one.

use std::sync::Arc;

use async_trait::async_trait;
use matchmaker::TicketId;
use referee::{Change, FollowUp, NewMatch, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Access, AccessCursor, AccessPage, AccessStore, Claim, Clock, Closing, Commit, CommitOutcome, Due,
    FeedHints, FeedPage, FeedPosition, FeedStore, Glance, Held, Hints, Indexed, Invite, InviteId,
    InviteStore, Loaded, MatchStore, Meeting, NodeId, NodeReport, NodeStore, PageKey, PlayerHints,
    PlayerRecord, PlayerStore, PoolCursor, PoolName, PoolPage, Ranked, RecordStore, RequestKey,
    RequestRecord, RequestStore, Reservation, ReservationStore, SeenNode, SeenTicket, Shard, Speed,
    StoreError, TicketName, TicketStore, Version, Wish,
};

use crate::link::{Link, unavailable};
use crate::model::Model;
use crate::model_pools::{ModelPlayers, ModelPools};
use crate::primary::{Durability, Primary};

/// A store in memory with the semantics of the one in Redis. Without a simulation around it nothing goes
/// wrong in it.
pub struct ModelStore {
    primary: Arc<Primary>,
    ears: u64,
    link: Option<Link>,
}

impl std::fmt::Debug for ModelStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelStore").finish_non_exhaustive()
    }
}

impl ModelStore {
    /// An empty store of so many shards whose time is that of `clock`, as its first node sees it.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, shards: u16) -> Self {
        Self::over(Arc::new(Primary::new(clock, shards, Durability::Primary)), None)
    }

    /// The same store as one more node sees it.
    #[must_use]
    pub fn node(&self) -> Self {
        Self::over(Arc::clone(&self.primary), self.link.clone())
    }

    pub(crate) fn over(primary: Arc<Primary>, link: Option<Link>) -> Self {
        let ears = primary.new_ears();
        Self { primary, ears, link }
    }

    /// One step of the store, over the link.
    async fn call<T: Send>(
        &self,
        step: impl FnOnce(&mut Model, Stamp) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        self.over_link(|primary| primary.step(step)).await
    }

    /// One step that may change a match.
    async fn change<T: Send>(
        &self,
        id: MatchId,
        step: impl FnOnce(&mut Model, Stamp) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        self.over_link(|primary| primary.change(id, step)).await
    }

    async fn over_link<T: Send>(
        &self,
        step: impl FnOnce(&Primary) -> (Result<T, StoreError>, u64) + Send,
    ) -> Result<T, StoreError> {
        let Some(link) = &self.link else { return step(&self.primary).0 };
        link.out().await?;
        let (result, epoch) = step(&self.primary);
        link.back(epoch).await?;
        result
    }

    fn has_read(&self, result: &Result<Loaded, StoreError>) {
        if let Ok(loaded) = result {
            self.primary.has_read(self.ears, loaded);
        }
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if let Some(link) = &self.link {
            link.handle.note(|| format!("node {}: {}", link.node, text()));
        }
    }
}

impl Drop for ModelStore {
    fn drop(&mut self) {
        self.primary.drop_ears(self.ears);
    }
}

#[async_trait]
impl MatchStore for ModelStore {
    fn shard_count(&self) -> u16 {
        self.primary.now_stored().shard_count()
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        self.call(|model, clock| Ok(model.time_of(id, clock))).await
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        let id = change.next.id;
        let created = self.change(id, |model, clock| Ok(model.create(change, nonce, clock))).await;
        self.has_read(&created);
        created
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        let loaded = self.call(|model, clock| model.load(id, clock)).await;
        self.has_read(&loaded);
        loaded
    }

    fn recent(&self, id: MatchId) -> Option<Loaded> {
        self.primary.remembered(self.ears, id)
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError> {
        let id = commit.change.next.id;
        let trace = commit.trace;
        let Some(link) = &self.link else {
            let (outcome, _) = self.primary.change(id, |model, clock| model.commit(commit, clock));
            if let Ok(CommitOutcome::Committed(stored)) = &outcome {
                for ears in self.primary.listeners(id) {
                    self.primary.tell(ears, stored, trace);
                }
                self.primary.feed_listeners().into_iter().for_each(|ears| self.primary.look_at_feed(ears));
            }
            return outcome;
        };
        if link.weather.strikes(|rates| rates.doubled_commits) {
            let again = commit.clone();
            link.later(move |link| {
                drop(link.primary.change(id, |model, clock| model.commit(again, clock)));
                // Nobody is told of it, but whoever looks sees it.
                link.publish_feed();
            });
        }
        let (judged, turn) = (commit.expected.counter, commit.change.next.resolved);
        link.out().await?;
        let (outcome, epoch) = self.primary.change(id, |model, clock| model.commit(commit, clock));
        if let Ok(CommitOutcome::Committed(stored)) = &outcome {
            // Hints go out whether the node hears the answer or not.
            link.publish(stored, epoch, trace);
            link.publish_feed();
        }
        self.note(|| format!("commit on version {judged}, {turn} turns: {}", told(&outcome)));
        if link.back(epoch).await.is_err() {
            self.note(|| "the answer to a commit is lost".to_owned());
            return unavailable();
        }
        match &outcome {
            Ok(CommitOutcome::Conflict(loaded)) => self.primary.has_read(self.ears, loaded),
            Ok(CommitOutcome::Committed(stored)) => self.primary.tell(self.ears, stored, trace),
            Ok(CommitOutcome::Restamp(_) | CommitOutcome::TooLate(_)) | Err(_) => {}
        }
        outcome
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        self.call(|model, clock| model.turns(id, from, limit, clock)).await
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        let (primary, ears) = (&self.primary, self.ears);
        self.over_link(|_| {
            let (loaded, epoch) = primary.step(|model, clock| model.load(id, clock));
            let hints = loaded.map(|loaded| Hints::new(primary.listen(ears, id, loaded.stored.version)));
            (hints, epoch)
        })
        .await
    }

    async fn touch(&self, shard: Shard) -> Result<Now, StoreError> {
        self.call(|model, clock| Ok(model.shard_time(shard, clock))).await
    }

    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError> {
        self.call(|model, clock| Ok(model.due(shard, limit, clock))).await
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.call(|model, clock| model.postpone(id, version, due, clock)).await
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        self.call(|model, clock| model.settle(id, version, done, clock)).await
    }
}

fn told(outcome: &Result<CommitOutcome, StoreError>) -> &'static str {
    match outcome {
        Ok(CommitOutcome::Committed(_)) => "committed",
        Ok(CommitOutcome::Conflict(_)) => "conflict",
        Ok(CommitOutcome::Restamp(_)) => "restamp",
        Ok(CommitOutcome::TooLate(_)) => "too late",
        Err(_) => "refused",
    }
}

#[async_trait]
impl InviteStore for ModelStore {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        let players = [Some(invite.inviter.clone()), invite.invitee.clone()];
        let created = self.call(|model, clock| Ok(model.create_invite(invite, clock))).await;
        players.iter().flatten().for_each(|player| self.primary.tell_of_player(player));
        created
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.call(|model, clock| model.invite(id, clock)).await
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        let closed = self.call(|model, clock| model.close_invite(id, closing, clock)).await;
        if let Ok(invite) = &closed {
            let players = [Some(&invite.inviter), invite.invitee.as_ref()];
            players.into_iter().flatten().for_each(|player| self.primary.tell_of_player(player));
        }
        closed
    }
}

#[async_trait]
impl PlayerStore for ModelStore {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        let step = |model: &mut Model, _| {
            model.index_match(player, entry);
            Ok(())
        };
        self.call(step).await?;
        self.primary.tell_of_player(player);
        Ok(())
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        self.call(|model, _| Ok(model.matches_of(player, finished, after, limit))).await
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        let forget = |model: &mut Model, _| {
            model.forget_matches_of(player);
            Ok(())
        };
        self.call(forget).await?;
        self.primary.tell_of_player(player);
        Ok(())
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        self.call(|model, clock| Ok(model.open_invites_of(player, limit, clock))).await
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        Ok(PlayerHints::new(self.primary.listen_to_player(self.ears, player)))
    }
}

#[async_trait]
impl RequestStore for ModelStore {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        self.call(|model, clock| Ok(model.remember(key, record, clock))).await
    }
}

#[async_trait]
impl NodeStore for ModelStore {
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError> {
        self.call(|model, clock| Ok(model.nodes.meet(report, clock))).await
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        let part = |model: &mut Model, _| {
            model.nodes.part(node);
            Ok(())
        };
        self.call(part).await
    }

    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError> {
        self.call(|model, clock| Ok(model.nodes.seen(clock))).await
    }

    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError> {
        self.call(|model, clock| model.nodes.ask_to_drain(node, clock)).await
    }

    async fn waiting_matches(&self) -> Result<u64, StoreError> {
        self.call(|model, _| Ok(model.waiting_matches())).await
    }

    async fn glance(&self, shards: &[Shard]) -> Result<Vec<Glance>, StoreError> {
        let glance =
            |model: &mut Model, clock| Ok(shards.iter().map(|shard| model.glance(*shard, clock)).collect());
        self.call(glance).await
    }
}

#[async_trait]
impl FeedStore for ModelStore {
    fn has_feed(&self) -> bool {
        true
    }

    async fn feed_begin(&self, shard: Shard) -> Result<FeedPosition, StoreError> {
        self.call(|model, clock| Ok(model.feed_begin(shard, clock))).await
    }

    async fn feed(&self, shard: Shard, after: FeedPosition, limit: usize) -> Result<FeedPage, StoreError> {
        self.call(|model, clock| Ok(model.feed(shard, after, limit, clock))).await
    }

    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        let hints = self.primary.listen_to_feed(self.ears);
        self.primary.look_at_feed(self.ears);
        Ok(hints)
    }
}

/// A change of players or pools as the model makes it.
fn pools(model: &mut Model) -> &mut ModelPools {
    Arc::make_mut(&mut model.pools)
}

fn players(model: &mut Model) -> &mut ModelPlayers {
    Arc::make_mut(&mut model.players)
}

#[async_trait]
impl TicketStore for ModelStore {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        self.call(|model, clock| pools(model).create(name, wish, clock)).await
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.call(|model, clock| pools(model).ticket(name, clock)).await
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.call(|model, clock| pools(model).renew(name, clock)).await
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.call(|model, clock| pools(model).leave(name, clock)).await
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        self.call(|model, clock| Ok(pools(model).claim(pool, tickets, game, clock))).await
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        let made = |model: &mut Model, _| {
            pools(model).made(pool, match_id);
            Ok(())
        };
        self.call(made).await
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        self.call(|model, clock| pools(model).requeue(name, aborted, clock)).await
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        self.call(|model, clock| Ok(pools(model).page(pool, after, clock))).await
    }
}

#[async_trait]
impl ReservationStore for ModelStore {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        self.call(|model, clock| Ok(model.players.reservation(player, clock))).await
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        let reserve = |model: &mut Model, clock| Ok(players(model).reserve(player, expected, next, clock));
        let there = self.call(reserve).await;
        self.primary.tell_of_player(player);
        there
    }
}

#[async_trait]
impl RecordStore for ModelStore {
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        self.call(|model, _| Ok(model.players.record(player))).await
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        self.call(|model, _| Ok(players(model).put_record(player, expected, record, nonce))).await
    }

    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        let remove = |model: &mut Model, _| {
            players(model).remove_record(player);
            Ok(())
        };
        self.call(remove).await
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        let rank = |model: &mut Model, _| {
            players(model).rank(speed, player, points_micro, matches);
            Ok(())
        };
        self.call(rank).await
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        let unrank = |model: &mut Model, _| {
            players(model).unrank(speed, player);
            Ok(())
        };
        self.call(unrank).await
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        self.call(|model, _| Ok(model.players.leaderboard(speed, skip, limit))).await
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        self.call(|model, _| Ok(model.players.place(speed, player))).await
    }
}

#[async_trait]
impl AccessStore for ModelStore {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        self.call(|model, clock| Ok(model.access.get(player, clock))).await
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        self.call(|model, clock| Ok(Arc::make_mut(&mut model.access).put(player, expected, next, clock)))
            .await
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        self.call(|model, clock| Ok(Arc::make_mut(&mut model.access).page(after, clock))).await
    }
}
