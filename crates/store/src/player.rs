//! What is kept for each player: the list of his matches.

use async_trait::async_trait;
use referee::Stamp;
use sealing::MatchId;

use crate::StoreError;

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
}
