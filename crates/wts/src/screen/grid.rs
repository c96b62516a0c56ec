//! The board, a cell between two marks.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use rules::Cell;

use super::Screen;
use crate::board;

/// How large the board is drawn, in characters.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    cell_width: usize,
    row_height: usize,
}

impl Scale {
    /// Fits into 80 by 24.
    pub(super) const SMALL: Self = Self { cell_width: 3, row_height: 1 };
    /// For terminals with room.
    pub(super) const LARGE: Self = Self { cell_width: 5, row_height: 2 };

    /// Nine cells with a mark before, between and after them, and the rows' numbers.
    pub(super) const fn width(self) -> u16 {
        (9 * (self.cell_width + 1) + 5) as u16
    }

    /// Nine rows and the columns' letters over and under them.
    pub(super) const fn height(self) -> u16 {
        (9 * self.row_height + 2) as u16
    }
}

impl Screen {
    /// The board with row 9 on top. The cells of the last turn stand in round brackets, the chosen one in
    /// square ones.
    pub(super) fn grid(&self, scale: Scale) -> Vec<Line<'static>> {
        let letters = board::letters(scale.cell_width);
        let mut lines = vec![Line::from(letters.clone())];
        for row in (0..9).rev() {
            lines.push(self.row(row, scale));
            lines.extend((1..scale.row_height).map(|_| Line::default()));
        }
        lines.push(Line::from(letters));
        lines
    }

    fn row(&self, row: u8, scale: Scale) -> Line<'static> {
        let position = self.position();
        let mut spans = vec![Span::raw(format!("{} ", row + 1))];
        let marks = self.marks(row);
        for (column, cell) in Cell::all().filter(|cell| cell.row() == row).enumerate() {
            spans.push(Span::styled(marks[column].to_string(), self.mark_style(marks[column])));
            let piece = position.piece(cell);
            let text = format!("{:^width$}", board::symbol(&position, cell), width = scale.cell_width);
            spans.push(Span::styled(text, self.palette.piece(piece)));
        }
        spans.push(Span::styled(marks[9].to_string(), self.mark_style(marks[9])));
        spans.push(Span::raw(format!(" {}", row + 1)));
        Line::from(spans)
    }

    /// What stands before, between and after the cells of a row.
    fn marks(&self, row: u8) -> [char; 10] {
        let selection = self.selection().filter(|_| !self.looks_back());
        let last = self.shown().map(|turn| [turn.cells.black, turn.cells.white]);
        let last = last.into_iter().flatten().map(|cell| (cell, '(', ')'));
        let marked: Vec<_> = last.chain(selection.map(|cell| (cell, '[', ']'))).collect();
        board::marks(row, &marked)
    }

    fn mark_style(&self, mark: char) -> Style {
        if matches!(mark, '[' | ']') { self.palette.warning() } else { Style::new() }
    }
}
