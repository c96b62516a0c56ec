//! Invites.

use referee::Stamp;
use store::{Invite, InviteEnd};
use wire::v1;

use super::time::timestamp;
use super::{invite_name, match_name, settings};

/// An invite as inviter and invitee see it at a moment. Its secret is not part of it.
pub(crate) fn to_wire(invite: &Invite, now: Stamp) -> v1::Invite {
    let end = invite.closing.as_ref().map(|closing| closing.end);
    let state = match end {
        None if now > invite.expires => v1::InviteState::Expired,
        None => v1::InviteState::Open,
        Some(InviteEnd::Accepted { .. }) => v1::InviteState::Accepted,
        Some(InviteEnd::Declined) => v1::InviteState::Declined,
        Some(InviteEnd::Revoked) => v1::InviteState::Revoked,
    };
    let accepted = match end {
        Some(InviteEnd::Accepted { match_id }) => match_name(match_id),
        Some(InviteEnd::Declined | InviteEnd::Revoked) | None => String::new(),
    };
    v1::Invite {
        name: invite_name(invite.id),
        inviter: invite.inviter.clone(),
        invitee: invite.invitee.clone().unwrap_or_default(),
        settings: Some(settings::to_wire(&invite.settings)),
        inviter_seat: invite.inviter_seat.map_or(v1::Seat::Unspecified, super::seat).into(),
        state: state.into(),
        r#match: accepted,
        rematch_of: invite.rematch_of.map(match_name).unwrap_or_default(),
        create_time: Some(timestamp(invite.created)),
        expire_time: Some(timestamp(invite.expires)),
    }
}
