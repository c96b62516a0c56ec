//! Matches that are owed: whoever finds that one is, makes it.

use referee::{Match, NewMatch, Origin};
use rules::Seat;
use store::{Loaded, PoolName, Store, StoreError, TicketName};

use crate::follow_up;

/// Makes a match, or finds it.
pub(crate) async fn ensure(store: &dyn Store, new: &NewMatch) -> Result<Loaded, StoreError> {
    let now = store.now(new.id).await?;
    store.create(Match::create(new.clone(), now), rand::random()).await
}

/// Does all that a claim in a pool owes: the match is there, and its players are told. When this fails midway,
/// whoever comes next does it again. Their tickets go on to hold them until they join: a ticket that was matched
/// holds its player as far as its match does.
pub(crate) async fn make(store: &dyn Store, pool: &PoolName, new: &NewMatch) -> Result<(), StoreError> {
    let made = ensure(store, new).await?;
    // What its creation causes need not wait until somebody finds it due; if it fails, somebody will.
    let (told, made) = futures::join!(follow_up::settle(store, &made.stored), store.made(pool, new.id));
    told.and(made)
}

/// The ticket that brought a seat's player, if one did.
pub(crate) fn ticket_of(origin: Option<&Origin>, seat: Seat) -> Option<TicketName> {
    origin?.tickets[seat].as_ref()?.0.parse().ok()
}
