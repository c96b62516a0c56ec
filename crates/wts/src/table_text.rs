//! Tables of plain text, each column as wide as its widest entry.

use std::fmt;

/// What stands between two columns.
const GAP: &str = "  ";

/// A table of so many columns.
pub(crate) struct TableText<const COLUMNS: usize> {
    /// The head first.
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> TableText<COLUMNS> {
    pub(crate) fn new(head: [&str; COLUMNS]) -> Self {
        Self { rows: vec![head.map(str::to_owned)] }
    }

    pub(crate) fn row(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row);
    }

    /// The rows alone.
    pub(crate) fn without_head(mut self) -> String {
        self.rows.remove(0);
        self.to_string()
    }
}

impl<const COLUMNS: usize> fmt::Display for TableText<COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or_default());
        for row in &self.rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join(GAP).trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_and_no_line_ends_in_blanks() {
        let mut table = TableText::new(["NODE", "STATE"]);
        table.row(["nodes/eu-1".to_owned(), "serving".to_owned()]);
        table.row(["n".to_owned(), String::new()]);
        assert_eq!(table.to_string(), "NODE        STATE\nnodes/eu-1  serving\nn\n");
        assert_eq!(table.without_head(), "nodes/eu-1  serving\nn\n");
    }
}
