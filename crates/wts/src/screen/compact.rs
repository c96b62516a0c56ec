//! The layout for small terminals: the board, and a line for each thing that cannot be done without.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize as _;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use rules::{Seat, Status};
use whattheshell::v1;

use super::grid::Scale;
use super::paint::{NOTE_LINES_MAX, letter, shorten, sides, wrap};
use super::{Popup, Screen, Viewer};
use crate::words;

/// The smallest terminal that a match can be played on, columns and rows.
pub(super) const SIZE_MIN: (u16, u16) = (44, 16);

pub(super) const PLAYER_HELP: &[&str] = &[
    "E5 Enter  seal a move, for good",
    "arrows    choose it with a cursor",
    "Esc       forget what was typed",
    "d Enter   offer a draw",
    "a Enter   accept one; n declines it",
    "r         resign, after a question",
    "PgUp PgDn earlier boards; End: now",
    "q         leave; m a rematch, at the end",
    "B black, W white, e1 hatches next",
    "( ) the last turn's cells",
    "[ ] the cell that Enter would seal",
];

impl Screen {
    /// Says that the terminal is too small for anything, and which keys are left.
    pub(super) fn draw_too_small(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let (width, height) = SIZE_MIN;
        let text = match self.popup {
            Some(Popup::Leave) => {
                "Your sealed move is not revealed yet: come back by --match in time, or you lose. q again \
                 leaves."
                    .to_owned()
            }
            _ => format!(
                "Too small: {width} columns and {height} rows are needed. Only q and Ctrl-C work here: \
                 leave. --plain does without a screen."
            ),
        };
        frame.render_widget(Paragraph::new(wrap(&text, area.width.into()).join("\n")), area);
    }

    /// Draws the match into a small terminal.
    pub(super) fn draw_compact(&self, frame: &mut Frame<'_>, now_ms: u64) {
        let area = frame.area();
        let said = self.note_lines(area.width);
        let rows = area.height.saturating_sub(SIZE_MIN.1) + 1;
        // What is said is worth more than the keys, which help names too.
        let keys_height = u16::from(said.len() <= usize::from(rows));
        let [title, board, seats, story, prompt, keys] = area.layout(&Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(Scale::SMALL.height()),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
            Constraint::Length(keys_height),
        ]));
        self.draw_compact_title(frame, title);
        frame.render_widget(Paragraph::new(self.grid(Scale::SMALL)), board);
        frame.render_widget(Paragraph::new(self.seats_line(seats.width, now_ms)), seats);
        self.draw_compact_story(frame, story, said);
        frame.render_widget(Paragraph::new(self.prompt(true)), prompt);
        frame.render_widget(Paragraph::new(self.compact_keys_line()), keys);
    }

    fn draw_compact_title(&self, frame: &mut Frame<'_>, area: Rect) {
        let seat = self.seat().filter(|_| !self.looks_back());
        let you = seat.map(|seat| format!(", you play {seat}")).unwrap_or_default();
        let left = format!("{}{you}", self.board_title().trim_end());
        frame.render_widget(Paragraph::new(sides(&left, &format!("{} ", self.state()), area.width)), area);
        frame.buffer_mut().set_style(area, self.palette.title());
    }

    /// Both seats, their clocks and what they do.
    fn seats_line(&self, width: u16, now_ms: u64) -> Line<'static> {
        let seat = |seat: Seat| {
            let clock = self.clock(seat, now_ms).unwrap_or_default();
            let words = match self.viewer {
                Viewer::Reader => self.seat_words(seat),
                Viewer::Player(_) | Viewer::Spectator => self.short_seat_words(seat),
            };
            [letter(seat).to_string(), clock, words].into_iter().filter(|part| !part.is_empty())
        };
        let join = |of| seat(of).collect::<Vec<_>>().join(" ");
        sides(&format!(" {}", join(Seat::Black)), &format!("{} ", join(Seat::White)), width)
            .style(self.palette.accent())
    }

    fn short_seat_words(&self, seat: Seat) -> String {
        if self.finish.is_some() {
            return self.seat_words(seat);
        }
        let Some(status) = self.seat_status(seat) else { return String::new() };
        let is_own = self.seat() == Some(seat);
        match (self.status.state(), self.sealed) {
            (v1::MatchState::Open, Some((_, cell))) if is_own => format!("sealed {cell}"),
            (v1::MatchState::Open, _) if self.has_sealed(seat) => "has sealed".to_owned(),
            (v1::MatchState::Open, _) if is_own => "to choose".to_owned(),
            (v1::MatchState::Open, _) if status.sealed.is_none() => "hidden".to_owned(),
            (v1::MatchState::Open, _) => "chooses".to_owned(),
            (v1::MatchState::Revealing, _) if status.revealed == Some(true) => "revealed".to_owned(),
            (v1::MatchState::Revealing, _) => "reveals".to_owned(),
            (v1::MatchState::Waiting, _) if status.joined => "is here".to_owned(),
            (v1::MatchState::Waiting, _) => "not here yet".to_owned(),
            _ => String::new(),
        }
    }

    /// What was said last; else what happened last.
    fn draw_compact_story(&self, frame: &mut Frame<'_>, area: Rect, said: Vec<Line<'static>>) {
        let height = usize::from(area.height);
        let mut lines = said;
        let room = height.saturating_sub(lines.len());
        if let Some(turn) = self.shown().filter(|_| room > 0) {
            let outcome = self.position().outcome();
            let (black, white) = (outcome.winning_turtles.black, outcome.winning_turtles.white);
            let mut words: Vec<String> = match outcome.status {
                Status::SuddenDeath => {
                    vec![format!("SUDDEN DEATH {black}:{white}; {}", words::history(turn).trim())]
                }
                _ => vec![words::history(turn)],
            };
            if room > 1 {
                let told = words::turn(turn);
                words.extend(told.iter().flat_map(|line| wrap(line, usize::from(area.width) - 2)));
            }
            let words = shorten(words, room);
            lines.extend(words.into_iter().map(|line| Line::from(format!(" {line}"))));
        }
        lines.truncate(height.max(NOTE_LINES_MAX));
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn compact_keys_line(&self) -> Line<'static> {
        let text = match self.viewer {
            Viewer::Player(_) if self.finish.is_none() => " E5 Enter  d draw  r resign  ? help  q leave",
            Viewer::Reader => " right, left: turns   ? help   q leave",
            Viewer::Player(_) if self.is_against_bot => " ? help   q leave",
            Viewer::Player(_) => " m rematch   ? help   q leave",
            Viewer::Spectator => " ? help   q leave",
        };
        Line::from(text).dim()
    }
}
