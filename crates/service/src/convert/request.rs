//! The fields that many requests share.

use referee::{RequestId, SealedMove};
use rules::{Cell, Seat};
use sealing::{Commitment, Digest, MatchId, Opening, PlayerSignature, PublicKey, Receipt, Salt, Signature};
use store::{InviteId, TicketName};
use wire::ApiError;
use wire::Collection;
use wire::v1::{self, ErrorReason, seal_move_request};

use super::time::timestamp_ms;

/// A request's name for itself.
pub(crate) fn request_id(text: &str) -> Result<RequestId, ApiError> {
    if text.is_empty() {
        return Err(ApiError::required("request_id"));
    }
    RequestId::new(text)
        .map_err(|error| ApiError::field(ErrorReason::FieldInvalid, "request_id", &error.to_string()))
}

/// The match that a field names. An id that no match can have is one that is not found.
pub(crate) fn match_id(field: &str, name: &str) -> Result<MatchId, ApiError> {
    id(Collection::Matches, field, name)
}

/// The invite that a field names.
pub(crate) fn invite_id(field: &str, name: &str) -> Result<InviteId, ApiError> {
    id(Collection::Invites, field, name)
}

/// The ticket that a field names.
pub(crate) fn ticket_name(field: &str, name: &str) -> Result<TicketName, ApiError> {
    if name.is_empty() {
        return Err(ApiError::required(field));
    }
    let id = Collection::Tickets
        .id(name)
        .map_err(|error| ApiError::field(ErrorReason::FieldInvalid, field, &error.to_string()))?;
    id.parse().map_err(|_| ApiError::not_found(name))
}

/// The number on the wire of a bot's level.
pub(crate) fn bot_level(field: &str, level: i32) -> Result<u8, ApiError> {
    match v1::BotLevel::try_from(level) {
        Ok(v1::BotLevel::Unspecified) => Err(ApiError::required(field)),
        Ok(level) => Ok(level as u8),
        Err(_) => {
            Err(ApiError::field(ErrorReason::FieldInvalid, field, "this server does not know the level"))
        }
    }
}

/// A player that a back end acts for: any but a bot, whom only the service moves.
pub(crate) fn acting_player(name: &str) -> Result<&str, ApiError> {
    let player = player("player", name)?;
    if player.starts_with(BOT_PREFIX) {
        let what = "names that begin with `bot-` are the bots', and nobody acts for them";
        return Err(ApiError::field(ErrorReason::FieldInvalid, "player", what));
    }
    Ok(player)
}

/// What the names of bots begin with.
const BOT_PREFIX: &str = "players/bot-";

fn id(collection: Collection, field: &str, name: &str) -> Result<MatchId, ApiError> {
    if name.is_empty() {
        return Err(ApiError::required(field));
    }
    let id = collection
        .id(name)
        .map_err(|error| ApiError::field(ErrorReason::FieldInvalid, field, &error.to_string()))?;
    id.parse().map_err(|_| ApiError::not_found(name))
}

/// A player that a field names, whole (`players/{player}`).
pub(crate) fn player<'a>(field: &str, name: &'a str) -> Result<&'a str, ApiError> {
    match Collection::Players.id(name) {
        Ok(_) => Ok(name),
        Err(error) => Err(ApiError::field(ErrorReason::FieldInvalid, field, &error.to_string())),
    }
}

/// A turn's number.
pub(crate) fn turn(turn: u32) -> Result<u32, ApiError> {
    match turn {
        0 => Err(ApiError::required("turn")),
        turn => Ok(turn),
    }
}

/// What a seat seals. Refusals never repeat what came.
pub(crate) fn sealed_move(sealed: Option<&seal_move_request::Move>) -> Result<SealedMove, ApiError> {
    match sealed {
        None => Err(ApiError::required("open")),
        Some(seal_move_request::Move::Open(open)) => opening("open", open).map(SealedMove::Opening),
        Some(seal_move_request::Move::Commitment(commitment)) => {
            Commitment::try_from(commitment.as_slice()).map(SealedMove::Commitment).map_err(|_| {
                let reason = ErrorReason::CommitmentMalformed;
                ApiError::field(reason, "commitment", "a commitment is 32 bytes")
            })
        }
    }
}

/// What a commitment opens to.
pub(crate) fn revealed(open: Option<&v1::OpenMove>) -> Result<Opening, ApiError> {
    opening("open", open.ok_or_else(|| ApiError::required("open"))?)
}

fn opening(field: &str, open: &v1::OpenMove) -> Result<Opening, ApiError> {
    let cell = u8::try_from(open.cell).ok().and_then(Cell::from_number).ok_or_else(|| {
        let reason = ErrorReason::CellOutOfRange;
        ApiError::field(reason, &format!("{field}.cell"), "a cell is 1 (A1) to 81 (I9)")
    })?;
    let salt = <[u8; 32]>::try_from(open.salt.as_slice()).map_err(|_| {
        let reason = ErrorReason::SaltInvalid;
        ApiError::field(reason, &format!("{field}.salt"), "a salt is 32 random bytes")
    })?;
    Ok(Opening { cell, salt: Salt::from_bytes(salt) })
}

/// A hash that may be left out.
pub(crate) fn digest(field: &str, bytes: &[u8]) -> Result<Option<Digest>, ApiError> {
    optional(field, bytes, "a hash is 32 bytes, or left out")
}

/// A player's key that may be left out.
pub(crate) fn public_key(field: &str, bytes: &[u8]) -> Result<Option<PublicKey>, ApiError> {
    let what = "an Ed25519 public key is 32 bytes that are a point of the curve, or left out";
    let key: Option<PublicKey> = optional(field, bytes, what)?;
    match key {
        Some(key) if !sealing::is_usable_key(&key) => {
            Err(ApiError::field(ErrorReason::FieldInvalid, field, what))
        }
        key => Ok(key),
    }
}

/// A player's signature that may be left out.
pub(crate) fn signature(field: &str, bytes: &[u8]) -> Result<Option<PlayerSignature>, ApiError> {
    optional(field, bytes, "an Ed25519 signature is 64 bytes, or left out")
}

/// A receipt that may be left out, with its signature if it has one.
pub(crate) fn receipt(
    field: &str,
    receipt: Option<&v1::SealReceipt>,
) -> Result<Option<(Receipt, Option<Signature>)>, ApiError> {
    let Some(receipt) = receipt else { return Ok(None) };
    let of = |name: &str| format!("{field}.{name}");
    let commitment = optional(&of("commitment"), &receipt.commitment, "a commitment is 32 bytes")?;
    let signature = optional(&of("signature"), &receipt.signature, "an Ed25519 signature is 64 bytes")?;
    let sealed = receipt.seal_time.as_ref().ok_or_else(|| ApiError::required(&of("seal_time")))?;
    let read = Receipt {
        match_id: match_id(&of("match"), &receipt.r#match)?,
        turn: receipt.turn,
        seat: seat(&of("seat"), receipt.seat)?.ok_or_else(|| ApiError::required(&of("seat")))?,
        commitment: commitment.ok_or_else(|| ApiError::required(&of("commitment")))?,
        sealed_ms: timestamp_ms(&of("seal_time"), sealed)?,
        key_id: receipt.key_id.as_str().into(),
    };
    Ok(Some((read, signature)))
}

fn optional<'a, T: TryFrom<&'a [u8]>>(
    field: &str,
    bytes: &'a [u8],
    what: &str,
) -> Result<Option<T>, ApiError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    T::try_from(bytes).map(Some).map_err(|_| ApiError::field(ErrorReason::FieldInvalid, field, what))
}

/// A seat that may be left to the server.
pub(crate) fn seat(field: &str, seat: i32) -> Result<Option<Seat>, ApiError> {
    match v1::Seat::try_from(seat) {
        Ok(v1::Seat::Unspecified) => Ok(None),
        Ok(v1::Seat::Black) => Ok(Some(Seat::Black)),
        Ok(v1::Seat::White) => Ok(Some(Seat::White)),
        Err(_) => {
            Err(ApiError::field(ErrorReason::FieldInvalid, field, "this server does not know the seat"))
        }
    }
}
