//! The feed: what happens in all matches, for back ends.
//!
//! An entry is part of the commit that it tells of: it is stored exactly when the commit is. Each shard has a
//! feed of its own, in the order of its commits, so the events of a match come in order. Entries are kept for a
//! time and up to a number; a reader who comes later is told so.
//!
//! A store can lose the last commits in a failover, and their entries with them. A reader who had seen them
//! stands at a place that no longer exists, and may miss what the store did instead: he is sent back
//! [`FeedPosition::REWIND_MS`] and sees some entries again.

use async_trait::async_trait;
use referee::{Change, Event, Match, Settings, Stamp};
use rules::{PerSeat, Seat};
use sealing::{Commitment, Digest, EndReason, MatchId, MatchResult};
use tokio::sync::watch;

use crate::{HintsLost, Shard, StoreError};

/// What one commit tells back ends. Nothing in it depends on a seal whose turn has not resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeedEntry {
    /// The match.
    pub match_id: MatchId,
    /// Its players, `players/{player}`.
    pub players: PerSeat<String>,
    /// The stamp of the commit.
    pub at: Stamp,
    /// Bytes that the committer drew; see [`FeedPosition::mark`].
    pub mark: u16,
    /// What happened, in order; at least one.
    pub events: Vec<FeedEvent>,
}

/// One thing that happened in a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FeedEvent {
    /// The match has both players.
    Started {
        /// What they agreed on.
        settings: Box<Settings>,
    },
    /// A turn is open for both.
    TurnOpened {
        /// Its number, from 1.
        turn: u32,
        /// Each seat's last moment to seal, inclusive.
        deadlines: PerSeat<Stamp>,
    },
    /// A turn is resolved.
    TurnResolved {
        /// Its number, from 1.
        turn: u32,
        /// h of this turn.
        hash: Digest,
    },
    /// The match is over.
    Finished(FeedFinish),
}

/// How a match ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeedFinish {
    /// Who won, if anyone.
    pub result: MatchResult,
    /// Why.
    pub reason: EndReason,
    /// When, by the stamps: of a flag, the deadline that passed.
    pub at: Stamp,
    /// The last resolved turn; 0 if there was none.
    pub turn: u32,
    /// The commitments of a turn that never resolved. What they hid is erased.
    pub unresolved: PerSeat<Option<Commitment>>,
    /// h_end.
    pub end_hash: Digest,
}

impl FeedEntry {
    /// What a change tells, if it tells anything. A seal alone does not: whether a seat has sealed may be hidden.
    /// `nonce` is that of the commit.
    #[must_use]
    pub fn of(change: &Change, at: Stamp, nonce: [u8; 8]) -> Option<Self> {
        let game = change.next.as_ref();
        let mut events = Vec::new();
        for event in &change.events {
            match event {
                Event::TurnOpened { turn } => {
                    if *turn == 1 {
                        events.push(FeedEvent::Started { settings: Box::new(game.settings.clone()) });
                    }
                    events.extend(turn_opened(game, *turn));
                }
                Event::TurnResolved(record) => {
                    events.push(FeedEvent::TurnResolved { turn: record.turn, hash: record.hash });
                }
                Event::Finished => events.extend(finished(game)),
            }
        }
        (!events.is_empty()).then(|| Self {
            match_id: game.id,
            players: PerSeat::as_ref(&game.parties).map(|party| party.player.clone()),
            at,
            mark: u16::from_be_bytes([nonce[0], nonce[1]]),
            events,
        })
    }
}

fn turn_opened(game: &Match, turn: u32) -> Option<FeedEvent> {
    let deadlines = game.open_turn()?.deadlines;
    Some(FeedEvent::TurnOpened { turn, deadlines })
}

fn finished(game: &Match) -> Option<FeedEvent> {
    let finish = game.finish()?;
    let commitment = |seat: Seat| finish.unresolved[seat].as_ref().map(|facts| facts.commitment);
    Some(FeedEvent::Finished(FeedFinish {
        result: finish.result,
        reason: finish.reason,
        at: finish.at,
        turn: game.resolved,
        unresolved: PerSeat::from_fn(commitment),
        end_hash: finish.end_hash,
    }))
}

/// Where an entry stands in the feed of its shard: first by time, then by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedPosition {
    /// The shard's time when it was stored; never before that of an entry ahead of it.
    pub at: Stamp,
    /// Tells entries of one moment apart, and puts them in order.
    pub number: u64,
    /// [`FeedEntry::mark`] of the entry. Two entries that a store has had at one place, one that a failover lost
    /// and one that came instead, seldom share it.
    pub mark: u16,
}

/// Where a reader goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeedResume {
    /// After the place where he stands: he misses nothing.
    Here,
    /// Nowhere: what followed his place has been trimmed.
    Trimmed,
    /// At the first entry at this time or later: the place where he stands has been lost.
    Again(Stamp),
}

impl FeedPosition {
    /// The place before the first entry that a feed ever has.
    pub const START: Self = Self { at: Stamp::from_ms(0), number: 0, mark: 0 };

    /// How far back a reader is sent whose place has been lost, ms: no replica that takes over is further behind.
    pub const REWIND_MS: u64 = 60_000;

    /// What positions are compared by.
    #[must_use]
    pub const fn order(&self) -> (u64, u64) {
        (self.at.as_ms(), self.number)
    }

    /// The place right before an entry. Whoever stands there while that is the oldest entry has missed nothing, and
    /// learns it if the entry is trimmed before he has it.
    ///
    /// ```
    /// use referee::Stamp;
    /// use store::{FeedPosition, FeedResume};
    /// let oldest = FeedPosition { at: Stamp::from_ms(90_000), number: 1, mark: 1 };
    /// let before = oldest.before();
    /// assert!(before.order() < oldest.order());
    /// assert_eq!(before.resume(None, Some(oldest.order())), FeedResume::Trimmed);
    /// ```
    #[must_use]
    pub const fn before(self) -> Self {
        // Numbers begin at 1 and grow with every entry.
        Self { at: self.at, number: self.number.saturating_sub(1), mark: 0 }
    }

    /// Where a reader goes on who stands here. `first` is the first entry that the store has at this place or
    /// after it, `trimmed` the [`order`](Self::order) of the last one that it has trimmed.
    ///
    /// ```
    /// use referee::Stamp;
    /// use store::{FeedPosition, FeedResume};
    /// let place = |number, mark| FeedPosition { at: Stamp::from_ms(90_000), number, mark };
    /// let here = place(7, 1);
    /// assert_eq!(here.resume(Some(here), None), FeedResume::Here);
    /// assert_eq!(here.resume(None, Some(here.order())), FeedResume::Here);
    /// assert_eq!(here.resume(Some(place(9, 1)), Some(place(8, 1).order())), FeedResume::Trimmed);
    /// let again = FeedResume::Again(Stamp::from_ms(30_000));
    /// assert_eq!(here.resume(Some(place(7, 2)), None), again);
    /// assert_eq!(here.resume(None, None), again);
    /// ```
    #[must_use]
    pub fn resume(self, first: Option<Self>, trimmed: Option<(u64, u64)>) -> FeedResume {
        if first == Some(self) {
            return FeedResume::Here;
        }
        match trimmed {
            Some(trimmed) if trimmed > self.order() => FeedResume::Trimmed,
            Some(trimmed) if trimmed == self.order() => FeedResume::Here,
            _ => FeedResume::Again(Stamp::from_ms(self.at.as_ms().saturating_sub(Self::REWIND_MS))),
        }
    }
}

/// A part of a shard's feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FeedPage {
    /// Entries in order; none if nothing follows yet.
    Entries(Vec<(FeedPosition, FeedEntry)>),
    /// Some of what follows the reader's place is no longer kept.
    Trimmed,
}

impl FeedPage {
    /// Reads a part: the one place that decides where a reader goes on, for stores that read as they like.
    /// `trimmed` is as in [`FeedPosition::resume`]; `read` reads entries at an [`order`](FeedPosition::order)
    /// or later, at most so many.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(
        after: FeedPosition,
        limit: usize,
        trimmed: Option<(u64, u64)>,
        read: impl Fn((u64, u64), usize) -> Result<Vec<(FeedPosition, FeedEntry)>, E>,
    ) -> Result<Self, E> {
        let mut entries = read(after.order(), limit.saturating_add(1))?;
        let first = entries.first().map(|(position, _)| *position);
        match after.resume(first, trimmed) {
            FeedResume::Here => {
                entries.retain(|(position, _)| *position != after);
                entries.truncate(limit);
                Ok(Self::Entries(entries))
            }
            FeedResume::Trimmed => Ok(Self::Trimmed),
            FeedResume::Again(at) => read((at.as_ms(), 0), limit).map(Self::Entries),
        }
    }
}

/// How much of a feed is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedLimits {
    /// How long an entry is kept, ms, unless there are too many.
    pub retention_ms: u64,
    /// How many entries are kept in all shards together. Some 250 bytes each, so that a million takes 250 MB.
    pub entries_max: u64,
}

impl Default for FeedLimits {
    /// A day, at most a million entries: a busy hour of a hundred matches a second and more.
    fn default() -> Self {
        Self { retention_ms: 24 * 60 * 60 * 1_000, entries_max: 1_000_000 }
    }
}

impl FeedLimits {
    /// How many entries one of `shards` keeps; at least one.
    #[must_use]
    pub fn entries_a_shard(&self, shards: u16) -> u64 {
        (self.entries_max / u64::from(shards.max(1))).max(1)
    }
}

/// Says that feeds go on. Only a hint, like those of a match.
#[derive(Debug)]
pub struct FeedHints {
    ends: watch::Receiver<Vec<Option<FeedPosition>>>,
}

impl FeedHints {
    /// Hints from a channel of where each shard's feed ends, by the shards' numbers.
    #[must_use]
    pub fn new(ends: watch::Receiver<Vec<Option<FeedPosition>>>) -> Self {
        Self { ends }
    }

    /// The shards whose feeds end elsewhere than where a reader stands, as far as is known: after it, or before it,
    /// if a failover has lost what he has read, and he is to be sent back. What is known then counts as seen.
    pub fn elsewhere_than(&mut self, stands: impl Fn(Shard) -> FeedPosition) -> Vec<Shard> {
        let ends = self.ends.borrow_and_update();
        let elsewhere = |(shard, end): (u16, &Option<FeedPosition>)| {
            let end = end.as_ref()?.order();
            (stands(Shard(shard)).order() != end).then_some(Shard(shard))
        };
        (0..).zip(ends.iter()).filter_map(elsewhere).collect()
    }

    /// Waits for more than what was last known. Nothing is lost if the wait is given up.
    ///
    /// # Errors
    /// If the store is gone.
    pub async fn changed(&mut self) -> Result<(), HintsLost> {
        self.ends.changed().await.map_err(|_| HintsLost)
    }
}

/// Where the feed is kept. The provided methods are those of a store without one.
#[async_trait]
pub trait FeedStore: Send + Sync + 'static {
    /// Whether commits write a feed.
    fn has_feed(&self) -> bool {
        false
    }

    /// The place of whoever begins to read a shard's feed: right before the oldest entry that is kept, or, while
    /// none is, after the last one that has been. Whoever goes on from there later learns if an entry was trimmed
    /// that he did not have.
    async fn feed_begin(&self, _shard: Shard) -> Result<FeedPosition, StoreError> {
        Ok(FeedPosition::START)
    }

    /// The entries of a shard's feed after a place, in order, at most `limit`.
    async fn feed(&self, _shard: Shard, _after: FeedPosition, _limit: usize) -> Result<FeedPage, StoreError> {
        Ok(FeedPage::Entries(Vec::new()))
    }

    /// Hints for all feeds. Whoever subscribes first and reads the feeds then misses no entry.
    ///
    /// # Errors
    /// If there is no feed.
    async fn watch_feed(&self) -> Result<FeedHints, StoreError> {
        Err(StoreError::Unavailable("the store has no feed".to_owned()))
    }
}
