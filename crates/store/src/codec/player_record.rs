//! What players have achieved.

use referee::{Mode, Stamp};
use sealing::MatchId;

use super::field::{damaged, fixed};
use super::origin::{read_rating, write_rating};
use super::ticket::{read_met, write_met};
use super::{CodecError, FORMAT, record};
use crate::{PlayerRecord, Speed, Standing};

/// Writes a player's record.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_player_record(player: &PlayerRecord) -> Result<Vec<u8>, CodecError> {
    super::write(&record::PlayerRecord {
        format: FORMAT,
        standings: player.standings.iter().map(write_standing).collect(),
        counted: player.counted.iter().map(|id| id.as_bytes().to_vec()).collect(),
        recent: player.recent.iter().map(write_met).collect(),
    })
}

/// Reads what [`encode_player_record`] wrote.
///
/// # Errors
/// The bytes are no such record, or of a newer format.
pub fn decode_player_record(bytes: &[u8]) -> Result<PlayerRecord, CodecError> {
    let player = super::read(bytes, |player: &record::PlayerRecord| player.format)?;
    let counted = player.counted.iter().map(|id| fixed(id, "PlayerRecord.counted").map(MatchId::from_bytes));
    Ok(PlayerRecord {
        standings: player.standings.iter().map(read_standing).collect::<Result<_, _>>()?,
        counted: counted.collect::<Result<_, _>>()?,
        recent: player.recent.into_iter().map(read_met).collect::<Result<_, _>>()?,
    })
}

fn write_standing(standing: &Standing) -> record::Standing {
    let mode = match standing.mode {
        Mode::Casual => record::Mode::Casual,
        Mode::Ranked => record::Mode::Ranked,
    };
    record::Standing {
        mode: mode.into(),
        speed: standing.speed.0.into(),
        rating: standing.rating.as_ref().map(write_rating),
        wins: standing.wins,
        losses: standing.losses,
        draws: standing.draws,
        updated_ms: standing.updated.as_ms(),
    }
}

fn read_standing(standing: &record::Standing) -> Result<Standing, CodecError> {
    Ok(Standing {
        mode: match record::Mode::try_from(standing.mode) {
            Ok(record::Mode::Casual) => Mode::Casual,
            Ok(record::Mode::Ranked) => Mode::Ranked,
            Ok(record::Mode::Unspecified) | Err(_) => return Err(damaged("Standing.mode")),
        },
        speed: Speed(u8::try_from(standing.speed).map_err(|_| damaged("Standing.speed"))?),
        rating: standing.rating.as_ref().map(read_rating),
        wins: standing.wins,
        losses: standing.losses,
        draws: standing.draws,
        updated: Stamp::from_ms(standing.updated_ms),
    })
}
