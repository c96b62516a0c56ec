//! What a commit must cause elsewhere, done once in effect by whoever finds it waiting.

use futures::future::try_join_all;
use referee::FollowUp;
use rules::Seat;
use store::{Indexed, Reservation, Store, StoreError, Stored};

use crate::holding::is_matched_again;
use crate::{making, standing};

/// Does all that waits on a match and takes it off. Each is idempotent: when this fails midway, or the
/// match changes meanwhile, what is left stays due and is done again.
pub(crate) async fn settle(store: &dyn Store, stored: &Stored) -> Result<(), StoreError> {
    if stored.follow_ups.is_empty() {
        return Ok(());
    }
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
        FollowUp::Record(seat) => standing::count(store, game, seat).await,
        FollowUp::Release(seat) => release(store, stored, seat).await,
        FollowUp::Requeue(seat) => requeue(store, stored, seat).await,
    }
}

/// Frees a player, if the match still holds him, or the ticket that brought him there.
async fn release(store: &dyn Store, stored: &Stored, seat: Seat) -> Result<(), StoreError> {
    let (game, player) = (&stored.head, &stored.head.parties[seat].player);
    let by_ticket = making::ticket_of(game.origin.as_deref(), seat).map(Reservation::Ticket);
    let held = store.reserve(player, Some(&Reservation::Match(game.id)), None).await?;
    if held.is_some() && held == by_ticket {
        store.reserve(player, by_ticket.as_ref(), None).await?;
    }
    Ok(())
}

/// Lets a player wait again, if nothing else holds him: first his ticket holds him in the place of the match,
/// then it waits. In between it counts as one of a match that is over, and whoever finds it so comes here.
async fn requeue(store: &dyn Store, stored: &Stored, seat: Seat) -> Result<(), StoreError> {
    let (game, player) = (&stored.head, &stored.head.parties[seat].player);
    let Some(name) = making::ticket_of(game.origin.as_deref(), seat) else { return Ok(()) };
    let (by_match, by_ticket) = (Reservation::Match(game.id), Reservation::Ticket(name.clone()));
    if store.reserve(player, Some(&by_match), Some(&by_ticket)).await?.as_ref() != Some(&by_ticket) {
        return Ok(());
    }
    match store.requeue(&name, game.id).await {
        Ok(seen) if seen.ticket.is_waiting() => Ok(()),
        // Somebody else has done this before, and it has found another match, which takes its place.
        Ok(seen) if is_matched_again(seen.ticket.state, game.id) => Ok(()),
        // He left it, or it is forgotten.
        Ok(_) | Err(StoreError::NotFound) => store.reserve(player, Some(&by_ticket), None).await.map(drop),
        Err(error) => Err(error),
    }
}
