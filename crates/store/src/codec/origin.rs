//! Where matches come from, and matches that are to be made.

use referee::{NewMatch, Origin, PinnedRating, TicketRef};
use rules::{PerSeat, Seat};
use sealing::MatchId;

use super::field::{bytes, fixed, optional, required};
use super::{CodecError, FORMAT, record, settings};

pub(super) fn write(origin: &Origin) -> record::Origin {
    let ticket = |seat: Seat| origin.tickets[seat].as_ref().map(|ticket| ticket.0.to_string());
    let rating = |seat: Seat| origin.ratings.as_ref().map(|ratings| write_rating(&ratings[seat]));
    record::Origin {
        black_ticket: ticket(Seat::Black).unwrap_or_default(),
        white_ticket: ticket(Seat::White).unwrap_or_default(),
        black_rating: rating(Seat::Black),
        white_rating: rating(Seat::White),
    }
}

pub(super) fn read(origin: record::Origin) -> Result<Origin, CodecError> {
    let ticket = |name: String| Some(name).filter(|name| !name.is_empty()).map(|name| TicketRef(name.into()));
    let rating = |rating: Option<record::Rating>| rating.as_ref().map(read_rating);
    Ok(Origin {
        tickets: PerSeat { black: ticket(origin.black_ticket), white: ticket(origin.white_ticket) },
        ratings: match (rating(origin.black_rating), rating(origin.white_rating)) {
            (Some(black), Some(white)) => Some(PerSeat { black, white }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(super::field::damaged("Origin.rating")),
        },
    })
}

pub(super) const fn write_rating(rating: &PinnedRating) -> record::Rating {
    let PinnedRating { points_micro, deviation_micro, volatility_nano } = *rating;
    record::Rating { points_micro, deviation_micro, volatility_nano }
}

pub(super) const fn read_rating(rating: &record::Rating) -> PinnedRating {
    let record::Rating { points_micro, deviation_micro, volatility_nano } = *rating;
    PinnedRating { points_micro, deviation_micro, volatility_nano }
}

/// Writes a match that is to be made.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_new_match(new: &NewMatch) -> Result<Vec<u8>, CodecError> {
    let party = |seat: Seat| {
        let party = &new.parties[seat];
        Some(settings::write_party(&party.player, party.public_key.as_ref()))
    };
    super::write(&record::NewMatch {
        format: FORMAT,
        match_id: new.id.as_bytes().to_vec(),
        settings: Some(settings::write(&new.settings)),
        black: party(Seat::Black),
        white: party(Seat::White),
        rematch_of: bytes(new.rematch_of.as_ref().map(MatchId::as_bytes)),
        origin: new.origin.as_ref().map(write),
    })
}

/// Reads what [`encode_new_match`] wrote.
///
/// # Errors
/// The bytes are no such match, or of a newer format.
pub fn decode_new_match(bytes: &[u8]) -> Result<NewMatch, CodecError> {
    let new = super::read(bytes, |new: &record::NewMatch| new.format)?;
    Ok(NewMatch {
        id: MatchId::from_bytes(fixed(&new.match_id, "NewMatch.match_id")?),
        settings: settings::read(&required(new.settings, "NewMatch.settings")?)?,
        parties: PerSeat {
            black: settings::read_party(required(new.black, "NewMatch.black")?)?,
            white: settings::read_party(required(new.white, "NewMatch.white")?)?,
        },
        rematch_of: optional(&new.rematch_of, "NewMatch.rematch_of", MatchId::from_bytes)?,
        origin: new.origin.map(read).transpose()?,
    })
}
