//! Tickets.

use referee::{Stamp, TimeControl};
use store::{SeenTicket, TicketState};
use wire::v1;

use super::time::{duration, timestamp};
use super::{match_name, settings, ticket_name};

/// A ticket as its player sees it.
pub(crate) fn to_wire(seen: &SeenTicket) -> v1::Ticket {
    let ticket = &seen.ticket;
    let wish = ticket.wish.as_deref();
    let (state, game, aborted, lease_until) = match ticket.state {
        TicketState::Waiting { lease_until, aborted: None } => {
            (v1::TicketState::Waiting, None, None, Some(lease_until))
        }
        TicketState::Waiting { lease_until, aborted } => {
            (v1::TicketState::Requeued, None, aborted, Some(lease_until))
        }
        TicketState::Matched { match_id, .. } => (v1::TicketState::Matched, Some(match_id), None, None),
        TicketState::Cancelled => (v1::TicketState::Cancelled, None, None, None),
        TicketState::Expired => (v1::TicketState::Expired, None, None, None),
    };
    let fallback = wish.and_then(|wish| wish.bot_fallback);
    v1::Ticket {
        name: ticket_name(&ticket.name),
        player: wish.map(|wish| wish.party.player.clone()).unwrap_or_default(),
        pool: ticket.name.pool.as_str().to_owned(),
        time_controls: wish.into_iter().flat_map(|wish| &wish.time_controls).map(time).collect(),
        rating: wish.map_or(0.0, |wish| wish.rating_milli as f64 / 1_000.0),
        excluded_players: wish.map(|wish| wish.excluded.clone()).unwrap_or_default(),
        bot_fallback: fallback
            .map(|bot| v1::BotFallback { after: Some(duration(bot.after_ms)), level: i32::from(bot.level) }),
        state: state.into(),
        r#match: game.map(match_name).unwrap_or_default(),
        aborted_match: aborted.map(match_name).unwrap_or_default(),
        estimated_wait: lease_until.and(estimate_ms(seen)).map(duration),
        create_time: Some(timestamp(ticket.created)),
        lease_expire_time: lease_until.map(timestamp),
    }
}

fn time(time: &TimeControl) -> v1::TimeControl {
    settings::time_control_to_wire(*time)
}

/// How long waiting is likely to take from now on, ms: what others had to wait, less what he has. Who has waited
/// longer than they is told as much again as a beginner would be.
fn estimate_ms(seen: &SeenTicket) -> Option<u64> {
    let usual_ms = seen.usual_wait_ms?;
    let waited_ms = Stamp::ms_since(seen.now, seen.ticket.created);
    Some(usual_ms.checked_sub(waited_ms).unwrap_or(usual_ms))
}
