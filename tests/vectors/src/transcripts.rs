//! Rows that hold whole matches with their chain of hashes.

use rules::Position;
use sealing::{Digest, Transcript};
use serde_json::{Value, json};

use crate::Mismatch;
use crate::row::Row;
use crate::sealed::{EndingForm, Hex, SettingsForm, TurnForm, digest, match_id, parties, read};

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let transcript = transcript(row)?;
    match transcript.verify() {
        Ok(verified) => {
            row.expect("refused", &Value::Null)?;
            row.expect("positions", &json!(positions(&transcript)?))?;
            let last = transcript.end_hash.as_ref().or(transcript.turn_hashes.last());
            let last = last.unwrap_or(&transcript.first_hash);
            if verified.last == *last { Ok(()) } else { Err(Mismatch::differs("last", last, &verified.last)) }
        }
        Err(error) => {
            let claim = error.claim.name();
            let seat = error.seat.map(|seat| seat.to_string());
            row.expect("refused", &json!({"claim": claim, "turn": error.turn, "seat": seat}))
        }
    }
}

/// The match that a row holds, whether it verifies or not.
///
/// # Errors
///
/// The row is not JSON or holds no match.
pub fn transcript_of(line: &str) -> Result<Transcript, Mismatch> {
    transcript(&Row::parse(line)?)
}

fn transcript(row: &Row) -> Result<Transcript, Mismatch> {
    let hash = |Hex(bytes)| Digest::from_bytes(bytes);
    Ok(Transcript {
        match_id: match_id(row)?,
        settings: read::<SettingsForm>(row, "settings")?.into(),
        parties: parties(row)?,
        first_hash: digest(row, "first_hash")?,
        turns: read::<Vec<TurnForm>>(row, "turns")?.into_iter().map(Into::into).collect(),
        turn_hashes: read::<Vec<Hex<32>>>(row, "turn_hashes")?.into_iter().map(hash).collect(),
        ending: read::<Option<EndingForm>>(row, "ending")?.map(Into::into),
        end_hash: read::<Option<Hex<32>>>(row, "end_hash")?.map(hash),
    })
}

/// The canonical line of the position after each turn.
fn positions(transcript: &Transcript) -> Result<Vec<String>, Mismatch> {
    let mut position = Position::initial();
    let lines = transcript.turns.iter().map(|facts| {
        let cells = facts.openings.as_ref().map(|opening| opening.cell);
        position = position.play(cells.black, cells.white).map_err(Mismatch::unreadable)?;
        Ok(position.canonical_line())
    });
    lines.collect()
}
