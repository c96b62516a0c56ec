//! What a player has achieved: results, ratings, leaderboards.

use async_trait::async_trait;
use referee::{Mode, PinnedRating, Stamp};
use sealing::MatchId;

use crate::{Met, StoreError, Version};

/// The number of a speed class on the wire, 1 to 3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Speed(pub u8);

/// What a player has achieved in one kind of match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Casual or ranked.
    pub mode: Mode,
    /// How fast.
    pub speed: Speed,
    /// The rating; none for casual matches.
    pub rating: Option<PinnedRating>,
    /// Matches won.
    pub wins: u64,
    /// Matches lost.
    pub losses: u64,
    /// Matches drawn.
    pub draws: u64,
    /// When the last of them ended.
    pub updated: Stamp,
}

/// What a player has achieved. It is kept until it is removed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlayerRecord {
    /// One for each kind of match that he has finished.
    pub standings: Vec<Standing>,
    /// The matches that were counted last, oldest first: none is counted again.
    pub counted: Vec<MatchId>,
    /// Whom he met last in matches that he was paired for, oldest first.
    pub recent: Vec<Met>,
}

impl PlayerRecord {
    /// Matches that a record remembers to have counted. A match is counted again only if the node that did it
    /// died before it said so, and then within seconds: by far not so many of one player's end meanwhile.
    pub const COUNTED_MAX: usize = 64;

    /// Opponents that a record remembers: who meets more people than these in an evening has met enough others.
    pub const RECENT_MAX: usize = 16;
}

/// A line of a leaderboard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranked {
    /// From 1; equal ratings share a rank.
    pub rank: u64,
    /// The player.
    pub player: String,
    /// His rating, millionths of a point.
    pub points_micro: u64,
}

/// Where players' records and leaderboards are kept.
#[async_trait]
pub trait RecordStore: Send + Sync + 'static {
    /// A player's record and its version; of a player without one an empty record and none.
    async fn record(&self, player: &str) -> Result<(PlayerRecord, Option<Version>), StoreError>;

    /// Puts a record in the place of the one of this version; says whether it was still there. `nonce` is for
    /// the new version.
    async fn put_record(
        &self,
        player: &str,
        expected: Option<Version>,
        record: &PlayerRecord,
        nonce: [u8; 8],
    ) -> Result<bool, StoreError>;

    /// Removes a player's record, whatever version it has.
    async fn remove_record(&self, player: &str) -> Result<(), StoreError>;

    /// Puts a player on a leaderboard by the rating he has after `matches` rated ones. One who is there after
    /// more stays as he is, so that a late word changes nothing.
    async fn rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError>;

    /// Takes a player off a leaderboard, however many matches he is there after.
    async fn unrank(&self, speed: Speed, player: &str) -> Result<(), StoreError>;

    /// Lines of a leaderboard, the best first, after the first `skip`; at most `limit`. Of equal ratings in the
    /// order of the names, whichever the store's is.
    async fn leaderboard(&self, speed: Speed, skip: u64, limit: usize) -> Result<Vec<Ranked>, StoreError>;

    /// How many lines come before a player's on a leaderboard; none if he is not on it.
    async fn leaderboard_place(&self, speed: Speed, player: &str) -> Result<Option<u64>, StoreError>;
}
