//! What is kept for each player: the list of his matches, and what waits for him.

use async_trait::async_trait;
use referee::Stamp;
use sealing::MatchId;
use tokio::sync::watch;

use crate::{HintsLost, Invite, StoreError};

/// A match in a player's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Indexed {
    /// The match.
    pub match_id: MatchId,
    /// Whether it is over.
    pub finished: bool,
    /// When it was created; the list is in this order, newest first.
    pub created: Stamp,
}

/// Where a page of a player's list begins: after this entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageKey {
    /// The creation of the last entry of the page before.
    pub created: Stamp,
    /// Its match.
    pub match_id: MatchId,
}

/// Says that a player's lists may have changed, or one of his invites. Only a hint, like those of a match.
#[derive(Debug)]
pub struct PlayerHints {
    changes: watch::Receiver<u64>,
}

impl PlayerHints {
    /// Hints from a channel whose current value counts as seen.
    #[must_use]
    pub fn new(changes: watch::Receiver<u64>) -> Self {
        Self { changes }
    }

    /// Waits for a change after the last one seen. Nothing is lost if the wait is given up.
    ///
    /// # Errors
    /// If the store is gone.
    pub async fn changed(&mut self) -> Result<(), HintsLost> {
        self.changes.changed().await.map_err(|_| HintsLost)
    }
}

/// Where players' lists are kept.
#[async_trait]
pub trait PlayerStore: Send + Sync + 'static {
    /// Puts a match into a player's list, or marks it finished there. Idempotent and in any order: a
    /// finished match never becomes a live one again.
    async fn index_match(&self, player: &str, entry: Indexed) -> Result<(), StoreError>;

    /// A page of a player's list, newest first: at most `limit` entries after `after`, only live ones
    /// or only finished ones where `finished` says so.
    async fn matches_of(
        &self,
        player: &str,
        finished: Option<bool>,
        after: Option<PageKey>,
        limit: usize,
    ) -> Result<Vec<Indexed>, StoreError>;

    /// Takes all matches off a player's lists. One that is indexed later is listed again.
    async fn forget_matches_of(&self, player: &str) -> Result<(), StoreError>;

    /// The invites that a player has made or was named in and that nobody has closed, newest first, at
    /// most `limit`. They may have expired.
    async fn open_invites_of(&self, player: &str, limit: usize) -> Result<Vec<Invite>, StoreError>;

    /// Hints for one player. Whoever subscribes first and reads his lists then misses no change.
    async fn watch_player(&self, player: &str) -> Result<PlayerHints, StoreError>;
}
