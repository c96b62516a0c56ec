//! Taking over what another store holds, before anybody serves this one.

use std::sync::Arc;

use referee::{Match, Now, Stamp, TurnRecord};
use store::{
    Access, AccessStore as _, MatchStore as _, PlayerRecord, RecordStore as _, Reservation,
    ReservationStore as _, Speed, StoreError, Stored, codec,
};

use crate::call::Call;
use crate::envelope;
use crate::error::OpenError;
use crate::redis_store::RedisStore;
use crate::reply::unwritable;

/// A store that takes over another one. Until [`Import::end`] nobody can serve it; an import that broke off is
/// begun again from its beginning, and finds what is there already.
#[derive(Debug)]
pub struct Import<'a> {
    store: &'a RedisStore,
}

impl RedisStore {
    /// Begins to take over another store.
    ///
    /// # Errors
    /// [`OpenError::Served`] if this one has been served, so that there may be matches; or it cannot be
    /// reached.
    pub async fn import(&self) -> Result<Import<'_>, OpenError> {
        let (key, place) = self.names.meta();
        let call = Call::new(&self.scripts.import_begins, place, vec![key]);
        let reply = self.caller.run(call).await.map_err(|error| self.unreachable(&error))?;
        match reply.number(0) {
            Ok(1) => Ok(Import { store: self }),
            Ok(_) => Err(OpenError::Served { location: self.location() }),
            Err(_) => Err(OpenError::DamagedMeta),
        }
    }

    pub(crate) fn unreachable(&self, error: &StoreError) -> OpenError {
        OpenError::Unreachable { location: self.location(), why: error.to_string() }
    }
}

impl Import<'_> {
    /// Takes over a match, and reads back what is stored then. The time since `last_alive`, by the clock of the
    /// other store, is an outage: whoever had a minute left has a minute left.
    ///
    /// # Errors
    /// The store cannot be reached or written, or what was read back is not what was written.
    pub async fn take(
        &self,
        stored: &Stored,
        turns: &[TurnRecord],
        last_alive: Now,
    ) -> Result<(), StoreError> {
        let store = self.store;
        let id = stored.head.id;
        let now = store.now(id).await?;
        let head = Arc::new(moved(&stored.head, last_alive, now));
        let stored = Stored { head: Arc::clone(&head), ..stored.clone() };
        let record = envelope::write_record(&head, stored.version, stored.stamp, &store.keyring);
        let follow_ups =
            envelope::write_follow_ups(&stored.follow_ups).map_err(|error| unwritable(&error))?;
        let written: Result<Vec<_>, _> = turns.iter().map(codec::encode_turn).collect();
        let written = written.map_err(|error| unwritable(&error))?;
        let call = store
            .on_match(&store.scripts.import, store.place(id), id)
            .argument(envelope::version_bytes(stored.version))
            .number(stored.stamp.as_ms())
            .number(head.due().map_or(0, Stamp::as_ms))
            .number(envelope::kept_until_ms(&head))
            .argument(record.map_err(|error| unwritable(&error))?)
            .number(written.len())
            .number(follow_ups.len());
        let call = written.into_iter().chain(follow_ups).fold(call, Call::argument);
        store.caller.run(call).await?;
        let read = store.load(id).await?.stored;
        let turns_read = store.turns(id, 1, usize::MAX).await?;
        let is_same = read == stored && turns_read.iter().map(Arc::as_ref).eq(turns);
        check(is_same, || format!("match {id}"))
    }

    /// Takes over what a player has achieved, and reads it back.
    ///
    /// # Errors
    /// As [`Import::take`].
    pub async fn take_record(&self, player: &str, record: &PlayerRecord) -> Result<(), StoreError> {
        let store = self.store;
        let (_, version) = store.record(player).await?;
        store.put_record(player, version, record, rand::random()).await?;
        let (read, _) = store.record(player).await?;
        check(read == *record, || format!("the record of {player}"))
    }

    /// Takes over a line of a leaderboard, as [`store::RecordStore::rank`] has it, and reads it back.
    ///
    /// # Errors
    /// As [`Import::take`].
    pub async fn take_rank(
        &self,
        speed: Speed,
        player: &str,
        points_micro: u64,
        matches: u64,
    ) -> Result<(), StoreError> {
        let store = self.store;
        store.rank(speed, player, points_micro, matches).await?;
        let place = store.leaderboard_place(speed, player).await?.ok_or(StoreError::NotFound)?;
        let lines = store.leaderboard(speed, place, 1).await?;
        let is_same = lines.iter().any(|line| line.player == player && line.points_micro == points_micro);
        check(is_same, || format!("the rank of {player}"))
    }

    /// Takes over what holds a player, and reads it back. It holds him from now on.
    ///
    /// # Errors
    /// As [`Import::take`].
    pub async fn take_reservation(&self, player: &str, by: &Reservation) -> Result<(), StoreError> {
        let store = self.store;
        let held = store.reservation(player).await?.map(|held| held.by);
        store.reserve(player, held.as_ref(), Some(by)).await?;
        let read = store.reservation(player).await?.map(|held| held.by);
        check(read.as_ref() == Some(by), || format!("what holds {player}"))
    }

    /// Takes over whether a player may play, and reads it back.
    ///
    /// # Errors
    /// As [`Import::take`].
    pub async fn take_access(&self, player: &str, access: &Access) -> Result<(), StoreError> {
        let there = self.store.access(player).await?;
        let read = self.store.put_access(player, there.as_ref(), access).await?;
        check(read.as_ref() == Some(access), || format!("the access of {player}"))
    }

    /// Says that all is there. `keys` names the keys that it is served with, as of
    /// [`RedisStore::check_keys`].
    ///
    /// # Errors
    /// The store cannot be reached or written.
    pub async fn end(self, keys: &str) -> Result<(), OpenError> {
        let (key, place) = self.store.names.meta();
        let call = Call::new(&self.store.scripts.import_ends, place, vec![key]).argument(keys);
        self.store.caller.run(call).await.map(drop).map_err(|error| self.store.unreachable(&error))
    }
}

/// Checks what was read back.
fn check(is_same: bool, what: impl FnOnce() -> String) -> Result<(), StoreError> {
    if is_same { Ok(()) } else { Err(StoreError::Unavailable(format!("{} was stored otherwise", what()))) }
}

/// A head as another shard keeps it, whose time is `now`.
fn moved(head: &Match, last_alive: Now, now: Now) -> Match {
    let away_ms = now.stamp.ms_since(last_alive.stamp);
    let mut moved = head.under_outage(last_alive.outage_ms.saturating_add(away_ms)).into_owned();
    moved.outage_ms = now.outage_ms;
    moved
}
