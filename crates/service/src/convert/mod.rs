//! Between the wire and the domain: the only place that knows both.
//!
//! From the wire everything is checked here, and each refusal names the field at fault; to the wire
//! nothing can fail. What a viewer may not see is left out in [`view`] and nowhere else.

pub(crate) mod admin;
pub(crate) mod errors;
pub(crate) mod feed;
pub(crate) mod invite;
pub(crate) mod player;
pub(crate) mod request;
pub(crate) mod settings;
pub(crate) mod ticket;
pub(crate) mod time;
pub(crate) mod turn;
pub(crate) mod view;

use std::fmt::Write as _;

use rules::Seat;
use sealing::MatchId;
use store::{InviteId, TicketName};
use wire::v1;

/// The seat as the wire has it.
pub(crate) const fn seat(seat: Seat) -> v1::Seat {
    match seat {
        Seat::Black => v1::Seat::Black,
        Seat::White => v1::Seat::White,
    }
}

/// The name of a match.
pub(crate) fn match_name(id: MatchId) -> String {
    named("matches/", id)
}

/// The name of an invite.
pub(crate) fn invite_name(id: InviteId) -> String {
    named("invites/", id)
}

/// The name of a ticket.
pub(crate) fn ticket_name(name: &TicketName) -> String {
    format!("tickets/{name}")
}

/// Every answer has such a name, so it is put together at once.
fn named(collection: &str, id: MatchId) -> String {
    let mut name = String::with_capacity(collection.len() + MatchId::TEXT_CHARS);
    name.push_str(collection);
    // A text takes whatever is written to it.
    let _ = write!(name, "{id}");
    name
}
