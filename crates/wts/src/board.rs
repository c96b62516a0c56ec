//! A board as text: what stands in a cell, and the marks between cells.

use rules::{Cell, Piece, Position, Seat};

/// The columns of a cell in a text.
const CELL_WIDTH: usize = 3;

/// A cell with the marks that enclose it.
pub(crate) type Marked = (Cell, char, char);

/// A board with row 9 on top: `B` and `W` turtles, `e1` the egg that hatches next, `.` empty. The cells of
/// the last turn stand in round brackets.
pub(crate) fn draw(position: &Position, last: &[Cell]) -> String {
    let last: Vec<Marked> = last.iter().map(|cell| (*cell, '(', ')')).collect();
    let letters = letters(CELL_WIDTH);
    let mut lines = vec![letters.clone()];
    for row in (0..9).rev() {
        let marks = marks(row, &last);
        let mut line = format!("{} {}", row + 1, marks[0]);
        for (cell, mark) in Cell::all().filter(|cell| cell.row() == row).zip(&marks[1..]) {
            line.push_str(&format!("{:^CELL_WIDTH$}{mark}", symbol(position, cell)));
        }
        lines.push(format!("{line} {}", row + 1));
    }
    lines.push(letters);
    let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n") + "\n"
}

/// The letters over and under a board.
pub(crate) fn letters(cell_width: usize) -> String {
    let letters = ('A'..='I').map(|column| format!("{column:^cell_width$} "));
    format!("   {}", letters.collect::<String>())
}

/// A letter, and for an egg its place in the order of hatching, 1 the next.
pub(crate) fn symbol(position: &Position, cell: Cell) -> String {
    match position.piece(cell) {
        None => ".".to_owned(),
        Some(Piece::Turtle(Seat::Black)) => "B".to_owned(),
        Some(Piece::Turtle(Seat::White)) => "W".to_owned(),
        Some(Piece::Egg) => {
            let age = position.eggs().iter().position(|egg| *egg == cell).unwrap_or_default();
            format!("e{}", age + 1)
        }
    }
}

/// What stands before, between and after the cells of a row; later marks cover earlier ones.
pub(crate) fn marks(row: u8, marked: &[Marked]) -> [char; 10] {
    let mut marks = [' '; 10];
    for (cell, open, close) in marked.iter().filter(|(cell, ..)| cell.row() == row) {
        marks[usize::from(cell.column())] = *open;
        marks[usize::from(cell.column()) + 1] = *close;
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_shows_its_pieces_and_the_last_turn() {
        let cell = |name: &str| name.parse::<Cell>().unwrap();
        let position = Position::initial().play(cell("A1"), cell("I9")).unwrap();
        let position = position.play(cell("E5"), cell("E5")).unwrap();
        let text = draw(&position, &[cell("E5")]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "    A   B   C   D   E   F   G   H   I");
        assert_eq!(lines[1], "9   .   .   .   .   .   .   .   .   W   9");
        assert_eq!(lines[5], "5   .   .   .   . (e1 ) .   .   .   .   5");
        assert_eq!(lines[9], "1   B   .   .   .   .   .   .   .   .   1");
    }
}
