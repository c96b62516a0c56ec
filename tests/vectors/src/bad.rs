//! Rows of illegal input.

use rules::{Cell, IllegalTurn, NotationError, PerSeat, Seat};
use serde_json::{Value, json};

use crate::row::Row;
use crate::{Mismatch, board};

/// Why the input of a row is refused.
struct Refusal {
    kind: &'static str,
    /// Whose move is at fault, where one is.
    seat: Option<Seat>,
}

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let error = row.get("error")?;
    let Some(refusal) = refusal(row)? else {
        return Err(Mismatch::differs("error", error, &"a legal turn"));
    };
    // Where the input has no type that a move could have, the refusal may come from any layer.
    if row.has("category") && row.text("category")? == "malformed_type" {
        return Ok(());
    }
    row.expect("error", &json!({"kind": refusal.kind, "player": refusal.seat.map(|seat| seat.to_string())}))
}

/// The first refusal by precedence, or none for a legal turn.
fn refusal(row: &Row) -> Result<Option<Refusal>, Mismatch> {
    let Ok(position) = board::parse(row.get("before")?) else {
        return Ok(Some(Refusal { kind: "bad_state", seat: None }));
    };
    if position.outcome().status.is_over() {
        return Ok(Some(Refusal { kind: "game_over", seat: None }));
    }
    let moves = PerSeat { black: row.get("black_move")?, white: row.get("white_move")? };
    let cells = moves.map(cell);
    for (seat, cell) in cells.iter() {
        if let Err(error) = cell {
            return Ok(Some(Refusal { kind: notation_kind(*error), seat: Some(seat) }));
        }
    }
    let PerSeat { black: Ok(black), white: Ok(white) } = cells else { return Ok(None) };
    Ok(match position.play(black, white) {
        Ok(_) => None,
        Err(IllegalTurn::GameOver) => Some(Refusal { kind: "game_over", seat: None }),
        Err(IllegalTurn::Occupied(seat)) => Some(Refusal { kind: "occupied", seat: Some(seat) }),
    })
}

fn cell(name: &Value) -> Result<Cell, NotationError> {
    name.as_str().ok_or(NotationError::Malformed)?.parse()
}

const fn notation_kind(error: NotationError) -> &'static str {
    match error {
        NotationError::Malformed => "malformed",
        NotationError::OffBoard => "off_board",
    }
}
