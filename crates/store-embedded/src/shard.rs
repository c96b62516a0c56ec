//! One shard in memory: its clock, its matches and what is due.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use referee::{Change, FollowUp, Match, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{
    Commit, CommitOutcome, Due, FeedEntry, FeedPosition, Hint, Hints, Loaded, StoreError, Stored,
    TraceContext, Version,
};
use tokio::sync::watch;

use crate::claims::{Claims, Turnstile};
use crate::feed::{Feed, Order, Told};
use crate::options::{self, Options};

/// Matches a shard holds in memory at most: with 16 shards about 130,000, some 3 GB at 40 turns each.
/// What comes above is refused rather than swapped.
const MATCHES_MAX: usize = 8_192;

/// Resolved turns of a match kept in memory where the others can be read from a disk: what a late seal
/// or a stream that lags a little asks for.
const RECENT_TURNS: usize = 8;

struct Entry {
    stored: Stored,
    /// Resolved turns that are on the disk only.
    earlier: u32,
    /// Those after them.
    turns: Vec<Arc<TurnRecord>>,
    /// Where the match stands in the due set.
    due: Option<Stamp>,
    /// None before anybody has watched: most changes of a match that nobody does tell nobody.
    hints: Option<watch::Sender<Hint>>,
}

/// What stands behind the memory of a shard.
pub(crate) trait Behind {
    /// Whether what is at rest can be read from there, and so need not stay in memory.
    const KEEPS: bool;

    /// A match at rest.
    fn resting(&self, id: MatchId) -> Result<Option<Stored>, StoreError>;
}

/// The state of a match after a change that is not yet made. While it exists the match is claimed.
pub(crate) struct Prepared {
    pub(crate) stored: Stored,
    /// The turn to append.
    pub(crate) turn: Option<Arc<TurnRecord>>,
    /// What the feed tells of it.
    pub(crate) told: Option<Told>,
    /// The span that it was made in.
    pub(crate) trace: Option<TraceContext>,
}

/// How far a change has come.
#[allow(clippy::large_enum_variant, reason = "it is taken apart right where it is made")]
pub(crate) enum Step<I, A> {
    /// There is nothing to write: this is the answer.
    Answered(A),
    /// Another change of the match is in flight: wait for it and try again.
    Busy(I, Turnstile),
    /// This is to be written and then applied.
    Prepared(Prepared),
}

/// A match is over and nothing waits on it: it never changes again.
pub(crate) fn rests(stored: &Stored) -> bool {
    stored.head.finish().is_some() && stored.follow_ups.is_empty()
}

/// The last moment at which a finished match can be read.
pub(crate) fn kept_until(head: &Match, retention_ms: u64) -> Option<Stamp> {
    head.finish().map(|finish| finish.at.plus_ms(retention_ms))
}

/// One shard. Every operation takes the clock's time and is atomic under the shard's lock. A change has
/// two of them: it is prepared on what everyone sees, and applied, to be seen, once it is durable.
pub(crate) struct Shard {
    /// When somebody was last here.
    alive: Stamp,
    outage_ms: u64,
    matches: HashMap<MatchId, Entry, RandomState>,
    changing: Claims<MatchId, RandomState>,
    due: BTreeSet<(Stamp, MatchId)>,
    /// Matches in memory that are at rest, by the end of their retention.
    resting: BTreeSet<(Stamp, MatchId)>,
    /// How long a finished match can be read, ms.
    pub(crate) retention_ms: u64,
    pub(crate) feed: Feed,
}

impl Shard {
    pub(crate) fn new(number: u16, alive: Stamp, outage_ms: u64) -> Self {
        Self {
            alive,
            outage_ms,
            matches: HashMap::default(),
            changing: Claims::default(),
            due: BTreeSet::new(),
            resting: BTreeSet::new(),
            retention_ms: options::retention_ms(Options::RETENTION_DAYS_DEFAULT),
            feed: Feed::new(number),
        }
    }

    /// The shard's time. Time in which nobody was here is added to the outage sum first.
    pub(crate) fn now(&mut self, clock: Stamp) -> Now {
        let gap_ms = clock.ms_since(self.alive);
        if gap_ms > store::OUTAGE_MIN_MS {
            self.outage_ms = self.outage_ms.saturating_add(gap_ms);
        }
        self.alive = self.alive.max(clock);
        Now { stamp: self.alive, outage_ms: self.outage_ms }
    }

    /// When somebody was last here, and the outage sum.
    pub(crate) fn clock(&self) -> Now {
        Now { stamp: self.alive, outage_ms: self.outage_ms }
    }

    pub(crate) fn create<B: Behind>(
        &mut self,
        (change, nonce): (Change, [u8; 8]),
        now: Now,
        behind: &B,
    ) -> Step<(Change, [u8; 8]), Result<Loaded, StoreError>> {
        let id = change.next.id;
        if let Some(turnstile) = self.changing.queue(&id) {
            return Step::Busy((change, nonce), turnstile);
        }
        match self.recall(id, behind) {
            Ok(_) => return Step::Answered(self.load(id, now).ok_or(StoreError::NotFound)),
            Err(StoreError::NotFound) => {}
            Err(error) => return Step::Answered(Err(error)),
        }
        if self.matches.len() >= MATCHES_MAX {
            let full = StoreError::Full { limit: MATCHES_MAX, what: "matches a shard" };
            return Step::Answered(Err(full));
        }
        self.changing.claim(id);
        let stored = Stored {
            head: change.next,
            version: Version::first(nonce),
            stamp: now.stamp,
            follow_ups: change.follow_ups,
        };
        Step::Prepared(Prepared { stored, turn: None, told: None, trace: None })
    }

    pub(crate) fn commit<B: Behind>(
        &mut self,
        commit: Commit,
        now: Now,
        behind: &B,
    ) -> Step<Commit, Result<CommitOutcome, StoreError>> {
        let id = commit.change.next.id;
        if let Some(turnstile) = self.changing.queue(&id) {
            return Step::Busy(commit, turnstile);
        }
        let has_feed = self.feed.limits().is_some();
        let stored = match self.recall(id, behind) {
            Ok(entry) => &entry.stored,
            Err(error) => return Step::Answered(Err(error)),
        };
        if stored.version != commit.expected {
            let stored = stored.clone();
            return Step::Answered(Ok(CommitOutcome::Conflict(loaded(stored, now))));
        }
        if let Some(refused) = commit.refused_at(stored.stamp, now) {
            return Step::Answered(Ok(refused));
        }
        let turn = commit.change.turn().cloned();
        let entry =
            if has_feed { FeedEntry::of(&commit.change, commit.judged.stamp, commit.nonce) } else { None };
        let mut follow_ups = stored.follow_ups.clone();
        follow_ups.retain(|waiting| !commit.change.follow_ups.contains(waiting));
        follow_ups.extend(commit.change.follow_ups);
        let stored = Stored {
            head: commit.change.next,
            version: commit.expected.next(commit.nonce),
            stamp: commit.judged.stamp,
            follow_ups,
        };
        self.changing.claim(id);
        let told = entry.and_then(|entry| self.feed.give(now.stamp.as_ms(), entry));
        Step::Prepared(Prepared { stored, turn, told, trace: commit.trace })
    }

    pub(crate) fn settle<B: Behind>(
        &mut self,
        id: MatchId,
        version: Version,
        done: &[FollowUp],
        behind: &B,
    ) -> Step<(), Result<(), StoreError>> {
        if let Some(turnstile) = self.changing.queue(&id) {
            return Step::Busy((), turnstile);
        }
        let stored = match self.recall(id, behind) {
            Ok(entry) => &entry.stored,
            Err(error) => return Step::Answered(Err(error)),
        };
        let settles = stored.follow_ups.iter().any(|waiting| done.contains(waiting));
        if stored.version != version || !settles {
            return Step::Answered(Ok(()));
        }
        let mut stored = stored.clone();
        stored.follow_ups.retain(|waiting| !done.contains(waiting));
        self.changing.claim(id);
        Step::Prepared(Prepared { stored, turn: None, told: None, trace: None })
    }

    /// Lets everyone see a change. Returns where the feed ends now, if it went on.
    pub(crate) fn apply<B: Behind>(&mut self, prepared: Prepared) -> Option<FeedPosition> {
        let Prepared { stored, turn, told, trace } = prepared;
        let id = stored.head.id;
        self.changing.release(&id);
        let version = stored.version;
        let entry = self.matches.entry(id).or_insert_with(|| Entry::new(stored.clone()));
        entry.stored = stored;
        entry.turns.extend(turn);
        if B::KEEPS && entry.turns.len() >= 2 * RECENT_TURNS {
            entry.turns.drain(..RECENT_TURNS);
            entry.earlier = entry.stored.head.resolved.saturating_sub(entry.turns.len() as u32);
        }
        if let Some(hints) = &entry.hints {
            let hint = Hint { version, trace, is_repair: false };
            hints.send_if_modified(|hinted| std::mem::replace(hinted, hint).version != version);
        }
        self.reschedule(id, None);
        told.and_then(|told| self.feed.stored(told, !B::KEEPS))
    }

    /// Forgets a change that could not be written, and its place in the feed. Returns as [`Shard::apply`].
    pub(crate) fn give_up(&mut self, id: MatchId, told: Option<Order>) -> Option<FeedPosition> {
        self.changing.release(&id);
        told.and_then(|told| self.feed.give_up(told))
    }

    /// Takes in a match that an earlier process left.
    pub(crate) fn restore(&mut self, stored: Stored) {
        let id = stored.head.id;
        self.matches.insert(id, Entry::new(stored));
        self.reschedule(id, None);
    }

    /// A match in memory.
    pub(crate) fn load(&self, id: MatchId, now: Now) -> Option<Loaded> {
        self.matches.get(&id).map(|entry| loaded(entry.stored.clone(), now))
    }

    /// The turns in memory from `from` on, at most `limit`, and how many turns there are before them that
    /// are on the disk only. None if the match is not in memory.
    pub(crate) fn turns(&self, id: MatchId, from: u32, limit: usize) -> Option<(u32, Vec<Arc<TurnRecord>>)> {
        let entry = self.matches.get(&id)?;
        let skip = from.saturating_sub(1).saturating_sub(entry.earlier) as usize;
        Some((entry.earlier, entry.turns.iter().skip(skip).take(limit).cloned().collect()))
    }

    pub(crate) fn watch<B: Behind>(&mut self, id: MatchId, behind: &B) -> Result<Hints, StoreError> {
        let entry = self.recall(id, behind)?;
        let version = entry.stored.version;
        Ok(Hints::new(entry.hints.get_or_insert_with(|| watch::Sender::new(version.into())).subscribe()))
    }

    /// How many matches wait for a deadline or for work.
    pub(crate) fn waiting(&self) -> usize {
        self.due.len()
    }

    pub(crate) fn due(&self, limit: usize, now: Now) -> Due {
        let passed = self.due.iter().take_while(|(due, _)| *due <= now.stamp);
        Due { matches: passed.take(limit).map(|(_, id)| *id).collect(), now }
    }

    pub(crate) fn postpone<B: Behind>(
        &mut self,
        id: MatchId,
        version: Version,
        due: Stamp,
        behind: &B,
    ) -> Result<(), StoreError> {
        let stored = &self.recall(id, behind)?.stored;
        if stored.version == version && !rests(stored) {
            self.reschedule(id, Some(due));
        }
        Ok(())
    }

    /// Forgets the matches whose retention has passed and returns them. For a shard with nothing behind.
    pub(crate) fn expire(&mut self, now: Now) -> Vec<Arc<Match>> {
        let mut expired = Vec::new();
        while let Some((at, id)) = self.resting.first().copied().filter(|(at, _)| *at < now.stamp) {
            self.resting.remove(&(at, id));
            expired.extend(self.matches.remove(&id).map(|entry| entry.stored.head));
        }
        expired
    }

    /// Takes the matches at rest out of memory that nobody watches. For a shard with something behind.
    pub(crate) fn lay_to_rest(&mut self) {
        let (matches, changing) = (&mut self.matches, &self.changing);
        self.resting.retain(|(_, id)| {
            let hints = matches.get(id).and_then(|entry| entry.hints.as_ref());
            let watched = hints.is_some_and(|hints| hints.receiver_count() > 0);
            let stays = watched || changing.holds(id);
            if !stays {
                matches.remove(id);
            }
            stays
        });
    }

    /// Takes a match out of memory that is no longer stored.
    pub(crate) fn forget(&mut self, id: MatchId) {
        let entry = self.matches.remove(&id);
        if let Some(until) = entry.and_then(|entry| kept_until(&entry.stored.head, self.retention_ms)) {
            self.resting.remove(&(until, id));
        }
    }

    /// A match in memory, brought there if it was at rest.
    fn recall<B: Behind>(&mut self, id: MatchId, behind: &B) -> Result<&mut Entry, StoreError> {
        if !self.matches.contains_key(&id) {
            let stored = behind.resting(id)?.ok_or(StoreError::NotFound)?;
            self.restore(stored);
        }
        self.matches.get_mut(&id).ok_or(StoreError::NotFound)
    }

    /// Puts a match where it belongs in the due set: at `postponed` if given, at once while a follow-up
    /// waits, else at its next deadline. One with nothing left to do is at rest.
    fn reschedule(&mut self, id: MatchId, postponed: Option<Stamp>) {
        let Some(entry) = self.matches.get_mut(&id) else { return };
        let waiting = (!entry.stored.follow_ups.is_empty()).then_some(entry.stored.stamp);
        let due = postponed.or(waiting).or_else(|| entry.stored.head.due());
        if due.is_some() && due == entry.due {
            return;
        }
        if let Some(old) = std::mem::replace(&mut entry.due, due) {
            self.due.remove(&(old, id));
        }
        match (entry.due, kept_until(&entry.stored.head, self.retention_ms)) {
            (Some(due), _) => {
                self.due.insert((due, id));
            }
            (None, Some(until)) => {
                self.resting.insert((until, id));
            }
            (None, None) => {}
        }
    }
}

impl Entry {
    /// A match whose turns, if it has any, are on the disk.
    fn new(stored: Stored) -> Self {
        Self { earlier: stored.head.resolved, turns: Vec::new(), due: None, hints: None, stored }
    }
}

/// What is stored, and a time that is never before it.
pub(crate) fn loaded(stored: Stored, now: Now) -> Loaded {
    Loaded { now: Now { stamp: now.stamp.max(stored.stamp), ..now }, stored }
}
