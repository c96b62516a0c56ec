//! Tickets and reservations.

use referee::TimeControl;
use sealing::MatchId;

use super::field::{damaged, fixed, required};
use super::record::reservation::HeldBy;
use super::record::wished_time::TimeControl as StoredTime;
use super::{CodecError, FORMAT, record, settings};
use crate::{BotFallback, Met, Reservation, Wish};

/// Writes what a player asks for.
///
/// # Errors
/// It is longer than a record can be.
pub fn encode_wish(wish: &Wish) -> Result<Vec<u8>, CodecError> {
    super::write(&record::Wish {
        format: FORMAT,
        party: Some(settings::write_party(&wish.party.player, wish.party.public_key.as_ref())),
        time_controls: wish.time_controls.iter().map(|time| write_time(*time)).collect(),
        rating_milli: wish.rating_milli,
        deviation_points: wish.deviation_points,
        excluded: wish.excluded.clone(),
        recent: wish.recent.iter().map(write_met).collect(),
        bot_after_ms: wish.bot_fallback.map(|bot| bot.after_ms),
        bot_level: wish.bot_fallback.map_or(0, |bot| u32::from(bot.level)),
    })
}

/// Reads what [`encode_wish`] wrote.
///
/// # Errors
/// The bytes are no such record, or of a newer format.
pub fn decode_wish(bytes: &[u8]) -> Result<Wish, CodecError> {
    let wish = super::read(bytes, |wish: &record::Wish| wish.format)?;
    let level = u8::try_from(wish.bot_level).map_err(|_| damaged("Wish.bot_level"))?;
    Ok(Wish {
        party: settings::read_party(required(wish.party, "Wish.party")?)?,
        time_controls: wish.time_controls.iter().map(read_time).collect::<Result<_, _>>()?,
        rating_milli: wish.rating_milli,
        deviation_points: wish.deviation_points,
        excluded: wish.excluded,
        recent: wish.recent.into_iter().map(read_met).collect::<Result<_, _>>()?,
        bot_fallback: wish.bot_after_ms.map(|after_ms| BotFallback { after_ms, level }),
    })
}

fn write_time(time: TimeControl) -> record::WishedTime {
    record::WishedTime {
        time_control: Some(match time {
            TimeControl::PerTurn { turn_ms } => StoredTime::TurnMs(turn_ms),
            TimeControl::Bank { initial_ms, increment_ms } => {
                StoredTime::Bank(record::Bank { initial_ms, increment_ms })
            }
        }),
    }
}

fn read_time(time: &record::WishedTime) -> Result<TimeControl, CodecError> {
    Ok(match required(time.time_control, "WishedTime.time_control")? {
        StoredTime::TurnMs(turn_ms) => TimeControl::PerTurn { turn_ms },
        StoredTime::Bank(record::Bank { initial_ms, increment_ms }) => {
            TimeControl::Bank { initial_ms, increment_ms }
        }
    })
}

pub(super) fn write_met(met: &Met) -> record::Met {
    record::Met { player: met.player.clone(), black_surplus: met.black_surplus.into() }
}

pub(super) fn read_met(met: record::Met) -> Result<Met, CodecError> {
    let black_surplus = i8::try_from(met.black_surplus).map_err(|_| damaged("Met.black_surplus"))?;
    Ok(Met { player: met.player, black_surplus })
}

/// Writes what holds a player.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_reservation(reservation: &Reservation) -> Result<Vec<u8>, CodecError> {
    let held_by = match reservation {
        Reservation::Ticket(name) => HeldBy::Ticket(name.to_string()),
        Reservation::Match(id) => HeldBy::MatchId(id.as_bytes().to_vec()),
    };
    super::write(&record::Reservation { format: FORMAT, held_by: Some(held_by) })
}

/// Reads what [`encode_reservation`] wrote.
///
/// # Errors
/// The bytes are no reservation, or of a newer format.
pub fn decode_reservation(bytes: &[u8]) -> Result<Reservation, CodecError> {
    let reservation = super::read(bytes, |reservation: &record::Reservation| reservation.format)?;
    match required(reservation.held_by, "Reservation.held_by")? {
        HeldBy::Ticket(name) => {
            name.parse().map(Reservation::Ticket).map_err(|_| damaged("Reservation.ticket"))
        }
        HeldBy::MatchId(id) => {
            fixed(&id, "Reservation.match_id").map(MatchId::from_bytes).map(Reservation::Match)
        }
    }
}
