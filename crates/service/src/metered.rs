//! The store as a node reaches it: what it does is measured on its way.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use matchmaker::TicketId;
use opentelemetry::Context;
use opentelemetry::trace::{FutureExt as _, SpanKind, Status, TraceContextExt as _, Tracer as _};
use referee::{Change, Event, FollowUp, Mode, NewMatch, Now, Stamp, TurnRecord};
use sealing::{EndReason, MatchId};
use store::{
    Access, AccessCursor, AccessPage, AccessStore, Claim, Closing, Commit, CommitOutcome, Due, Entry,
    FeedHints, FeedPage, FeedPosition, FeedStore, Glance, Held, Hints, Indexed, Invite, InviteId,
    InviteStore, Loaded, MatchStore, Meeting, NodeId, NodeReport, NodeStore, PageKey, Passage, PlayerHints,
    PlayerRecord, PlayerStore, PoolCursor, PoolName, PoolPage, Ranked, RecordStore, RequestKey,
    RequestRecord, RequestStore, Reservation, ReservationStore, SeenNode, SeenTicket, Shard, Speed, Store,
    StoreError, TicketName, TicketStore, Version, Wish,
};
use tokio::time::Instant;

use crate::metrics::{Instruments, MatchKind};
use crate::stats::{Count, Stats};

/// A store whose operations are measured, and which tells what commits mean for matches, telemetry and the node's own
/// counters alike: every change of a match comes by here, whoever makes it.
pub(crate) struct Metered {
    store: Arc<dyn Store>,
    instruments: Instruments,
    stats: Arc<Stats>,
}

impl Metered {
    pub(crate) fn new(store: Arc<dyn Store>, instruments: Instruments, stats: Arc<Stats>) -> Self {
        Self { store, instruments, stats }
    }

    /// Measures an operation. It has a span of its own where the call that it belongs to has one.
    async fn timed<T>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let done = match self.span(operation) {
            None => work.await,
            Some(context) => {
                let done = work.with_context(context.clone()).await;
                if let Err(error) = &done {
                    context.span().set_status(Status::error(outcome(error)));
                }
                context.span().end();
                done
            }
        };
        let outcome = done.as_ref().err().map_or("ok", outcome);
        self.instruments.store_call(operation, outcome, began.elapsed());
        done
    }

    fn span(&self, operation: &'static str) -> Option<Context> {
        Context::map_current(|current| {
            if !current.span().is_recording() {
                return None;
            }
            let tracer = self.instruments.tracer();
            let builder = tracer.span_builder(operation).with_kind(SpanKind::Client);
            Some(current.with_span(tracer.build_with_context(builder, current)))
        })
    }
}

/// An error in one word.
const fn outcome(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "unavailable",
        StoreError::Full { .. } => "full",
        StoreError::NotFound => "not_found",
    }
}

const fn kind(mode: Mode, with_bot: bool) -> MatchKind {
    let mode = match mode {
        Mode::Casual => "casual",
        Mode::Ranked => "ranked",
    };
    MatchKind { mode, opponent: if with_bot { "bot" } else { "person" } }
}

/// What there is to tell of a commit once it is stored.
struct Told {
    game: MatchKind,
    started: bool,
    /// Why the match ended, and how long after that moment this is stored, ms.
    finished: Option<(EndReason, u64)>,
    /// How long ago the seals of the turn that resolved were made, ms.
    resolved_ms: Option<[u64; 2]>,
    follow_ups: Vec<FollowUp>,
}

impl Told {
    fn of(commit: &Commit) -> Self {
        let (change, now) = (&commit.change, commit.judged.stamp);
        let game = &change.next;
        let has_finished = change.events.contains(&Event::Finished);
        let finish = game.finish().filter(|_| has_finished);
        let resolved_ms = change.turn().map(|turn| {
            let sealed_ms = turn.facts.sealed_ms;
            [sealed_ms.black, sealed_ms.white].map(|ms| turn.facts.resolved_ms.saturating_sub(ms))
        });
        Self {
            game: kind(game.settings.mode, game.settings.bot.is_some()),
            started: change.events.contains(&Event::TurnOpened { turn: 1 }),
            finished: finish.map(|finish| (finish.reason, now.ms_since(finish.at))),
            resolved_ms,
            follow_ups: change.follow_ups.clone(),
        }
    }

    fn tell(self, instruments: &Instruments, stats: &Stats) {
        if self.started {
            instruments.match_started(self.game);
        }
        for after_ms in self.resolved_ms.into_iter().flatten() {
            instruments.seal_resolved(after_ms);
            stats.count(Count::Seals);
        }
        if let Some((reason, late_ms)) = self.finished {
            instruments.match_finished(self.game, reason);
            stats.count(Count::FinishedMatches);
            if is_by_time(reason) {
                instruments.deadline_passed(reason, late_ms);
            }
        }
        instruments.follow_ups(&self.follow_ups, "left");
    }
}

/// Whether it was a deadline that ended a match.
const fn is_by_time(reason: EndReason) -> bool {
    matches!(
        reason,
        EndReason::Flag
            | EndReason::BothFlagged
            | EndReason::FailedReveal
            | EndReason::NoShow
            | EndReason::Idle
    )
}

#[async_trait]
impl MatchStore for Metered {
    fn shard_count(&self) -> u16 {
        self.store.shard_count()
    }

    async fn now(&self, id: MatchId) -> Result<Now, StoreError> {
        self.timed("now", self.store.now(id)).await
    }

    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError> {
        self.timed("create", self.store.create(change, nonce)).await
    }

    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError> {
        self.timed("load", self.store.load(id)).await
    }

    async fn pass(&self, id: MatchId) -> Passage<'_> {
        self.store.pass(id).await
    }

    fn recent(&self, id: MatchId) -> Option<Loaded> {
        self.store.recent(id)
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError> {
        let told = Told::of(&commit);
        let outcome = self.timed("commit", self.store.commit(commit)).await;
        let (label, counts) = match &outcome {
            Ok(CommitOutcome::Committed(_)) => ("committed", None),
            Ok(CommitOutcome::Conflict(_)) => ("conflict", Some(Count::Conflicts)),
            Ok(CommitOutcome::Restamp(_)) => ("restamp", Some(Count::Restamps)),
            Ok(CommitOutcome::TooLate(_)) => ("too_late", Some(Count::Restamps)),
            Err(_) => ("failed", None),
        };
        self.instruments.commit(label);
        counts.into_iter().for_each(|what| self.stats.count(what));
        if matches!(outcome, Ok(CommitOutcome::Committed(_))) {
            told.tell(&self.instruments, &self.stats);
        }
        outcome
    }

    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        self.timed("turns", self.store.turns(id, from, limit)).await
    }

    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        self.timed("watch", self.store.watch(id)).await
    }

    async fn touch(&self, shard: Shard) -> Result<Now, StoreError> {
        self.timed("touch", self.store.touch(shard)).await
    }

    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError> {
        self.timed("due", self.store.due(shard, limit)).await
    }

    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        self.timed("postpone", self.store.postpone(id, version, due)).await
    }

    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError> {
        self.timed("settle", self.store.settle(id, version, done)).await?;
        self.instruments.follow_ups(done, "done");
        Ok(())
    }
}

#[async_trait]
impl InviteStore for Metered {
    async fn create_invite(&self, invite: Invite) -> Result<Invite, StoreError> {
        self.timed("create_invite", self.store.create_invite(invite)).await
    }

    async fn invite(&self, id: InviteId) -> Result<(Invite, Stamp), StoreError> {
        self.timed("invite", self.store.invite(id)).await
    }

    async fn close_invite(&self, id: InviteId, closing: Closing) -> Result<Invite, StoreError> {
        self.timed("close_invite", self.store.close_invite(id, closing)).await
    }
}

#[async_trait]
impl PlayerStore for Metered {
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError> {
        self.timed("index_match", self.store.index_match(player, entry)).await
    }

    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError> {
        self.timed("matches_of", self.store.matches_of(player, finished, after, limit)).await
    }

    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError> {
        self.timed("forget_matches_of", self.store.forget_matches_of(player)).await
    }

    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError> {
        self.timed("open_invites_of", self.store.open_invites_of(player, limit)).await
    }

    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError> {
        self.timed("watch_player", self.store.watch_player(player)).await
    }
}

#[async_trait]
impl RequestStore for Metered {
    async fn remember(&self, key: RequestKey, record: RequestRecord) -> Result<RequestRecord, StoreError> {
        self.timed("remember", self.store.remember(key, record)).await
    }
}

#[async_trait]
impl NodeStore for Metered {
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError> {
        self.timed("meet", self.store.meet(report)).await
    }

    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError> {
        self.timed("nodes", self.store.nodes()).await
    }

    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError> {
        self.timed("ask_to_drain", self.store.ask_to_drain(node)).await
    }

    async fn waiting_matches(&self) -> Result<u64, StoreError> {
        self.timed("waiting_matches", self.store.waiting_matches()).await
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        self.timed("part", self.store.part(node)).await
    }

    async fn glance(&self, shards: &[Shard]) -> Result<Vec<Glance>, StoreError> {
        self.timed("glance", self.store.glance(shards)).await
    }
}

#[async_trait]
impl FeedStore for Metered {
    fn has_feed(&self) -> bool {
        self.store.has_feed()
    }

    async fn feed_begin(&self, shard: Shard) -> Result<FeedPosition, StoreError> {
        self.timed("feed_begin", self.store.feed_begin(shard)).await
    }

    async fn feed(&self, shard: Shard, after: FeedPosition, limit: usize) -> Result<FeedPage, StoreError> {
        self.timed("feed", self.store.feed(shard, after, limit)).await
    }

    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        self.timed("watch_feed", self.store.watch_feed()).await
    }
}

#[async_trait]
impl TicketStore for Metered {
    async fn create_ticket(&self, name: &TicketName, wish: Arc<Wish>) -> Result<SeenTicket, StoreError> {
        self.timed("create_ticket", self.store.create_ticket(name, wish)).await
    }

    async fn ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.timed("ticket", self.store.ticket(name)).await
    }

    async fn renew_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.timed("renew_ticket", self.store.renew_ticket(name)).await
    }

    async fn leave_ticket(&self, name: &TicketName) -> Result<SeenTicket, StoreError> {
        self.timed("leave_ticket", self.store.leave_ticket(name)).await
    }

    async fn claim(
        &self,
        pool: &PoolName,
        tickets: &[TicketId],
        game: &NewMatch,
    ) -> Result<Claim, StoreError> {
        let claimed = self.timed("claim", self.store.claim(pool, tickets, game)).await?;
        if claimed == Claim::Claimed {
            let opponent = kind(game.settings.mode, game.settings.bot.is_some()).opponent;
            let made = |id| TicketName { pool: pool.clone(), id }.made();
            let now = made(TicketId::from_bytes(*game.id.as_bytes()));
            for ticket in tickets {
                self.instruments.ticket_matched(pool.as_str(), opponent, now.ms_since(made(*ticket)));
            }
        }
        Ok(claimed)
    }

    async fn made(&self, pool: &PoolName, match_id: MatchId) -> Result<(), StoreError> {
        self.timed("made", self.store.made(pool, match_id)).await
    }

    async fn requeue(&self, name: &TicketName, aborted: MatchId) -> Result<SeenTicket, StoreError> {
        self.timed("requeue", self.store.requeue(name, aborted)).await
    }

    async fn pool(&self, pool: &PoolName, after: PoolCursor) -> Result<PoolPage, StoreError> {
        self.timed("pool", self.store.pool(pool, after)).await
    }
}

#[async_trait]
impl ReservationStore for Metered {
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError> {
        self.timed("reservation", self.store.reservation(player)).await
    }

    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError> {
        self.timed("reserve", self.store.reserve(player, expected, next)).await
    }

    async fn enter(
        &self,
        key: RequestKey,
        request: RequestRecord,
        next: &Reservation,
    ) -> Result<Entry, StoreError> {
        self.timed("enter", self.store.enter(key, request, next)).await
    }
}

#[async_trait]
impl AccessStore for Metered {
    async fn access(&self, player: &str) -> Result<Option<Access>, StoreError> {
        self.timed("access", self.store.access(player)).await
    }

    async fn put_access(
        &self,
        player: &str,
        expected: Option<&Access>,
        next: &Access,
    ) -> Result<Option<Access>, StoreError> {
        self.timed("put_access", self.store.put_access(player, expected, next)).await
    }

    async fn access_changes(&self, after: AccessCursor) -> Result<AccessPage, StoreError> {
        self.timed("access_changes", self.store.access_changes(after)).await
    }
}

#[async_trait]
impl RecordStore for Metered {
    async fn remove_record(&self, player: &str) -> Result<(), StoreError> {
        self.timed("remove_record", self.store.remove_record(player)).await
    }

    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError> {
        self.timed("unrank", self.store.unrank(speed, player)).await
    }

    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError> {
        self.timed("record", self.store.record(player)).await
    }

    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError> {
        self.timed("put_record", self.store.put_record(player, expected, record, nonce)).await
    }

    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        self.timed("rank", self.store.rank(speed, player, points_micro, matches)).await
    }

    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError> {
        self.timed("leaderboard", self.store.leaderboard(speed, skip, limit)).await
    }

    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError> {
        self.timed("leaderboard_place", self.store.leaderboard_place(speed, player)).await
    }
}
