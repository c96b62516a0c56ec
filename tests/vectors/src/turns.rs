//! Rows that say what a turn does.

use rules::{Cell, Event};
use serde_json::{Value, json};

use crate::row::Row;
use crate::{Mismatch, board};

pub(crate) fn check(row: &Row) -> Result<(), Mismatch> {
    let before = board::parse(row.get("before")?)
        .map_err(|error| Mismatch::unreadable(format_args!("before: {error}")))?;
    let turn = before
        .resolve(cell(row, "black_move")?, cell(row, "white_move")?)
        .map_err(|error| Mismatch::differs("after", &"a legal turn", &error))?;
    row.expect("captures", &Value::from_iter(turn.events.iter().filter_map(describe_capture)))?;
    row.expect("hatched", &Value::from_iter(turn.events.iter().filter_map(describe_hatch)))?;
    row.expect("after", &board::describe(&turn.position))?;
    row.expect("outcome", &board::describe_outcome(turn.position.outcome()))
}

fn cell(row: &Row, field: &str) -> Result<Cell, Mismatch> {
    let name = row.text(field)?;
    name.parse().map_err(|error| Mismatch::unreadable(format_args!("{field} {name:?}: {error}")))
}

fn describe_capture(event: &Event) -> Option<Value> {
    let Event::Captured(capture) = event else { return None };
    Some(json!({
        "by": capture.by.to_string(),
        "from": capture.from.to_string(),
        "removed": capture.removed.map(|cell| cell.to_string()),
        "anchor": capture.anchor.to_string(),
    }))
}

fn describe_hatch(event: &Event) -> Option<Value> {
    match event {
        Event::Hatched { seat, cell } => Some(json!({"cell": cell.to_string(), "color": seat.to_string()})),
        Event::Vanished { cell } => Some(json!({"cell": cell.to_string(), "vanished": true})),
        Event::Placed { .. } | Event::Collided { .. } | Event::Captured(_) => None,
    }
}
