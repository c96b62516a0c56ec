//! Invites.

use referee::Stamp;
use sealing::{MatchId, Party};

use super::field::{bytes, fixed, optional, optional_seat, request_id, required, seat_number};
use super::record::closing::End;
use super::{CodecError, FORMAT, record, settings};
use crate::{Closing, Invite, InviteEnd};

/// Writes an invite.
///
/// # Errors
/// It is longer than a record can be.
pub fn encode_invite(invite: &Invite) -> Result<Vec<u8>, CodecError> {
    super::write(&record::Invite {
        format: FORMAT,
        id: invite.id.as_bytes().to_vec(),
        inviter: Some(settings::write_party(&invite.inviter, invite.inviter_key.as_ref())),
        invitee: invite.invitee.clone().unwrap_or_default(),
        secret_hash: bytes(invite.secret_hash.as_ref()),
        settings: Some(settings::write(&invite.settings)),
        inviter_seat: seat_number(invite.inviter_seat),
        rematch_of: bytes(invite.rematch_of.as_ref().map(MatchId::as_bytes)),
        created_ms: invite.created.as_ms(),
        expires_ms: invite.expires.as_ms(),
        closing: invite.closing.as_ref().map(write_closing),
    })
}

/// Reads what [`encode_invite`] wrote.
///
/// # Errors
/// The bytes are no invite, or of a newer format.
pub fn decode_invite(bytes: &[u8]) -> Result<Invite, CodecError> {
    let invite = super::read(bytes, |invite: &record::Invite| invite.format)?;
    let Party { player, public_key } = settings::read_party(required(invite.inviter, "Invite.inviter")?)?;
    Ok(Invite {
        id: MatchId::from_bytes(fixed(&invite.id, "Invite.id")?),
        inviter: player,
        inviter_key: public_key,
        invitee: Some(invite.invitee).filter(|invitee| !invitee.is_empty()),
        secret_hash: optional(&invite.secret_hash, "Invite.secret_hash", |hash| hash)?,
        settings: settings::read(&required(invite.settings, "Invite.settings")?)?,
        inviter_seat: optional_seat(invite.inviter_seat, "Invite.inviter_seat")?,
        rematch_of: optional(&invite.rematch_of, "Invite.rematch_of", MatchId::from_bytes)?,
        created: Stamp::from_ms(invite.created_ms),
        expires: Stamp::from_ms(invite.expires_ms),
        closing: invite.closing.map(read_closing).transpose()?,
    })
}

fn write_closing(closing: &Closing) -> record::Closing {
    let end = match closing.end {
        InviteEnd::Accepted { match_id } => End::Accepted(match_id.as_bytes().to_vec()),
        InviteEnd::Declined => End::Declined(record::Declined {}),
        InviteEnd::Revoked => End::Revoked(record::Revoked {}),
    };
    record::Closing {
        end: Some(end),
        by: Some(settings::write_party(&closing.by, closing.public_key.as_ref())),
        request_id: closing.request_id.as_str().to_owned(),
    }
}

fn read_closing(closing: record::Closing) -> Result<Closing, CodecError> {
    let end = match required(closing.end, "Closing.end")? {
        End::Accepted(id) => {
            InviteEnd::Accepted { match_id: MatchId::from_bytes(fixed(&id, "Closing.accepted")?) }
        }
        End::Declined(_) => InviteEnd::Declined,
        End::Revoked(_) => InviteEnd::Revoked,
    };
    let Party { player, public_key } = settings::read_party(required(closing.by, "Closing.by")?)?;
    let request_id = request_id(&closing.request_id, "Closing.request_id")?;
    Ok(Closing { end, by: player, request_id, public_key })
}
