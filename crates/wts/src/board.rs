//! A board as text.

use std::fmt::Write as _;

use rules::{Cell, Piece, Position, Seat};

/// The letters over and under a board.
const COLUMNS: &str = "    A  B  C  D  E  F  G  H  I";

/// A board with row 9 on top, as tall as it is wide: `B` and `W` turtles, `e` eggs, `.` empty. The cells
/// of the last move stand in brackets.
pub(crate) fn draw(position: &Position, last: &[Cell]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for row in (0..9).rev() {
        // Writing to a text does not fail.
        let _ = write!(text, " {} ", row + 1);
        for cell in Cell::all().filter(|cell| cell.row() == row) {
            let piece = symbol(position.piece(cell));
            let (open, close) = if last.contains(&cell) { ('[', ']') } else { (' ', ' ') };
            let _ = write!(text, "{open}{piece}{close}");
        }
        let _ = writeln!(text, " {}", row + 1);
    }
    text.push_str(COLUMNS);
    text.push('\n');
    text
}

const fn symbol(piece: Option<Piece>) -> char {
    match piece {
        None => '.',
        Some(Piece::Turtle(Seat::Black)) => 'B',
        Some(Piece::Turtle(Seat::White)) => 'W',
        Some(Piece::Egg) => 'e',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_shows_its_pieces_and_the_last_move() {
        let cell = |name: &str| name.parse::<Cell>().unwrap();
        let position = Position::initial().play(cell("A1"), cell("I9")).unwrap();
        let position = position.play(cell("E5"), cell("E5")).unwrap();
        let text = draw(&position, &[cell("E5")]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "    A  B  C  D  E  F  G  H  I");
        assert_eq!(lines[1], " 9  .  .  .  .  .  .  .  .  W  9");
        assert_eq!(lines[5], " 5  .  .  .  . [e] .  .  .  .  5");
        assert_eq!(lines[9], " 1  B  .  .  .  .  .  .  .  .  1");
    }
}
