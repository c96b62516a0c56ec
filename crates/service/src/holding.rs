//! What holds a player: he waits in one pool, or plays one ranked match, at a time.
//!
//! A reservation names a ticket or a match, and only that knows whether it still holds him. One that does not
//! is replaced by compare-and-set; its ticket is left before that, so that it never comes back to wait. A ticket
//! holds its player until its match does: from when he joins a ranked one.

use referee::{FollowUp, Mode, Phase};
use rules::Seat;
use sealing::MatchId;
use store::{Held, Reservation, SeenTicket, Store, StoreError, Stored, TicketName, TicketState};

use crate::{follow_up, making};

/// How long a reservation counts whose match is not there, ms: whoever accepts an invite reserves both players
/// first, and makes the match then. If he dies in between, they are free after it.
const UNMADE_MAX_MS: u64 = 10_000;

/// How often a reservation is looked at again because it changed meanwhile: a player has few devices.
const TRIES_MAX: usize = 8;

/// What holds a player now.
pub(crate) enum Holding {
    /// A ticket: he waits, or his match waits for him.
    Ticket(Box<SeenTicket>),
    /// A match, which may be about to be made.
    Match(MatchId),
}

/// What is known of a player's reservation.
pub(crate) enum Judged {
    /// It holds him.
    Holds(Holding),
    /// It does not. This ticket is to be left before another reservation takes its place.
    Over(Option<TicketName>),
}

/// Reads what holds a player, whether it still does or not.
pub(crate) async fn of(store: &dyn Store, player: &str) -> Result<Option<(Held, Judged)>, StoreError> {
    let Some(held) = store.reservation(player).await? else { return Ok(None) };
    let judged = match &held.by {
        Reservation::Ticket(name) => judge_ticket(store, player, name).await?,
        Reservation::Match(id) => match judge_match(store, player, *id).await? {
            None if held.for_ms <= UNMADE_MAX_MS => Judged::Holds(Holding::Match(*id)),
            None => Judged::Over(None),
            Some(judged) => judged,
        },
    };
    Ok(Some((held, judged)))
}

/// Puts `next` in the place of whatever does not hold the player any more. Returns what does hold him, if
/// anything else than `next` does.
pub(crate) async fn hold(
    store: &dyn Store,
    player: &str,
    next: &Reservation,
) -> Result<Option<Holding>, StoreError> {
    // Most players are held by nothing.
    if store.reserve(player, None, Some(next)).await?.as_ref() == Some(next) {
        return Ok(None);
    }
    for _ in 0..TRIES_MAX {
        let expected = match of(store, player).await? {
            None => None,
            Some((held, _)) if held.by == *next => return Ok(None),
            Some((_, Judged::Holds(holding))) => return Ok(Some(holding)),
            Some((held, Judged::Over(ticket))) => {
                if let Some(ticket) = ticket {
                    store.leave_ticket(&ticket).await?;
                }
                Some(held.by)
            }
        };
        if store.reserve(player, expected.as_ref(), Some(next)).await?.as_ref() == Some(next) {
            return Ok(None);
        }
    }
    Err(StoreError::Unavailable("a player's reservation changes all the time".to_owned()))
}

async fn judge_ticket(store: &dyn Store, player: &str, name: &TicketName) -> Result<Judged, StoreError> {
    let seen = match store.ticket(name).await {
        Ok(seen) => seen,
        // It may be about to be stored; leaving it prevents that.
        Err(StoreError::NotFound) => return Ok(Judged::Over(Some(name.clone()))),
        Err(error) => return Err(error),
    };
    if let Some(owed) = &seen.owed {
        making::make(store, &name.pool, owed).await?;
    }
    match seen.ticket.state {
        TicketState::Waiting { .. } => Ok(Judged::Holds(Holding::Ticket(Box::new(seen)))),
        TicketState::Cancelled | TicketState::Expired => Ok(Judged::Over(None)),
        TicketState::Matched { match_id, .. } => {
            let judged = judge_match(store, player, match_id).await?;
            Ok(judged.unwrap_or_else(|| Judged::Over(Some(name.clone()))))
        }
    }
}

/// Whether a match holds a player; none if it is not there.
async fn judge_match(store: &dyn Store, player: &str, id: MatchId) -> Result<Option<Judged>, StoreError> {
    let Some(stored) = settled(store, player, id).await? else { return Ok(None) };
    let game = stored.head;
    let seat = game.seat_of(player);
    let ticket = seat.and_then(|seat| making::ticket_of(game.origin.as_deref(), seat));
    let waits = matches!(game.phase, Phase::Waiting { .. });
    let holds = game.finish().is_none() && seat.is_some() && (waits || game.settings.mode == Mode::Ranked);
    let seen = match &ticket {
        // One who was let down waits again.
        Some(ticket) if waits || !holds => store.ticket(ticket).await.map(Some),
        Some(_) | None => Ok(None),
    };
    let seen = match seen {
        Err(StoreError::NotFound) => None,
        seen => seen?,
    };
    if let Some(seen) = seen.as_ref().filter(|seen| is_matched_again(seen.ticket.state, id)) {
        // It has waited again, and found another match meanwhile: that one is to be asked.
        return Box::pin(judge_ticket(store, player, &seen.ticket.name)).await.map(Some);
    }
    Ok(Some(match seen {
        Some(seen) if seen.ticket.is_waiting() || holds => Judged::Holds(Holding::Ticket(Box::new(seen))),
        _ if holds => Judged::Holds(Holding::Match(id)),
        _ => Judged::Over(ticket),
    }))
}

/// Whether a ticket has another match than this one, which brought nothing.
pub(crate) fn is_matched_again(state: TicketState, aborted: MatchId) -> bool {
    matches!(state, TicketState::Matched { match_id, .. } if match_id != aborted)
}

/// A match, after what its end causes for this player is done.
async fn settled(store: &dyn Store, player: &str, id: MatchId) -> Result<Option<Stored>, StoreError> {
    let load = async || match store.load(id).await {
        Ok(loaded) => Ok(Some(loaded.stored)),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error),
    };
    let Some(stored) = load().await? else { return Ok(None) };
    let owes = |seat: Seat| {
        let of_seat = [FollowUp::Release(seat), FollowUp::Requeue(seat)];
        stored.follow_ups.iter().any(|follow_up| of_seat.contains(follow_up))
    };
    if !stored.head.seat_of(player).is_some_and(owes) {
        return Ok(Some(stored));
    }
    follow_up::settle(store, &stored).await?;
    load().await
}
