//! What a store holds and what each operation does to it, with nothing that could fail: the semantics of the
//! scripts of the Redis store, in memory. An operation is one step at one moment of the store's clock.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use referee::{Change, FollowUp, Match, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Closing, Commit, CommitOutcome, Due, FeedEntry, FeedPage, FeedPosition, Glance, Indexed, Invite,
    InviteId, Loaded, NodeBook, PageKey, RequestKey, RequestRecord, Shard, StoreError, Stored, Version,
};

use crate::model_access::ModelAccess;
use crate::model_feed::ModelFeed;
use crate::model_pools::{ModelPlayers, ModelPools};

/// A gap between two operations above this counts as an outage, ms.
const OUTAGE_MIN_MS: u64 = 3_000;

/// The silence after which a shard's clock needs a sign of life, ms.
const SILENCE_MS: u64 = 1_000;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How long a finished match can be read, ms.
const MATCH_RETENTION_MS: u64 = 7 * DAY_MS;

/// How long an invite can be read after its end, and a request is remembered, ms.
const SHORT_RETENTION_MS: u64 = DAY_MS;

/// A list's order: newest first, ties by id.
type Place = (Reverse<Stamp>, MatchId);

/// A shard's clock: when somebody was last there, and the outage sum.
#[derive(Clone, Copy, Default)]
struct ShardClock {
    alive: Option<Stamp>,
    outage_ms: u64,
}

/// A match as it is kept.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) stored: Stored,
    pub(crate) turns: Vec<Arc<TurnRecord>>,
    /// Where it stands in the due set.
    pub(crate) due: Option<Stamp>,
    /// How many were created before it: what is due at the same time comes in this order, which unlike
    /// that of the ids does not depend on what the product draws at random.
    number: usize,
}

/// Everything that is stored. A replica takes a copy every few steps, most of which move a clock and no more: what
/// is large is shared until it changes.
#[derive(Clone)]
pub(crate) struct Model {
    clocks: Vec<ShardClock>,
    feeds: Vec<ModelFeed>,
    pub(crate) matches: Arc<BTreeMap<MatchId, Arc<Entry>>>,
    invites: Arc<BTreeMap<InviteId, (Invite, Stamp)>>,
    requests: Arc<BTreeMap<(String, String), (RequestRecord, Stamp)>>,
    lists: Arc<BTreeMap<String, BTreeMap<Place, bool>>>,
    /// When each node last said that it is there.
    pub(crate) nodes: NodeBook,
    pub(crate) pools: Arc<ModelPools>,
    pub(crate) players: Arc<ModelPlayers>,
    pub(crate) access: Arc<ModelAccess>,
}

impl Model {
    pub(crate) fn new(shards: u16) -> Self {
        Self {
            clocks: vec![ShardClock::default(); usize::from(shards.max(1))],
            feeds: vec![ModelFeed::default(); usize::from(shards.max(1))],
            matches: Arc::default(),
            invites: Arc::default(),
            requests: Arc::default(),
            lists: Arc::default(),
            nodes: NodeBook::default(),
            pools: Arc::default(),
            players: Arc::default(),
            access: Arc::default(),
        }
    }

    pub(crate) fn shard_count(&self) -> u16 {
        self.clocks.len() as u16
    }

    /// The shard's time, which never goes back; time in which nobody was there is added to its outage sum.
    pub(crate) fn shard_time(&mut self, shard: Shard, clock: Stamp) -> Now {
        let count = self.clocks.len();
        let kept = &mut self.clocks[usize::from(shard.0) % count];
        let alive = kept.alive.unwrap_or(clock);
        let gap_ms = clock.ms_since(alive);
        if gap_ms > OUTAGE_MIN_MS {
            kept.outage_ms = kept.outage_ms.saturating_add(gap_ms);
        }
        let stamp = clock.max(alive);
        kept.alive = Some(stamp);
        Now { stamp, outage_ms: kept.outage_ms }
    }

    pub(crate) fn time_of(&mut self, id: MatchId, clock: Stamp) -> Now {
        self.shard_time(Shard::of(id, self.shard_count()), clock)
    }

    pub(crate) fn create(&mut self, change: Change, nonce: [u8; 8], clock: Stamp) -> Loaded {
        let id = change.next.id;
        let now = self.time_of(id, clock);
        if let Some(entry) = self.entry(id, now.stamp) {
            return loaded(entry.stored.clone(), now);
        }
        let stored = Stored {
            version: Version::first(nonce),
            stamp: now.stamp.max(change.next.created),
            head: change.next,
            follow_ups: change.follow_ups,
        };
        let number = self.matches.len();
        let entry = Entry { due: due_time(&stored), stored: stored.clone(), turns: Vec::new(), number };
        Arc::make_mut(&mut self.matches).insert(id, Arc::new(entry));
        loaded(stored, now)
    }

    pub(crate) fn load(&mut self, id: MatchId, clock: Stamp) -> Result<Loaded, StoreError> {
        let now = self.time_of(id, clock);
        let entry = self.entry(id, now.stamp).ok_or(StoreError::NotFound)?;
        Ok(loaded(entry.stored.clone(), now))
    }

    pub(crate) fn commit(&mut self, commit: Commit, clock: Stamp) -> Result<CommitOutcome, StoreError> {
        let id = commit.change.next.id;
        let now = self.time_of(id, clock);
        let stored = &self.entry(id, now.stamp).ok_or(StoreError::NotFound)?.stored;
        if stored.version != commit.expected {
            return Ok(CommitOutcome::Conflict(loaded(stored.clone(), now)));
        }
        if let Some(refused) = commit.refused_at(stored.stamp, now) {
            return Ok(refused);
        }
        let stored_at = now.stamp.max(stored.stamp);
        let told = FeedEntry::of(&commit.change, commit.judged.stamp, commit.nonce);
        let turn = commit.change.turn().cloned();
        let mut follow_ups = stored.follow_ups.clone();
        follow_ups.retain(|waiting| !commit.change.follow_ups.contains(waiting));
        follow_ups.extend(commit.change.follow_ups);
        let next = Stored {
            head: commit.change.next,
            version: commit.expected.next(commit.nonce),
            stamp: commit.judged.stamp,
            follow_ups,
        };
        self.change(id, |entry| {
            entry.stored = next.clone();
            entry.turns.extend(turn);
            entry.due = due_time(&next);
        });
        if let Some(told) = told {
            let shard = Shard::of(id, self.shard_count());
            self.feeds[usize::from(shard.0)].append(stored_at, told);
        }
        Ok(CommitOutcome::Committed(next))
    }

    pub(crate) fn turns(
        &mut self,
        id: MatchId,
        from: u32,
        limit: usize,
        clock: Stamp,
    ) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let now = self.time_of(id, clock);
        let entry = self.entry(id, now.stamp).ok_or(StoreError::NotFound)?;
        let skip = from.saturating_sub(1) as usize;
        Ok(entry.turns.iter().skip(skip).take(limit).cloned().collect())
    }

    pub(crate) fn feed_begin(&mut self, shard: Shard, clock: Stamp) -> FeedPosition {
        self.shard_time(shard, clock);
        self.feed_of(shard).begin()
    }

    pub(crate) fn feed(&mut self, shard: Shard, after: FeedPosition, limit: usize, clock: Stamp) -> FeedPage {
        self.shard_time(shard, clock);
        self.feed_of(shard).page(after, limit)
    }

    /// Where each shard's feed ends.
    pub(crate) fn feed_ends(&self) -> Vec<Option<FeedPosition>> {
        self.feeds.iter().map(ModelFeed::end).collect()
    }

    fn feed_of(&self, shard: Shard) -> &ModelFeed {
        &self.feeds[usize::from(shard.0) % self.feeds.len()]
    }

    pub(crate) fn due(&mut self, shard: Shard, limit: usize, clock: Stamp) -> Due {
        let now = self.shard_time(shard, clock);
        let count = self.shard_count();
        let mut passed: Vec<_> = self
            .matches
            .iter()
            .filter(|(id, _)| Shard::of(**id, count) == shard)
            .filter_map(|(id, entry)| Some((entry.due.filter(|due| *due <= now.stamp)?, entry.number, *id)))
            .collect();
        passed.sort_unstable();
        Due { matches: passed.into_iter().take(limit).map(|(_, _, id)| id).collect(), now }
    }

    pub(crate) fn postpone(
        &mut self,
        id: MatchId,
        version: Version,
        due: Stamp,
        clock: Stamp,
    ) -> Result<(), StoreError> {
        let now = self.time_of(id, clock);
        let stored = &self.entry(id, now.stamp).ok_or(StoreError::NotFound)?.stored;
        if stored.version == version && !rests(stored) {
            self.change(id, |entry| entry.due = Some(due));
        }
        Ok(())
    }

    pub(crate) fn settle(
        &mut self,
        id: MatchId,
        version: Version,
        done: &[FollowUp],
        clock: Stamp,
    ) -> Result<(), StoreError> {
        let now = self.time_of(id, clock);
        let stored = &self.entry(id, now.stamp).ok_or(StoreError::NotFound)?.stored;
        let settles = stored.follow_ups.iter().any(|waiting| done.contains(waiting));
        if stored.version == version && settles {
            self.change(id, |entry| {
                entry.stored.follow_ups.retain(|waiting| !done.contains(waiting));
                entry.due = due_time(&entry.stored);
            });
        }
        Ok(())
    }

    pub(crate) fn create_invite(&mut self, invite: Invite, clock: Stamp) -> Invite {
        let now = self.time_of(invite.id, clock).stamp;
        if let Some((kept, _)) = self.invites.get(&invite.id).filter(|(_, until)| now <= *until) {
            return kept.clone();
        }
        let until = invite.expires.plus_ms(SHORT_RETENTION_MS);
        Arc::make_mut(&mut self.invites).insert(invite.id, (invite.clone(), until));
        invite
    }

    pub(crate) fn invite(&mut self, id: InviteId, clock: Stamp) -> Result<(Invite, Stamp), StoreError> {
        let now = self.time_of(id, clock).stamp;
        let kept = self.invites.get(&id).filter(|(_, until)| now <= *until);
        kept.map(|(invite, _)| (invite.clone(), now)).ok_or(StoreError::NotFound)
    }

    pub(crate) fn close_invite(
        &mut self,
        id: InviteId,
        closing: Closing,
        clock: Stamp,
    ) -> Result<Invite, StoreError> {
        let (mut invite, now) = self.invite(id, clock)?;
        if invite.closing.is_none() && now <= invite.expires {
            invite.closing = Some(closing);
            Arc::make_mut(&mut self.invites).insert(id, (invite.clone(), now.plus_ms(SHORT_RETENTION_MS)));
        }
        Ok(invite)
    }

    pub(crate) fn open_invites_of(&self, player: &str, limit: usize, clock: Stamp) -> Vec<Invite> {
        let concerns =
            |invite: &Invite| invite.inviter == player || invite.invitee.as_deref() == Some(player);
        let mut open: Vec<_> = self
            .invites
            .values()
            .filter(|(invite, until)| invite.closing.is_none() && concerns(invite) && clock <= *until)
            .map(|(invite, _)| invite.clone())
            .collect();
        open.sort_by_key(|invite| Reverse((invite.created, invite.id)));
        open.truncate(limit);
        open
    }

    pub(crate) fn index_match(&mut self, player: &str, entry: Indexed) {
        let list = Arc::make_mut(&mut self.lists).entry(player.to_owned()).or_default();
        *list.entry((Reverse(entry.created), entry.match_id)).or_default() |= entry.finished;
    }

    pub(crate) fn forget_matches_of(&mut self, player: &str) {
        Arc::make_mut(&mut self.lists).remove(player);
    }

    pub(crate) fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Vec<Indexed> {
        let after = after.map(|key| (Reverse(key.created), key.match_id));
        let list = self.lists.get(player).into_iter().flatten();
        list.filter(|(place, _)| after.is_none_or(|after| **place > after))
            .filter(|(_, over)| finished.is_none_or(|finished| finished == **over))
            .take(limit)
            .map(|((Reverse(created), match_id), over)| Indexed {
                match_id: *match_id,
                finished: *over,
                created: *created,
            })
            .collect()
    }

    pub(crate) fn remember(&mut self, key: RequestKey, record: RequestRecord, clock: Stamp) -> RequestRecord {
        let kept = Arc::make_mut(&mut self.requests).entry((key.actor, key.request_id));
        let kept = kept.or_insert((record, clock.plus_ms(SHORT_RETENTION_MS)));
        if clock > kept.1 {
            *kept = (record, clock.plus_ms(SHORT_RETENTION_MS));
        }
        kept.0
    }

    /// How many matches wait for a deadline or for work.
    pub(crate) fn waiting_matches(&self) -> u64 {
        self.matches.values().filter(|entry| entry.due.is_some()).count() as u64
    }

    /// Looks at a shard without showing it that somebody is there.
    pub(crate) fn glance(&self, shard: Shard, clock: Stamp) -> Glance {
        let own = |id: &MatchId| Shard::of(*id, self.shard_count()) == shard;
        let due = self.matches.iter().filter(|(id, _)| own(id)).filter_map(|(_, entry)| entry.due).min();
        let Some(due) = due else { return Glance { shard, overdue_ms: None, silent: false } };
        let alive = self.clocks[usize::from(shard.0) % self.clocks.len()].alive;
        let silent = alive.is_none_or(|alive| clock.ms_since(alive) >= SILENCE_MS);
        Glance { shard, overdue_ms: clock.as_ms().checked_sub(due.as_ms()), silent }
    }

    /// A match that can still be read.
    pub(crate) fn entry(&self, id: MatchId, now: Stamp) -> Option<&Entry> {
        let entry = self.matches.get(&id)?;
        let kept_until = kept_until(&entry.stored.head).filter(|_| rests(&entry.stored));
        kept_until.is_none_or(|until| now <= until).then_some(entry)
    }

    fn change(&mut self, id: MatchId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = Arc::make_mut(&mut self.matches).get_mut(&id) {
            change(Arc::make_mut(entry));
        }
    }
}

fn loaded(stored: Stored, now: Now) -> Loaded {
    Loaded { now: Now { stamp: now.stamp.max(stored.stamp), ..now }, stored }
}

/// Where a match belongs in the due set: at once while a follow-up waits, else at its next deadline.
fn due_time(stored: &Stored) -> Option<Stamp> {
    if stored.follow_ups.is_empty() { stored.head.due() } else { Some(stored.stamp) }
}

fn rests(stored: &Stored) -> bool {
    stored.head.finish().is_some() && stored.follow_ups.is_empty()
}

fn kept_until(head: &Match) -> Option<Stamp> {
    head.finish().map(|finish| finish.at.plus_ms(MATCH_RETENTION_MS))
}
