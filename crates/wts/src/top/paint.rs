//! The screen of `wts top`.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table};

use super::state::{NODE_COLUMNS, POOL_COLUMNS, State};
use crate::screen::Palette;

/// What the keys do.
const KEYS: &str = "q leaves";

/// Columns between two of a table.
const GAP: u16 = 2;

/// Draws all that there is room for: what is wrong first, then nodes, then pools.
pub(super) fn paint(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let troubles = state.troubles();
    let (nodes, pools) = (state.nodes(), state.pools());
    let rows = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let layout = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(rows(troubles.len())),
        Constraint::Length(rows(nodes.len() + 2)),
        Constraint::Min(0),
        Constraint::Length(1),
    ]);
    let [title, summary, wrong, of_nodes, of_pools, keys] = layout.areas(frame.area());
    frame.render_widget(Paragraph::new("What the Shell").style(palette.title()), title);
    frame.render_widget(Paragraph::new(state.summary()).style(palette.accent()), summary);
    let troubles: Vec<_> = troubles.into_iter().map(|line| Line::styled(line, palette.warning())).collect();
    frame.render_widget(Paragraph::new(troubles), wrong);
    table(frame, of_nodes, NODE_COLUMNS, nodes, palette);
    table(frame, of_pools, POOL_COLUMNS, pools, palette);
    frame.render_widget(Paragraph::new(KEYS), keys);
}

/// A table with an empty line above, each column as wide as its widest entry.
fn table<const COLUMNS: usize>(
    frame: &mut Frame<'_>,
    area: Rect,
    head: [&'static str; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
    palette: Palette,
) {
    let width = |column: usize| {
        let widest = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        Constraint::Length(u16::try_from(widest.max(head[column].len())).unwrap_or(u16::MAX))
    };
    let widths: [Constraint; COLUMNS] = std::array::from_fn(width);
    let head = Row::new(head).style(palette.accent()).top_margin(1);
    frame.render_widget(
        Table::new(rows.into_iter().map(Row::new), widths).header(head).column_spacing(GAP),
        area,
    );
}
