//! Rows that hold one digest each, and rows that say whether an opening opens a commitment.

use rules::Position;
use sealing::{Opening, Receipt, Salt, SealContext};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::Mismatch;
use crate::row::Row;
use crate::sealed::{
    Bytes, CellNumber, EndingForm, Hex, SeatName, SettingsForm, TurnForm, commitment, digest, match_id,
    parties, read,
};

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let made = match row.text("kind")? {
        "opening" => return check_opening(row),
        "commitment" => seal(row, |context, opening| context.commit(&opening).to_string())?,
        "match" => match_hash(row)?,
        "turn" => turn_hash(row)?,
        "end" => end_hash(row)?,
        "receipt" => receipt_digest(row)?,
        "transcript" => sealing::transcript_digest(&digest(row, "end")?, row.text("key_id")?).to_string(),
        "player" => sealing::player_digest(&commitment(row)?).to_string(),
        kind => return Err(Mismatch::unreadable(format_args!("no row is of kind {kind}"))),
    };
    row.expect("digest", &json!(made))?;
    // The digest of what the row calls its preimage; with the digest right, so are its bytes.
    let Bytes(preimage) = read(row, "preimage")?;
    let hashed = sealing::Digest::from_bytes(Sha256::digest(preimage).into());
    row.expect("digest", &json!(hashed.to_string()))
}

fn check_opening(row: &Row) -> Result<(), Mismatch> {
    let commitment = commitment(row)?;
    let opens = seal(row, |context, opening| context.opens(&commitment, &opening))?;
    row.expect("opens", &json!(opens))
}

/// Hands the seal that the row describes to `with`.
fn seal<T>(row: &Row, with: impl FnOnce(SealContext<'_>, Opening) -> T) -> Result<T, Mismatch> {
    let context = SealContext {
        match_id: match_id(row)?,
        turn: read(row, "turn")?,
        seat: read::<SeatName>(row, "seat")?.into(),
        player: row.text("player")?,
        previous: &digest(row, "previous")?,
    };
    let CellNumber(cell) = read(row, "cell")?;
    let Hex(salt) = read(row, "salt")?;
    Ok(with(context, Opening { cell, salt: Salt::from_bytes(salt) }))
}

fn match_hash(row: &Row) -> Result<String, Mismatch> {
    let settings = read::<SettingsForm>(row, "settings")?.into();
    Ok(sealing::match_hash(match_id(row)?, &settings, parties(row)?.as_ref()).to_string())
}

fn turn_hash(row: &Row) -> Result<String, Mismatch> {
    let form = TurnForm {
        opened_ms: read(row, "opened_ms")?,
        resolved_ms: read(row, "resolved_ms")?,
        black: read(row, "black")?,
        white: read(row, "white")?,
    };
    let line = row.text("position")?;
    let position: Position = line
        .strip_suffix('\n')
        .ok_or_else(|| Mismatch::unreadable("position does not end with LF"))?
        .parse()
        .map_err(|error| Mismatch::unreadable(format_args!("position: {error}")))?;
    Ok(sealing::turn_hash(&digest(row, "previous")?, &form.into(), &position).to_string())
}

fn end_hash(row: &Row) -> Result<String, Mismatch> {
    let form = EndingForm {
        result: read(row, "result")?,
        reason: read(row, "reason")?,
        time_ms: read(row, "time_ms")?,
        unresolved: read(row, "unresolved")?,
    };
    Ok(sealing::end_hash(&digest(row, "last")?, &form.into()).to_string())
}

fn receipt_digest(row: &Row) -> Result<String, Mismatch> {
    Ok(receipt(row)?.digest().to_string())
}

/// The receipt that a row describes.
pub(crate) fn receipt(row: &Row) -> Result<Receipt, Mismatch> {
    Ok(Receipt {
        match_id: match_id(row)?,
        turn: read(row, "turn")?,
        seat: read::<SeatName>(row, "seat")?.into(),
        commitment: commitment(row)?,
        sealed_ms: read(row, "sealed_ms")?,
        key_id: row.text("key_id")?.into(),
    })
}
