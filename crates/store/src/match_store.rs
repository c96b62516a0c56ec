//! Matches: heads, turns, time, what is due, and hints that something changed.

use std::sync::Arc;

use async_trait::async_trait;
use referee::{Change, FollowUp, Match, Now, Stamp, TurnRecord};
use sealing::MatchId;
use tokio::sync::MutexGuard;

use crate::{Hints, Shard, StoreError, TraceContext, Version};

/// A match as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    /// The match, without its turns.
    pub head: Arc<Match>,
    /// Its version.
    pub version: Version,
    /// The stamp of the commit that wrote it.
    pub stamp: Stamp,
    /// What earlier commits must still cause elsewhere.
    pub follow_ups: Vec<FollowUp>,
}

/// A match as it is stored, and the time of its shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// What is stored.
    pub stored: Stored,
    /// The shard's time, never before the head's stamp. Commands are stamped with it.
    pub now: Now,
}

/// A change of a match, to be stored as a whole or not at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// The version that the change was judged on.
    pub expected: Version,
    /// The random bytes of the version it makes.
    pub nonce: [u8; 8],
    /// The moment that it was judged at.
    pub judged: Now,
    /// The change. Its next match names the match; its turn is appended; its follow-ups are added to
    /// those that still wait; its due time replaces the old one.
    pub change: Change,
    /// The span that it is made in, if that is recorded. It goes along with the hint and is stored nowhere.
    pub trace: Option<TraceContext>,
}

/// What became of a commit. Only [`CommitOutcome::Committed`] changed anything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommitOutcome {
    /// It is stored, as durable as the store promises.
    Committed(Stored),
    /// Another commit came first: this is what it stored.
    Conflict(Loaded),
    /// The stamp lies before the head's, ahead of the store's clock, more than
    /// [`Commit::STAMP_AGE_MAX_MS`] behind it, or under another outage sum: judge again at this moment.
    Restamp(Now),
    /// The store's clock has passed the change's `not_after`: judge again at this moment.
    TooLate(Now),
}

impl Stored {
    /// How long a finished match can be read where nothing else was chosen, ms: a week, longer than any claim
    /// or invite.
    pub const RETENTION_DEFAULT_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
}

impl Commit {
    /// How far a stamp may lie behind the store's clock, ms. Long enough for a slow round trip; short
    /// enough that a node that was paused cannot write into the past.
    pub const STAMP_AGE_MAX_MS: u64 = 1_000;

    /// Judges the stamps of a commit: the one place that every back end's check must agree with.
    /// `head_stamp` is the stamp of what is stored, `now` the shard's time by its own clock.
    #[must_use]
    pub fn refused_at(&self, head_stamp: Stamp, now: Now) -> Option<CommitOutcome> {
        let now = Now { stamp: now.stamp.max(head_stamp), ..now };
        let judged = self.judged;
        let in_order = head_stamp <= judged.stamp && judged.stamp <= now.stamp;
        let fresh = now.stamp.ms_since(judged.stamp) <= Self::STAMP_AGE_MAX_MS;
        if !in_order || !fresh || judged.outage_ms != now.outage_ms {
            return Some(CommitOutcome::Restamp(now));
        }
        let late = self.change.not_after.is_some_and(|not_after| now.stamp > not_after);
        late.then_some(CommitOutcome::TooLate(now))
    }
}

/// The matches of a shard at whose time something is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Due {
    /// Those due at `now`, earliest first, at most as many as asked for.
    pub matches: Vec<MatchId>,
    /// The shard's time.
    pub now: Now,
}

/// The passage of one who changes a match, from his look at it to what came of his commit. Dropping it lets the
/// next one pass.
#[derive(Debug)]
#[must_use]
pub struct Passage<'a> {
    _turnstile: Option<MutexGuard<'a, ()>>,
}

impl<'a> Passage<'a> {
    /// A passage that keeps nobody waiting.
    pub const fn free() -> Self {
        Self { _turnstile: None }
    }

    /// A passage that others wait for.
    pub const fn of(turnstile: MutexGuard<'a, ()>) -> Self {
        Self { _turnstile: Some(turnstile) }
    }
}

/// Where matches are kept.
#[async_trait]
pub trait MatchStore: Send + Sync + 'static {
    /// How many shards there are; at least 1, and fixed.
    fn shard_count(&self) -> u16;

    /// The time of the shard that a match is in. The match need not exist.
    async fn now(&self, id: MatchId) -> Result<Now, StoreError>;

    /// Stores a new match, or finds the one with its id: the answer is what is stored, so creating
    /// again is harmless. `nonce` is for the version.
    async fn create(&self, change: Change, nonce: [u8; 8]) -> Result<Loaded, StoreError>;

    /// Reads a match.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none.
    async fn load(&self, id: MatchId) -> Result<Loaded, StoreError>;

    /// Waits until nobody on this node is about to change the match, but not for long: whoever judges a
    /// command while he holds the passage does so on what the one before him left. It saves a store a commit
    /// that would come second, and is no lock: other nodes, and whoever has waited too long, do not wait, and
    /// [`MatchStore::commit`] alone decides. A store to which such a commit is nothing lets everyone pass.
    async fn pass(&self, _id: MatchId) -> Passage<'_> {
        Passage::free()
    }

    /// The newest head of a match that this node has seen, and an estimate of the time, without asking
    /// anybody; none where a store keeps no such thing. It may be old: only what a commit then confirms
    /// may be told to anyone, and a refusal rests on a [`MatchStore::load`].
    fn recent(&self, _id: MatchId) -> Option<Loaded> {
        None
    }

    /// Stores a change if the match is still at the version it was judged on, and its stamp holds.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such match. After [`StoreError::Unavailable`] the change
    /// may or may not be stored; reading the match tells.
    async fn commit(&self, commit: Commit) -> Result<CommitOutcome, StoreError>;

    /// The resolved turns of a match from turn `from` (counted from 1) on, in order, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such match.
    async fn turns(&self, id: MatchId, from: u32, limit: usize) -> Result<Vec<Arc<TurnRecord>>, StoreError>;

    /// Hints for one match. Whoever subscribes first and reads the match then misses no change.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such match.
    async fn watch(&self, id: MatchId) -> Result<Hints, StoreError>;

    /// Tells a shard's clock that somebody is there. Called at least once a second, it keeps an outage
    /// from being counted; it waits for no other operation.
    async fn touch(&self, shard: Shard) -> Result<Now, StoreError>;

    /// What is due in a shard: a deadline passed, or a follow-up waits.
    async fn due(&self, shard: Shard, limit: usize) -> Result<Due, StoreError>;

    /// Moves a match's entry in the due set, if it is still at this version: for one whose deadlines an
    /// outage has moved, or whose work fails for now.
    async fn postpone(&self, id: MatchId, version: Version, due: Stamp) -> Result<(), StoreError>;

    /// Takes off follow-ups that are done, if the match is still at the version they were done for.
    /// At another version they stay due, and are done again: each is idempotent.
    async fn settle(&self, id: MatchId, version: Version, done: &[FollowUp]) -> Result<(), StoreError>;
}
