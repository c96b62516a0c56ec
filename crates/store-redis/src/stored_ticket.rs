//! What is stored of a ticket: a header that the scripts read, and behind it the wish.
//!
//! `scripts/shared/ticket.lua` says what lies where. The bytes may come from anywhere: what is no ticket is an
//! error.

use std::sync::Arc;

use matchmaker::TicketId;
use referee::Stamp;
use sealing::MatchId;
use store::codec::{self, CodecError};
use store::{PoolName, Ticket, TicketName, TicketState};

/// Where a ticket stands, as its first byte says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Waits = 1,
    WaitsAgain = 2,
    Matched = 3,
    Left = 4,
    Cancelled = 5,
    Expired = 6,
}

impl Stage {
    const ALL: [Self; 6] =
        [Self::Waits, Self::WaitsAgain, Self::Matched, Self::Left, Self::Cancelled, Self::Expired];
}

/// A ticket's id as keys hold it.
pub(crate) fn id_text(id: TicketId) -> String {
    format!("{:032x}", u128::from_be_bytes(*id.as_bytes()))
}

/// Reads the id of a ticket of a pool.
pub(crate) fn read_name(pool: &PoolName, id: &[u8]) -> Result<TicketName, CodecError> {
    let digits = std::str::from_utf8(id).map_err(|_| CodecError::Malformed)?;
    let id = u128::from_str_radix(digits, 16).map_err(|_| CodecError::Malformed)?;
    Ok(TicketName { pool: pool.clone(), id: TicketId::from_bytes(id.to_be_bytes()) })
}

/// Reads what is stored of a ticket whose last moment is `last`.
pub(crate) fn read(name: TicketName, bytes: &[u8], last: Stamp) -> Result<Ticket, CodecError> {
    let (&[stage], rest) = bytes.split_first_chunk().ok_or(CodecError::Malformed)?;
    let (created, rest) = rest.split_first_chunk().ok_or(CodecError::Malformed)?;
    let (match_id, wish) = rest.split_first_chunk().ok_or(CodecError::Malformed)?;
    let stage = Stage::ALL.into_iter().find(|known| *known as u8 == stage).ok_or(CodecError::Malformed)?;
    let match_id = MatchId::from_bytes(*match_id);
    let state = match stage {
        Stage::Waits => TicketState::Waiting { lease_until: last, aborted: None },
        Stage::WaitsAgain => TicketState::Waiting { lease_until: last, aborted: Some(match_id) },
        Stage::Matched => TicketState::Matched { match_id, left: false },
        Stage::Left => TicketState::Matched { match_id, left: true },
        Stage::Cancelled => TicketState::Cancelled,
        Stage::Expired => TicketState::Expired,
    };
    let wish = if wish.is_empty() { None } else { Some(Arc::new(codec::decode_wish(wish)?)) };
    Ok(Ticket { name, wish, created: Stamp::from_ms(u64::from_be_bytes(*created)), state })
}
