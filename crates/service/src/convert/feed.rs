//! Events of the feed.

use store::{FeedEntry, FeedEvent, FeedFinish};
use wire::v1;
use wire::v1::feed_event::Event;

use super::time::timestamp;
use super::{match_name, settings};

/// The events of an entry, in order. They are the same for everyone who may read the feed.
pub(crate) fn to_wire(entry: &FeedEntry) -> Vec<v1::FeedEvent> {
    entry.events.iter().map(|event| one(entry, event)).collect()
}

fn one(entry: &FeedEntry, event: &FeedEvent) -> v1::FeedEvent {
    let mut at = entry.at;
    let event = match event {
        FeedEvent::Started { settings: agreed } => {
            Event::Started(v1::MatchStarted { settings: Some(settings::to_wire(agreed)) })
        }
        FeedEvent::TurnOpened { turn, deadlines } => Event::TurnOpened(v1::TurnOpened {
            turn: *turn,
            black_deadline: Some(timestamp(deadlines.black)),
            white_deadline: Some(timestamp(deadlines.white)),
        }),
        FeedEvent::TurnResolved { turn, hash } => {
            Event::TurnResolved(v1::TurnResolved { turn: *turn, hash: hash.as_bytes().to_vec() })
        }
        FeedEvent::Finished(finish) => {
            at = finish.at;
            Event::Finished(finished(finish))
        }
    };
    v1::FeedEvent {
        r#match: match_name(entry.match_id),
        black_player: entry.players.black.clone(),
        white_player: entry.players.white.clone(),
        event_time: Some(timestamp(at)),
        event: Some(event),
    }
}

fn finished(finish: &FeedFinish) -> v1::MatchFinished {
    let unresolved = finish.unresolved.as_ref().map(|commitment| match commitment {
        Some(commitment) => commitment.as_bytes().to_vec(),
        None => Vec::new(),
    });
    v1::MatchFinished {
        result: i32::from(finish.result.number()),
        reason: i32::from(finish.reason.number()),
        finish_time: Some(timestamp(finish.at)),
        turn: finish.turn,
        black_unresolved_commitment: unresolved.black,
        white_unresolved_commitment: unresolved.white,
        end_hash: finish.end_hash.as_bytes().to_vec(),
    }
}
