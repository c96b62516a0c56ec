//! What a commit must cause elsewhere, done once in effect by whoever finds it waiting.

use futures::future::try_join_all;
use referee::FollowUp;
use store::{Indexed, Store, StoreError, Stored};

/// Does all that waits on a match and takes it off. Each is idempotent: when this fails midway, or the
/// match changes meanwhile, what is left stays due and is done again.
pub(crate) async fn settle(store: &dyn Store, stored: &Stored) -> Result<(), StoreError> {
    let work = stored.follow_ups.iter().map(|follow_up| perform(store, stored, *follow_up));
    try_join_all(work).await?;
    store.settle(stored.head.id, stored.version, &stored.follow_ups).await
}

async fn perform(store: &dyn Store, stored: &Stored, follow_up: FollowUp) -> Result<(), StoreError> {
    let game = &stored.head;
    match follow_up {
        FollowUp::Index(seat) => {
            let finished = game.finish().is_some();
            let entry = Indexed { match_id: game.id, finished, created: game.created };
            store.index_match(&game.parties[seat].player, entry).await
        }
    }
}
