//! The canonical text of a position: what hashes and vectors are made of.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use crate::{Cell, Position, Seat, Setup};

/// Bytes that canonical text can have at most: 81 cells, 81 eggs of two letters with commas
/// between, the longest status, two counts of two digits, and the blanks and colon between them.
const TEXT_BYTES_MAX: usize = 81 + 1 + (81 * 3 - 1) + 1 + "sudden_death".len() + 1 + "81:81".len();

/// Why a text is not the canonical text of a position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CanonicalError {
    /// Not four fields with one blank between, or longer than any canonical text.
    Fields,
    /// The board is not 81 of `.`, `b`, `w` and `e`.
    Board,
    /// The eggs are not the board's, each once, by name, joined by commas, or `-` for none.
    Eggs,
    /// The status or the counts are not those that follow from the board.
    Outcome,
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fields => "canonical text has four fields: board, eggs, status, counts",
            Self::Board => "the board is not 81 characters of .bwe",
            Self::Eggs => "the list of eggs does not fit the board",
            Self::Outcome => "status or counts do not fit the board",
        })
    }
}

impl core::error::Error for CanonicalError {}

/// The canonical text, without the line feed that ends its line.
///
/// ```
/// use rules::Position;
/// let text = Position::initial().to_string();
/// assert_eq!(text, format!("{} - ongoing 0:0", ".".repeat(81)));
/// assert_eq!(text.parse(), Ok(Position::initial()));
/// ```
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// As canonical text, which says more than three numbers.
impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({self})")
    }
}

impl Position {
    /// The canonical text as a line, its line feed included: what transcript hashes cover.
    #[must_use]
    pub fn canonical_line(&self) -> String {
        let mut line = self.text();
        line.push('\n');
        line
    }

    /// The canonical text, put together by hand since every turn's hash covers it.
    fn text(&self) -> String {
        let mut text = String::with_capacity(TEXT_BYTES_MAX + 1);
        text.push_str(str::from_utf8(&self.board_text()).unwrap_or_default());
        text.push(' ');
        for (at, egg) in self.eggs().iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.extend(egg.name());
        }
        if self.eggs().is_empty() {
            text.push('-');
        }
        let outcome = self.outcome();
        text.push(' ');
        text.push_str(outcome.status.as_str());
        text.push(' ');
        push_count(&mut text, outcome.winning_turtles.black);
        text.push(':');
        push_count(&mut text, outcome.winning_turtles.white);
        text
    }

    /// The first field: all cells in order.
    fn board_text(&self) -> [u8; Cell::COUNT] {
        let mut text = [b'.'; Cell::COUNT];
        let turtles = |seat, letter| self.turtles(seat).map(move |cell| (cell, letter));
        let eggs = self.eggs().iter().map(|egg| (*egg, b'e'));
        for (cell, letter) in turtles(Seat::Black, b'b').chain(turtles(Seat::White, b'w')).chain(eggs) {
            text[usize::from(cell.index())] = letter;
        }
        text
    }
}

/// Appends a count of turtles: up to 81, so two digits at most.
fn push_count(text: &mut String, count: u8) {
    if count >= 10 {
        text.push(char::from(b'0' + count / 10));
    }
    text.push(char::from(b'0' + count % 10));
}

/// Reads canonical text (without the line feed), strictly: what is accepted is exactly what
/// [`Display`](fmt::Display) writes.
impl FromStr for Position {
    type Err = CanonicalError;

    fn from_str(text: &str) -> Result<Self, CanonicalError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(CanonicalError::Fields);
        }
        let mut fields = text.split(' ');
        let (Some(board), Some(eggs), Some(_status), Some(_counts), None) =
            (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(CanonicalError::Fields);
        };
        let (mut setup, eggs_on_board) = parse_board(board)?;
        if eggs != "-" {
            for egg in eggs.split(',') {
                setup.eggs.push(egg.parse().map_err(|_| CanonicalError::Eggs)?);
            }
        }
        // The turtles come from one board, so that only an egg can be in the way of another piece.
        let position = Self::from_setup(&setup).map_err(|_| CanonicalError::Eggs)?;
        if position.egg_bits() != eggs_on_board {
            return Err(CanonicalError::Eggs);
        }
        if position.to_string() != text {
            return Err(CanonicalError::Outcome);
        }
        Ok(position)
    }
}

/// The turtles of the board field, and its eggs as bits: their ages stand in the next field.
fn parse_board(board: &str) -> Result<(Setup, u128), CanonicalError> {
    if board.len() != Cell::COUNT {
        return Err(CanonicalError::Board);
    }
    let mut setup = Setup::default();
    let mut eggs = 0;
    for (cell, piece) in Cell::all().zip(board.bytes()) {
        match piece {
            b'.' => {}
            b'b' => setup.black.push(cell),
            b'w' => setup.white.push(cell),
            b'e' => eggs |= cell.bit(),
            _ => return Err(CanonicalError::Board),
        }
    }
    Ok((setup, eggs))
}
