//! `CreateBotMatch`: a match against a bot of a chosen level.

use referee::{Bot, NewMatch};
use rules::Seat;
use sealing::Party;
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::bots;
use crate::convert::{errors, request, settings, view};
use crate::making;
use crate::node::Node;

/// Live matches that a player may have when he asks for one more against a bot. Each keeps the server a month
/// long if nobody moves; a person has a few.
const LIVE_MAX: usize = 200;

/// Makes a match, or finds the one that the same request made.
pub(crate) async fn create(
    node: &Node,
    caller: &Caller,
    mut request: v1::CreateBotMatchRequest,
) -> Result<v1::Match, ApiError> {
    let (player, acting) = (caller.acting(&request.player)?, request.player.clone());
    node.may_play(&player)?;
    let request_id = request::request_id(&request.request_id)?;
    let level = request::bot_level("level", request.level)?;
    let seat = request::seat("seat", request.seat)?;
    let party = Party { player: player.clone(), public_key: caller.key(&request.public_key)? };
    // Checked before anything is remembered; where the bot sits changes no check.
    let mut settings = settings::against_bot(request.settings.as_ref(), Bot { seat: Seat::White, level })?;
    request.request_id.clear();
    request.player.clear();
    let store = node.store.as_ref();
    let id = node.keys.created_id(store, &player, &request_id, &request, node.new_id()).await?;
    let own = seat.unwrap_or_else(|| bots::seat_by_id(id));
    settings.bot = Some(Bot { seat: own.opponent(), level });
    if store.load(id).await.is_err() {
        check_room(node, &player).await?;
    }
    let new =
        NewMatch { id, settings, parties: bots::against(party, own, level), rematch_of: None, origin: None };
    let made = making::ensure(store, &new).await.map_err(errors::store)?;
    let viewer = caller.viewer(&acting, &made.stored.head)?;
    Ok(view::game(&made.stored.head, made.now, viewer))
}

async fn check_room(node: &Node, player: &str) -> Result<(), ApiError> {
    let live = node.store.matches_of(player, Some(false), None, LIVE_MAX).await.map_err(errors::store)?;
    if live.len() < LIVE_MAX {
        return Ok(());
    }
    let what = format!("at most {LIVE_MAX} matches of a player are live when he asks for one more; end one");
    Err(ApiError::new(ErrorReason::TicketLimit).with_message(&what))
}
