//! Boards and outcomes as rows write them.

use std::fmt;

use rules::{Cell, NotationError, Outcome, Position, Seat, Setup, SetupError};
use serde_json::{Value, json};

/// Why a value is no board.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BoardError {
    /// It has no list of strings under this name.
    Shape(&'static str),
    /// A list holds something else than a cell.
    Cell(NotationError),
    /// The pieces cannot stand like this.
    Setup(SetupError),
}

impl fmt::Display for BoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(list) => write!(f, "no board: {list} is not a list of strings"),
            Self::Cell(error) => write!(f, "no board: {error}"),
            Self::Setup(error) => write!(f, "no board: {error}"),
        }
    }
}

/// The position that a row describes.
pub(crate) fn parse(board: &Value) -> Result<Position, BoardError> {
    let setup =
        Setup { black: cells(board, "black")?, white: cells(board, "white")?, eggs: cells(board, "eggs")? };
    Position::from_setup(&setup).map_err(BoardError::Setup)
}

fn cells(board: &Value, list: &'static str) -> Result<Vec<Cell>, BoardError> {
    let names = board.get(list).and_then(Value::as_array).ok_or(BoardError::Shape(list))?;
    names
        .iter()
        .map(|name| name.as_str().ok_or(BoardError::Shape(list))?.parse().map_err(BoardError::Cell))
        .collect()
}

/// A board as rows write it: turtles sorted by name, eggs oldest first.
pub(crate) fn describe(position: &Position) -> Value {
    let turtles = |seat| {
        let mut names: Vec<String> = position.turtles(seat).map(|cell| cell.to_string()).collect();
        names.sort_unstable();
        names
    };
    let eggs: Vec<String> = position.eggs().iter().map(Cell::to_string).collect();
    json!({"black": turtles(Seat::Black), "white": turtles(Seat::White), "eggs": eggs})
}

/// An outcome as rows write it.
pub(crate) fn describe_outcome(outcome: Outcome) -> Value {
    json!({
        "status": outcome.status.as_str(),
        "black_count": outcome.winning_turtles.black,
        "white_count": outcome.winning_turtles.white,
    })
}
