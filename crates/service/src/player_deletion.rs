//! `DeletePlayer`: everything that is kept of a player alone goes.
//!
//! Each step can be done again, and the last one says that all are done: whoever gets no answer repeats the call, and
//! it goes on where it was. His live matches are resigned, ranked ones too: a deletion that had to wait for them could
//! be held up for a month by whoever moves slowly, and the opponent has what any resignation gives him. What a match
//! counts for is counted before the record goes. One whose end is counted later, as it was not yet in his list,
//! begins a new record: nobody remembers that there was another.

use referee::{Command, RequestId};
use sealing::MatchId;
use store::{Access, Closing, InviteEnd, PageKey, Reservation, Speed, Store, StoreError};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::bans::{self, asked, subject};
use crate::convert::{errors, request};
use crate::drive::drive;
use crate::holding::{self, Holding, Judged};
use crate::node::Node;
use crate::player_export::INVITES_MAX;
use crate::{follow_up, tickets};

/// Live matches of a player that are read at once.
const MATCHES_TOGETHER: usize = 100;

/// How often it is looked at again what holds a player: one thing at a time does.
const HOLDS_MAX: usize = 8;

/// Deletes what is kept of a player, or finds that this request has done so.
pub(crate) async fn delete(
    node: &Node,
    mut request: v1::DeletePlayerRequest,
) -> Result<v1::DeletePlayerResponse, ApiError> {
    let whose = subject(&request.player)?.to_owned();
    let request_id = request::request_id(&std::mem::take(&mut request.request_id))?;
    let asked = asked(node, &whose, request_id.as_str(), "DeletePlayer", &request).await?;
    // First of all, so that his clients begin nothing any more.
    let access = bans::change(node, &whose, |access| bans::revoked(access, asked.at)).await?;
    if asked.is_done(&access) {
        return Ok(v1::DeletePlayerResponse {});
    }
    let store = node.store.as_ref();
    tickets::take_out(store, &whose).await.map_err(errors::store)?;
    close_invites(store, &whose, &request_id).await.map_err(errors::store)?;
    resign_all(node, &whose, &request_id).await?;
    free(node, &whose, &request_id).await?;
    forget(store, &whose).await.map_err(errors::store)?;
    bans::change(node, &whose, |access| {
        (!asked.is_done(access)).then(|| asked.done(Access { ban: None, ..access.clone() }))
    })
    .await?;
    Ok(v1::DeletePlayerResponse {})
}

/// Takes back the invites that he has made, and declines those that he was named in.
async fn close_invites(store: &dyn Store, whose: &str, request_id: &RequestId) -> Result<(), StoreError> {
    for invite in store.open_invites_of(whose, INVITES_MAX).await? {
        let end = if invite.inviter == whose { InviteEnd::Revoked } else { InviteEnd::Declined };
        let (by, request_id) = (whose.to_owned(), request_id.clone());
        match store.close_invite(invite.id, Closing { end, by, request_id, public_key: None }).await {
            Ok(_) | Err(StoreError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Resigns the matches in his live list; what follows from their end is done when this returns.
async fn resign_all(node: &Node, whose: &str, request_id: &RequestId) -> Result<(), ApiError> {
    let mut after = None;
    loop {
        let listed = node.store.matches_of(whose, Some(false), after, MATCHES_TOGETHER).await;
        let listed = listed.map_err(errors::store)?;
        for entry in &listed {
            resign(node, whose, entry.match_id, request_id).await?;
        }
        match listed.last() {
            Some(last) if listed.len() == MATCHES_TOGETHER => {
                after = Some(PageKey { created: last.created, match_id: last.match_id });
            }
            _ => return Ok(()),
        }
    }
}

/// Resigns a match, if it is not over.
async fn resign(node: &Node, whose: &str, id: MatchId, request_id: &RequestId) -> Result<(), ApiError> {
    let store = node.store.as_ref();
    let resigned = drive(store, id, None, |game| {
        let seat = game.seat_of(whose).ok_or_else(|| ApiError::new(ErrorReason::NotAParticipant))?;
        Ok(Command::Resign { seat, request_id: request_id.clone() })
    })
    .await;
    match resigned {
        // A refusal says that it is over already.
        Ok(driven) => follow_up::settle(store, &driven.stored).await.map_err(errors::store),
        Err(error) if error.reason() == ErrorReason::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Frees him from whatever holds him: a match that holds him and is not in his list yet is resigned as well.
async fn free(node: &Node, whose: &str, request_id: &RequestId) -> Result<(), ApiError> {
    let store = node.store.as_ref();
    for _ in 0..HOLDS_MAX {
        let Some((held, judged)) = holding::of(store, whose).await.map_err(errors::store)? else {
            return Ok(());
        };
        match judged {
            Judged::Holds(Holding::Match(id)) => resign(node, whose, id, request_id).await?,
            Judged::Holds(Holding::Ticket(seen)) => {
                if let store::TicketState::Matched { match_id, .. } = seen.ticket.state {
                    resign(node, whose, match_id, request_id).await?;
                }
                tickets::take_out(store, whose).await.map_err(errors::store)?;
            }
            Judged::Over(Some(ticket)) => _ = store.leave_ticket(&ticket).await.map_err(errors::store)?,
            Judged::Over(None) => {}
        }
        let freed: Option<&Reservation> = None;
        store.reserve(whose, Some(&held.by), freed).await.map_err(errors::store)?;
    }
    Err(errors::contended())
}

/// Removes what he has achieved, and his lists.
async fn forget(store: &dyn Store, whose: &str) -> Result<(), StoreError> {
    store.remove_record(whose).await?;
    for class in matchmaker::SpeedClass::ALL {
        store.unrank(Speed(class.number()), whose).await?;
    }
    store.forget_matches_of(whose).await
}
