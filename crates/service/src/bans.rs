//! What back ends decide on players: bans, and tokens that count no more.
//!
//! A request that is repeated has one effect: it is remembered by an id that begins with its time, and the record of
//! the player says which requests were carried out last.

use prost::Message;
use prost_types::Any;
use referee::Stamp;
use store::{Access, Ban};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::admission::REVOCATION_LEAD_MS;
use crate::convert::time::{duration_ms, timestamp};
use crate::convert::{errors, player, request};
use crate::node::Node;
use crate::tickets;

const SECOND_MS: u64 = 1_000;
const YEAR_MS: u64 = 365 * 24 * 60 * 60 * SECOND_MS;

/// How long a ban that ends may take, ms; one for longer is for good.
const BAN_MIN_MS: u64 = SECOND_MS;
const BAN_MAX_MS: u64 = 10 * YEAR_MS;

/// How often a change is judged again because somebody else made one meanwhile: back ends seldom decide on one
/// player at once.
const TRIES_MAX: usize = 16;

/// A request of a back end about a player, as it is remembered.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    id: [u8; 16],
    /// When it was first asked, by the clock of the node that was.
    pub(crate) at: Stamp,
}

impl Asked {
    /// Whether it has been carried out, also if something else was since.
    pub(crate) fn is_done(&self, access: &Access) -> bool {
        access.done.contains(&self.id)
    }

    /// The record of a player for whom it is carried out by this.
    pub(crate) fn done(&self, mut access: Access) -> Access {
        access.done.push(self.id);
        access.done.drain(..access.done.len().saturating_sub(Access::DONE_MAX));
        access
    }
}

/// The player that a request is about.
pub(crate) fn subject(player: &str) -> Result<&str, ApiError> {
    if player.is_empty() { Err(ApiError::required("player")) } else { request::acting_player(player) }
}

/// Remembers a request, or finds out when it was first asked. `kind` tells requests of different calls apart.
pub(crate) async fn asked(
    node: &Node,
    player: &str,
    request_id: &str,
    kind: &str,
    content: &impl Message,
) -> Result<Asked, ApiError> {
    let request_id = request::request_id(request_id)?;
    let content = Any { type_url: kind.to_owned(), value: content.encode_to_vec() };
    let id = node.keys.created_id(node.store.as_ref(), player, &request_id, &content, node.new_id()).await?;
    let [a, b, c, d, e, f, ..] = *id.as_bytes();
    let at = Stamp::from_ms(u64::from_be_bytes([0, 0, a, b, c, d, e, f]));
    Ok(Asked { id: *id.as_bytes(), at })
}

/// Changes a player's record until nobody else does so meanwhile, and has this node know of it. `next` says what is to
/// be there, or that it stays as it is.
pub(crate) async fn change(
    node: &Node,
    player: &str,
    next: impl Fn(&Access) -> Option<Access>,
) -> Result<Access, ApiError> {
    let store = node.store.as_ref();
    let mut there = store.access(player).await.map_err(errors::store)?;
    for _ in 0..TRIES_MAX {
        let now = there.clone().unwrap_or_default();
        let Some(wanted) = next(&now) else { return Ok(now) };
        let wanted = Access { changed: Stamp::from_ms(node.clock.now_ms()), ..wanted };
        let stored = store.put_access(player, there.as_ref(), &wanted).await.map_err(errors::store)?;
        if stored.as_ref() == Some(&wanted) {
            // If it fails the next look makes good for it.
            let _ = node.admissions.refresh(store, node.clock.now_ms()).await;
            return Ok(wanted);
        }
        there = stored;
    }
    Err(errors::contended())
}

/// Bans a player, and takes him out of the pool.
pub(crate) async fn ban(
    node: &Node,
    mut request: v1::BanPlayerRequest,
) -> Result<v1::BanPlayerResponse, ApiError> {
    let whose = subject(&request.player)?.to_owned();
    let ttl_ms = request.ttl.as_ref().map(ttl_ms).transpose()?;
    if request.reason.len() > Ban::REASON_BYTES_MAX {
        let what = format!("it has at most {} bytes", Ban::REASON_BYTES_MAX);
        return Err(ApiError::field(ErrorReason::FieldInvalid, "reason", &what));
    }
    let request_id = std::mem::take(&mut request.request_id);
    let asked = asked(node, &whose, &request_id, "BanPlayer", &request).await?;
    let until = ttl_ms.map(|ttl_ms| asked.at.plus_ms(ttl_ms));
    let ban = Ban { from: asked.at, until, reason: request.reason };
    let access = change(node, &whose, |access| {
        let banned = || Access { ban: Some(ban.clone()), ..access.clone() };
        (!asked.is_done(access)).then(|| asked.done(banned()))
    })
    .await?;
    if is_banned(&access, node) {
        tickets::take_out(node.store.as_ref(), &whose).await.map_err(errors::store)?;
    }
    Ok(v1::BanPlayerResponse { ban: player::ban(&whose, &access) })
}

/// Lifts a player's ban.
pub(crate) async fn unban(
    node: &Node,
    mut request: v1::UnbanPlayerRequest,
) -> Result<v1::UnbanPlayerResponse, ApiError> {
    let whose = subject(&request.player)?.to_owned();
    let request_id = std::mem::take(&mut request.request_id);
    let asked = asked(node, &whose, &request_id, "UnbanPlayer", &request).await?;
    let access = change(node, &whose, |access| {
        // Also where there is no ban: what comes later is not lifted by the same request.
        (!asked.is_done(access)).then(|| asked.done(Access { ban: None, ..access.clone() }))
    })
    .await?;
    Ok(v1::UnbanPlayerResponse { ban: player::ban(&whose, &access) })
}

/// Calls back a player's tokens.
pub(crate) async fn revoke_tokens(
    node: &Node,
    mut request: v1::RevokePlayerTokensRequest,
) -> Result<v1::RevokePlayerTokensResponse, ApiError> {
    let whose = subject(&request.player)?.to_owned();
    let request_id = std::mem::take(&mut request.request_id);
    let asked = asked(node, &whose, &request_id, "RevokePlayerTokens", &request).await?;
    let access = change(node, &whose, |access| revoked(access, asked.at)).await?;
    Ok(v1::RevokePlayerTokensResponse { tokens_from_time: access.tokens_from.map(timestamp) })
}

/// The record of a player whose tokens were called back at a time; none if that says nothing new.
pub(crate) fn revoked(access: &Access, at: Stamp) -> Option<Access> {
    let from_s = at.as_ms().saturating_add(REVOCATION_LEAD_MS).div_ceil(SECOND_MS);
    let from = Some(Stamp::from_ms(from_s.saturating_mul(SECOND_MS)));
    (access.tokens_from < from).then(|| Access { tokens_from: from, ..access.clone() })
}

fn is_banned(access: &Access, node: &Node) -> bool {
    let now = Stamp::from_ms(node.clock.now_ms());
    access.ban.as_ref().is_some_and(|ban| ban.holds_at(now))
}

fn ttl_ms(ttl: &prost_types::Duration) -> Result<u64, ApiError> {
    let ms = duration_ms("ttl", ErrorReason::FieldInvalid, ttl)?;
    if (BAN_MIN_MS..=BAN_MAX_MS).contains(&ms) {
        return Ok(ms);
    }
    let what = "it is 1 second to 10 years; leave it unset for a ban until it is lifted";
    Err(ApiError::field(ErrorReason::FieldInvalid, "ttl", what))
}
