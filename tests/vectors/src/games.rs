//! Rows that hold whole games.

use std::fmt::Write as _;

use rules::{Cell, Position};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::row::Row;
use crate::{Mismatch, board};

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let moves = row.get("moves")?;
    let moves =
        moves.as_array().ok_or_else(|| Mismatch::unreadable(format_args!("moves is not a list: {moves}")))?;
    row.expect("turns", &json!(moves.len()))?;

    let mut position = Position::initial();
    let mut lines = Sha256::new();
    for (turn, choices) in (1..).zip(moves) {
        let [black, white] = cells(choices)
            .ok_or_else(|| Mismatch::unreadable(format_args!("turn {turn} is not two cells: {choices}")))?;
        position = position
            .play(black, white)
            .map_err(|error| Mismatch::differs(&format!("turn {turn}"), &"a legal turn", &error))?;
        lines.update(position.canonical_line());
    }
    row.expect("final", &board::describe(&position))?;
    row.expect("outcome", &board::describe_outcome(position.outcome()))?;
    row.expect("sha256", &Value::String(hex(&lines.finalize())))
}

fn cells(choices: &Value) -> Option<[Cell; 2]> {
    let [black, white] = choices.as_array()?.as_slice() else { return None };
    Some([black.as_str()?.parse().ok()?, white.as_str()?.parse().ok()?])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
