//! What time drives: the shards' clocks that must hear of somebody, deadlines that pass with nobody there,
//! and follow-ups that wait.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use referee::{Command, Stamp};
use sealing::MatchId;
use store::{Clock, Shard, Store, StoreError};
use tracing::warn;
use wire::ApiError;

use crate::convert::errors;
use crate::drive::drive;
use crate::follow_up;

/// Pause between two signs of life to a shard's clock, ms: well under the gap that it takes for an outage.
/// They wait for nothing else, or a backlog of work would move every deadline.
const ALIVE_PAUSE_MS: u64 = 500;

/// Pause between two looks at a due set, ms. A deadline is found passed at most this late; the result
/// does not depend on it.
const PAUSE_MS: u64 = 100;

/// Matches taken from a shard at once: bounds what one look keeps in memory.
const BATCH: usize = 256;

/// Matches of a shard that are worked on at once: enough that they share the store's durable writes.
const AT_ONCE_MAX: usize = 16;

/// How long a match whose work fails is left alone, ms.
const BACKOFF_MS: u64 = 2_000;

/// Runs until it is dropped. Each shard is looked after by itself: one in trouble holds up no other.
pub(crate) async fn run(store: Arc<dyn Store>, clock: Arc<dyn Clock>) {
    let shards: Vec<Shard> = (0..store.shard_count()).map(Shard).collect();
    let alive = keep_alive(store.as_ref(), clock.as_ref(), &shards);
    let looks = join_all(shards.iter().map(|shard| look_after(store.as_ref(), clock.as_ref(), *shard)));
    futures::join!(alive, looks);
}

/// Tells every shard's clock that somebody is there.
async fn keep_alive(store: &dyn Store, clock: &dyn Clock, shards: &[Shard]) {
    loop {
        for shard in shards {
            if let Some(Err(error)) = caught(store.touch(*shard)).await {
                warn!(shard = shard.0, %error, "a shard's clock cannot be reached");
            }
        }
        clock.sleep_until_ms(clock.now_ms().saturating_add(ALIVE_PAUSE_MS)).await;
    }
}

/// Does what is due in a shard, again and again.
async fn look_after(store: &dyn Store, clock: &dyn Clock, shard: Shard) {
    loop {
        while caught(sweep(store, shard)).await == Some(BATCH) {}
        clock.sleep_until_ms(clock.now_ms().saturating_add(PAUSE_MS)).await;
    }
}

/// Does what is due in a shard and returns how much of it was done: what failed does not count, so a
/// shard in trouble is left until the next look.
async fn sweep(store: &dyn Store, shard: Shard) -> usize {
    let due = match store.due(shard, BATCH).await {
        Ok(due) => due,
        Err(error) => {
            warn!(shard = shard.0, %error, "what is due cannot be read");
            return 0;
        }
    };
    let work =
        due.matches.into_iter().map(|id| async move { usize::from(attend_or_put_off(store, id).await) });
    stream::iter(work).buffer_unordered(AT_ONCE_MAX).fold(0, async |done, one| done + one).await
}

/// Attends to a match; one whose work fails is put off.
async fn attend_or_put_off(store: &dyn Store, id: MatchId) -> bool {
    let attended = caught(attend(store, id)).await;
    match attended.unwrap_or_else(|| Err(errors::fault("the work on a due match panicked", id))) {
        Ok(()) => true,
        Err(error) => {
            warn!(%id, reason = error.reason().as_str_name(), "a due match must wait");
            caught(put_off(store, id)).await;
            false
        }
    }
}

/// The work's outcome; none if it panicked. A match that makes its node panic must not stop the clock of
/// all others, nor end the server, and at its next start the same again.
async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// Applies the deadlines that have passed and settles what waits. A match that turns out not to be due,
/// because an outage moved its deadlines, is put off until it is.
async fn attend(store: &dyn Store, id: MatchId) -> Result<(), ApiError> {
    drive(store, id, |_| Ok(Command::Tick)).await?;
    let loaded = store.load(id).await.map_err(errors::store)?;
    let stored = &loaded.stored;
    if !stored.follow_ups.is_empty() {
        return follow_up::settle(store, stored).await.map_err(errors::store);
    }
    match stored.head.under_outage(loaded.now.outage_ms).due() {
        Some(due) => store.postpone(id, stored.version, due).await.map_err(errors::store),
        None => Ok(()),
    }
}

/// Puts a match off for a while, so that one that fails does not keep the others from their turn.
async fn put_off(store: &dyn Store, id: MatchId) {
    let put_off = async {
        let loaded = store.load(id).await?;
        let later: Stamp = loaded.now.stamp.plus_ms(BACKOFF_MS);
        store.postpone(id, loaded.stored.version, later).await
    };
    match put_off.await {
        Ok(()) | Err(StoreError::NotFound) => {}
        Err(error) => warn!(%id, %error, "a due match cannot be put off"),
    }
}
