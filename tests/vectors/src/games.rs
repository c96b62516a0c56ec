//! Rows that hold whole games.

use std::fmt::Write as _;

use rules::{Cell, PerSeat, Position};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::row::Row;
use crate::{Mismatch, board};

/// The choices of a game, turn by turn, for those who need moves to play.
///
/// # Errors
///
/// The row holds no game, or a choice that is no cell.
pub fn game_turns(line: &str) -> Result<Vec<PerSeat<Cell>>, Mismatch> {
    turns(&Row::parse(line)?)
}

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let turns = turns(row)?;
    row.expect("turns", &json!(turns.len()))?;

    let mut position = Position::initial();
    let mut lines = Sha256::new();
    for (number, choices) in (1..).zip(turns) {
        position = position
            .play(choices.black, choices.white)
            .map_err(|error| Mismatch::differs(&format!("turn {number}"), &"a legal turn", &error))?;
        lines.update(position.canonical_line());
    }
    row.expect("final", &board::describe(&position))?;
    row.expect("outcome", &board::describe_outcome(position.outcome()))?;
    row.expect("sha256", &Value::String(hex(&lines.finalize())))
}

fn turns(row: &Row) -> Result<Vec<PerSeat<Cell>>, Mismatch> {
    let moves = row.get("moves")?;
    let moves =
        moves.as_array().ok_or_else(|| Mismatch::unreadable(format_args!("moves is not a list: {moves}")))?;
    let parse = |(number, choices): (u64, &Value)| {
        cells(choices)
            .ok_or_else(|| Mismatch::unreadable(format_args!("turn {number} is not two cells: {choices}")))
    };
    (1..).zip(moves).map(parse).collect()
}

fn cells(choices: &Value) -> Option<PerSeat<Cell>> {
    let [black, white] = choices.as_array()?.as_slice() else { return None };
    Some(PerSeat { black: black.as_str()?.parse().ok()?, white: white.as_str()?.parse().ok()? })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
