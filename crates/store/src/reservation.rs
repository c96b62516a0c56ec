//! What holds a player: he waits in one pool, or plays one match that he was paired for, at a time.

use async_trait::async_trait;
use sealing::MatchId;

use crate::{PlayerRecord, RecordStore, RequestKey, RequestRecord, RequestStore, StoreError, TicketName};

/// What holds a player. It names an object and knows nothing of it: whether that still holds him is for the
/// object to say, and whoever finds that it does not may put another one in its place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reservation {
    /// He waits, or waited, with this ticket.
    Ticket(TicketName),
    /// He plays, or played, this match.
    Match(MatchId),
}

/// A reservation, and since when it is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// What holds the player.
    pub by: Reservation,
    /// For how long, ms, by the clock of the player's place.
    pub for_ms: u64,
}

/// What a player who asks for a ticket finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What his request was remembered as first.
    pub remembered: RequestRecord,
    /// What holds him now.
    pub held_by: Option<Reservation>,
    /// What he has achieved.
    pub record: PlayerRecord,
}

/// Where players' reservations are kept: one a player, changed by compare-and-set.
#[async_trait]
pub trait ReservationStore: RequestStore + RecordStore + Send + Sync + 'static {
    /// What holds a player.
    async fn reservation(&self, player: &str) -> Result<Option<Held>, StoreError>;

    /// Puts `next` in the place of `expected`, if that is there, and tells who watches the player. The answer is
    /// what is there then; where `next` already was, it stays as it was, whatever was expected, and has been there
    /// as long as before.
    async fn reserve(
        &self,
        player: &str,
        expected: Option<&Reservation>,
        next: Option<&Reservation>,
    ) -> Result<Option<Reservation>, StoreError>;

    /// What a player needs who is about to wait: remembers his request, and if that is new, lets `next` hold him
    /// unless something else does. A store of which each call is a round trip does all three in one.
    async fn enter(
        &self,
        key: RequestKey,
        request: RequestRecord,
        next: &Reservation,
    ) -> Result<Entry, StoreError> {
        let player = key.actor.clone();
        let remembered = self.remember(key, request).await?;
        let held_by = match remembered == request {
            true => self.reserve(&player, None, Some(next)).await?,
            false => self.reservation(&player).await?.map(|held| held.by),
        };
        let (record, _) = self.record(&player).await?;
        Ok(Entry { remembered, held_by, record })
    }
}
