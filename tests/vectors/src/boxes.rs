//! Rows that hold a box, and whether it opens.

use sealing::{BoxContext, BoxKey, Opening, Salt, SealBox, open_box, seal_box};
use serde_json::json;

use crate::Mismatch;
use crate::row::Row;
use crate::sealed::{CellNumber, Hex, SeatName, commitment, match_id, read};

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let key = read(row, "key").map(|Hex(key)| BoxKey::from_bytes(&key))?;
    let context = BoxContext {
        match_id: match_id(row)?,
        turn: read(row, "turn")?,
        seat: read::<SeatName>(row, "seat")?.into(),
        commitment: commitment(row)?,
    };
    let sealed = read(row, "box").map(|Hex(sealed)| SealBox::from_bytes(sealed))?;
    let opened = open_box(&key, &context, &sealed);
    row.expect("opens", &json!(opened.is_ok()))?;
    let Ok(opened) = opened else { return Ok(()) };
    let CellNumber(cell) = read(row, "cell")?;
    let Hex(salt) = read(row, "salt")?;
    let opening = Opening { cell, salt: Salt::from_bytes(salt) };
    if opened != opening {
        return Err(Mismatch::differs("box", &"cell and salt of the row", &"others"));
    }
    let Hex(nonce) = read(row, "nonce")?;
    let made = seal_box(&key, &context, &opening, nonce).map_err(Mismatch::unreadable)?;
    let made: String = made.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    row.expect("box", &json!(made))
}
