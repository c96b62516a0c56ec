//! One shard in memory: its clock, its matches and what is due.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use referee::{Change, FollowUp, Match, Now, Stamp, TurnRecord};
use sealing::MatchId;
use store::{Commit, CommitOutcome, Due, Hints, Loaded, StoreError, Stored, Version};
use tokio::sync::watch;

/// Live and finished matches a shard holds at most: with 16 shards about 130,000, some 3 GB at 40 turns
/// each. What comes above is refused rather than swapped.
const MATCHES_MAX: usize = 8_192;

/// A gap between two operations above this counts as an outage, ms: three of the clockwork's pauses of
/// at most a second.
const OUTAGE_MIN_MS: u64 = 3_000;

/// How long a finished match can still be read, ms: a week, longer than any claim or invite.
pub(crate) const RETENTION_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

struct Entry {
    stored: Stored,
    turns: Vec<Arc<TurnRecord>>,
    /// Where the match stands in the due set.
    due: Option<Stamp>,
    hints: watch::Sender<Version>,
}

/// One shard. Every operation takes the clock's time and is atomic under the shard's lock.
pub(crate) struct Shard {
    /// When somebody was last here.
    alive: Stamp,
    outage_ms: u64,
    matches: HashMap<MatchId, Entry>,
    due: BTreeSet<(Stamp, MatchId)>,
    /// Finished matches by the end of their retention.
    expiring: BTreeSet<(Stamp, MatchId)>,
}

impl Shard {
    pub(crate) fn new(now: Stamp) -> Self {
        Self {
            alive: now,
            outage_ms: 0,
            matches: HashMap::new(),
            due: BTreeSet::new(),
            expiring: BTreeSet::new(),
        }
    }

    /// The shard's time. Time in which nobody was here is added to the outage sum first.
    pub(crate) fn now(&mut self, clock: Stamp) -> Now {
        let gap_ms = clock.ms_since(self.alive);
        if gap_ms > OUTAGE_MIN_MS {
            self.outage_ms = self.outage_ms.saturating_add(gap_ms);
        }
        self.alive = self.alive.max(clock);
        Now { stamp: self.alive, outage_ms: self.outage_ms }
    }

    pub(crate) fn create(&mut self, change: Change, nonce: [u8; 8], now: Now) -> Result<Loaded, StoreError> {
        let id = change.next.id;
        if !self.matches.contains_key(&id) {
            if self.matches.len() >= MATCHES_MAX {
                return Err(StoreError::Full { limit: MATCHES_MAX, what: "matches a shard" });
            }
            let version = Version::first(nonce);
            let stored = Stored {
                head: Arc::new(change.next),
                version,
                stamp: now.stamp,
                follow_ups: change.follow_ups,
            };
            let entry = Entry { stored, turns: Vec::new(), due: None, hints: watch::Sender::new(version) };
            self.matches.insert(id, entry);
            self.reschedule(id, None);
        }
        self.load(id, now)
    }

    pub(crate) fn load(&self, id: MatchId, now: Now) -> Result<Loaded, StoreError> {
        let stored = self.entry(id)?.stored.clone();
        Ok(Loaded { now: Now { stamp: now.stamp.max(stored.stamp), ..now }, stored })
    }

    pub(crate) fn commit(&mut self, commit: Commit, now: Now) -> Result<CommitOutcome, StoreError> {
        let id = commit.change.next.id;
        let entry = self.matches.get_mut(&id).ok_or(StoreError::NotFound)?;
        if entry.stored.version != commit.expected {
            return self.load(id, now).map(CommitOutcome::Conflict);
        }
        if let Some(refused) = commit.refused_at(entry.stored.stamp, now) {
            return Ok(refused);
        }
        entry.turns.extend(commit.change.turn().map(|turn| Arc::new(turn.clone())));
        let mut follow_ups = std::mem::take(&mut entry.stored.follow_ups);
        follow_ups.retain(|waiting| !commit.change.follow_ups.contains(waiting));
        follow_ups.extend(commit.change.follow_ups);
        entry.stored = Stored {
            head: Arc::new(commit.change.next),
            version: commit.expected.next(commit.nonce),
            stamp: commit.judged.stamp,
            follow_ups,
        };
        let stored = entry.stored.clone();
        entry.hints.send_replace(stored.version);
        self.reschedule(id, None);
        Ok(CommitOutcome::Committed(stored))
    }

    pub(crate) fn turns(
        &self,
        id: MatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let skip = from.saturating_sub(1) as usize;
        Ok(self.entry(id)?.turns.iter().skip(skip).take(limit).cloned().collect())
    }

    pub(crate) fn watch(&self, id: MatchId) -> Result<Hints, StoreError> {
        Ok(Hints::new(self.entry(id)?.hints.subscribe()))
    }

    pub(crate) fn due(&self, limit: usize, now: Now) -> Due {
        let passed = self.due.iter().take_while(|(due, _)| *due <= now.stamp);
        Due { matches: passed.take(limit).map(|(_, id)| *id).collect(), now }
    }

    pub(crate) fn postpone(&mut self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError> {
        let stored = &self.entry(id)?.stored;
        if stored.version == version && (stored.head.due().is_some() || !stored.follow_ups.is_empty()) {
            self.reschedule(id, Some(due));
        }
        Ok(())
    }

    pub(crate) fn settle(
        &mut self,
        id: MatchId,
        version: Version,
        done: &[FollowUp],
    ) -> Result<(), StoreError> {
        let entry = self.matches.get_mut(&id).ok_or(StoreError::NotFound)?;
        if entry.stored.version == version {
            entry.stored.follow_ups.retain(|waiting| !done.contains(waiting));
            self.reschedule(id, None);
        }
        Ok(())
    }

    /// Forgets the matches whose retention has passed and returns them.
    pub(crate) fn expire(&mut self, now: Now) -> Vec<Arc<Match>> {
        let mut expired = Vec::new();
        while let Some((at, id)) = self.expiring.first().copied().filter(|(at, _)| *at < now.stamp) {
            self.expiring.remove(&(at, id));
            expired.extend(self.matches.remove(&id).map(|entry| entry.stored.head));
        }
        expired
    }

    fn entry(&self, id: MatchId) -> Result<&Entry, StoreError> {
        self.matches.get(&id).ok_or(StoreError::NotFound)
    }

    /// Puts a match where it belongs in the due set: at `postponed` if given, at once while a follow-up
    /// waits, else at its next deadline. One with nothing left to do expires.
    fn reschedule(&mut self, id: MatchId, postponed: Option<Stamp>) {
        let Some(entry) = self.matches.get_mut(&id) else { return };
        if let Some(old) = entry.due.take() {
            self.due.remove(&(old, id));
        }
        let waiting = (!entry.stored.follow_ups.is_empty()).then_some(entry.stored.stamp);
        entry.due = postponed.or(waiting).or_else(|| entry.stored.head.due());
        match (entry.due, entry.stored.head.finish()) {
            (Some(due), _) => {
                self.due.insert((due, id));
            }
            (None, Some(finish)) => {
                self.expiring.insert((finish.at.plus_ms(RETENTION_MS), id));
            }
            (None, None) => {}
        }
    }
}
