//! Entries of the feed.

use referee::Stamp;
use rules::{PerSeat, Seat};
use sealing::{Commitment, Digest, EndReason, MatchId, MatchResult};

use super::field::{bytes, damaged, fixed, optional, required};
use super::record::feed_event::Event;
use super::{CodecError, FORMAT, record, settings};
use crate::{FeedEntry, FeedEvent, FeedFinish};

/// Writes an entry.
///
/// # Errors
/// It is longer than a record can be.
pub fn encode_feed_entry(entry: &FeedEntry) -> Result<Vec<u8>, CodecError> {
    super::write(&record::FeedEntry {
        format: FORMAT,
        match_id: entry.match_id.as_bytes().to_vec(),
        black_player: entry.players.black.clone(),
        white_player: entry.players.white.clone(),
        at_ms: entry.at.as_ms(),
        mark: u32::from(entry.mark),
        events: entry.events.iter().map(write_event).collect(),
    })
}

fn write_event(event: &FeedEvent) -> record::FeedEvent {
    let event = match event {
        FeedEvent::Started { settings } => {
            Event::Started(record::FeedStarted { settings: Some(settings::write(settings)) })
        }
        FeedEvent::TurnOpened { turn, deadlines } => Event::TurnOpened(record::FeedTurnOpened {
            turn: *turn,
            black_deadline_ms: deadlines.black.as_ms(),
            white_deadline_ms: deadlines.white.as_ms(),
        }),
        FeedEvent::TurnResolved { turn, hash } => {
            Event::TurnResolved(record::FeedTurnResolved { turn: *turn, hash: hash.as_bytes().to_vec() })
        }
        FeedEvent::Finished(finish) => Event::Finished(write_finish(finish)),
    };
    record::FeedEvent { event: Some(event) }
}

fn write_finish(finish: &FeedFinish) -> record::FeedFinished {
    let unresolved = |seat: Seat| bytes(finish.unresolved[seat].as_ref().map(Commitment::as_bytes));
    record::FeedFinished {
        result: u32::from(finish.result.number()),
        reason: u32::from(finish.reason.number()),
        at_ms: finish.at.as_ms(),
        turn: finish.turn,
        black_unresolved_commitment: unresolved(Seat::Black),
        white_unresolved_commitment: unresolved(Seat::White),
        end_hash: finish.end_hash.as_bytes().to_vec(),
    }
}

/// Reads what [`encode_feed_entry`] wrote.
///
/// # Errors
/// The bytes are no entry, or of a newer format.
pub fn decode_feed_entry(bytes: &[u8]) -> Result<FeedEntry, CodecError> {
    let entry = super::read(bytes, |entry: &record::FeedEntry| entry.format)?;
    if entry.events.is_empty() {
        return Err(damaged("FeedEntry.events"));
    }
    Ok(FeedEntry {
        match_id: MatchId::from_bytes(fixed(&entry.match_id, "FeedEntry.match_id")?),
        players: PerSeat { black: entry.black_player, white: entry.white_player },
        at: Stamp::from_ms(entry.at_ms),
        mark: u16::try_from(entry.mark).map_err(|_| damaged("FeedEntry.mark"))?,
        events: entry.events.into_iter().map(read_event).collect::<Result<_, _>>()?,
    })
}

fn read_event(event: record::FeedEvent) -> Result<FeedEvent, CodecError> {
    Ok(match required(event.event, "FeedEvent.event")? {
        Event::Started(started) => {
            let settings = required(started.settings, "FeedStarted.settings")?;
            FeedEvent::Started { settings: Box::new(settings::read(&settings)?) }
        }
        Event::TurnOpened(opened) => FeedEvent::TurnOpened {
            turn: opened.turn,
            deadlines: PerSeat {
                black: Stamp::from_ms(opened.black_deadline_ms),
                white: Stamp::from_ms(opened.white_deadline_ms),
            },
        },
        Event::TurnResolved(resolved) => FeedEvent::TurnResolved {
            turn: resolved.turn,
            hash: Digest::from_bytes(fixed(&resolved.hash, "FeedTurnResolved.hash")?),
        },
        Event::Finished(finish) => FeedEvent::Finished(read_finish(&finish)?),
    })
}

fn read_finish(finish: &record::FeedFinished) -> Result<FeedFinish, CodecError> {
    let result = u8::try_from(finish.result).ok().and_then(MatchResult::from_number);
    let reason = u8::try_from(finish.reason).ok().and_then(EndReason::from_number);
    let commitment = |bytes| optional(bytes, "FeedFinished.unresolved_commitment", Commitment::from_bytes);
    Ok(FeedFinish {
        result: required(result, "FeedFinished.result")?,
        reason: required(reason, "FeedFinished.reason")?,
        at: Stamp::from_ms(finish.at_ms),
        turn: finish.turn,
        unresolved: PerSeat {
            black: commitment(&finish.black_unresolved_commitment)?,
            white: commitment(&finish.white_unresolved_commitment)?,
        },
        end_hash: Digest::from_bytes(fixed(&finish.end_hash, "FeedFinished.end_hash")?),
    })
}

/// Writes the [`order`](crate::FeedPosition::order) of the last entry that was trimmed.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_feed_trimmed((at_ms, number): (u64, u64)) -> Result<Vec<u8>, CodecError> {
    super::write(&record::FeedTrimmed { format: FORMAT, at_ms, number })
}

/// Reads what [`encode_feed_trimmed`] wrote.
///
/// # Errors
/// The bytes are no such record, or of a newer format.
pub fn decode_feed_trimmed(bytes: &[u8]) -> Result<(u64, u64), CodecError> {
    let trimmed = super::read(bytes, |trimmed: &record::FeedTrimmed| trimmed.format)?;
    Ok((trimmed.at_ms, trimmed.number))
}
