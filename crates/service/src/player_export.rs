//! `ExportPlayer`: everything that is kept of a player.

use matchmaker::SpeedClass;
use referee::Stamp;
use store::{Reservation, SeenTicket, Speed, StoreError};
use wire::ApiError;
use wire::v1;

use crate::bans::subject;
use crate::convert::time::timestamp;
use crate::convert::{errors, invite, match_name, player, ticket, ticket_name};
use crate::match_list;
use crate::node::Node;
use crate::page::Page;

/// Open invites that an export shows: more than a player can have made, ten times.
pub(crate) const INVITES_MAX: usize = 1_000;

/// A page of all that is kept of a player; all but his matches is on the first one.
pub(crate) async fn export(
    node: &Node,
    request: &v1::ExportPlayerRequest,
) -> Result<v1::ExportPlayerResponse, ApiError> {
    let whose = subject(&request.player)?;
    let page = Page::of(request.page_size, &request.page_token, whose, None)?;
    let (matches, next_page_token) = match_list::page(node.store.as_ref(), whose, None, &page).await?;
    let first = match page.after {
        None => beside_matches(node, whose).await.map_err(errors::store)?,
        Some(_) => v1::ExportPlayerResponse::default(),
    };
    Ok(v1::ExportPlayerResponse { matches, next_page_token, ..first })
}

async fn beside_matches(node: &Node, whose: &str) -> Result<v1::ExportPlayerResponse, StoreError> {
    let store = node.store.as_ref();
    let (record, _) = store.record(whose).await?;
    let access = store.access(whose).await?.unwrap_or_default();
    let invites = store.open_invites_of(whose, INVITES_MAX).await?;
    let held_by = store.reservation(whose).await?.map(|held| held.by);
    let ticket = match &held_by {
        Some(Reservation::Ticket(name)) => found(store.ticket(name).await)?,
        Some(Reservation::Match(_)) | None => None,
    };
    let now = Stamp::from_ms(node.clock.now_ms());
    Ok(v1::ExportPlayerResponse {
        player: Some(player::to_wire(whose.to_owned(), &record)),
        leaderboard_places: leaderboard_places(node, whose).await?,
        recent_opponents: record.recent.iter().map(player::recent_opponent).collect(),
        counted_matches: record.counted.iter().map(|id| match_name(*id)).collect(),
        held_by: held_by
            .map(|by| match by {
                Reservation::Ticket(name) => ticket_name(&name),
                Reservation::Match(id) => match_name(id),
            })
            .unwrap_or_default(),
        ticket: ticket.as_ref().map(ticket::to_wire),
        invites: invites.iter().map(|invite| invite::to_wire(invite, now)).collect(),
        ban: player::ban(whose, &access),
        tokens_from_time: access.tokens_from.map(timestamp),
        ..v1::ExportPlayerResponse::default()
    })
}

/// A ticket may be forgotten before what names it.
fn found(seen: Result<SeenTicket, StoreError>) -> Result<Option<SeenTicket>, StoreError> {
    match seen {
        Err(StoreError::NotFound) => Ok(None),
        seen => seen.map(Some),
    }
}

async fn leaderboard_places(node: &Node, whose: &str) -> Result<Vec<v1::LeaderboardPlace>, StoreError> {
    let mut places = Vec::new();
    for class in SpeedClass::ALL {
        let speed = Speed(class.number());
        let Some(before) = node.store.leaderboard_place(speed, whose).await? else { continue };
        // He may move between the two; then he is told the rank of the place that he had.
        let line = node.store.leaderboard(speed, before, 1).await?.into_iter().next();
        let rank = line.map_or(before + 1, |line| line.rank);
        places.push(v1::LeaderboardPlace { speed: i32::from(class.number()), rank });
    }
    Ok(places)
}
