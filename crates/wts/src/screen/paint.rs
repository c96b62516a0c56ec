//! The layout of the screen: title, board, players, what happened, history, and the lines to type at.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::Stylize as _;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use rules::Seat;
use whattheshell::VerifiedTurn;

use super::grid::Scale;
use super::{Fit, Note, Offer, Popup, Screen, Viewer, compact};
use crate::{ratings, view, words};

/// The smallest terminal that everything fits into, columns and rows.
const SIZE_WHOLE: (u16, u16) = (80, 24);

/// From this size on the board is drawn large.
const LARGE_FROM: (u16, u16) = (110, 36);

/// The columns that what happened takes: its usual sentences fit into one line.
const STORY_WIDTH: u16 = 46;

/// More lines would take the room of what happened.
pub(super) const NOTE_LINES_MAX: usize = 3;

const PLAYER_HELP: &[&str] = &[
    "E5 Enter       seal a move: a column, then a row; it is final",
    "arrows Enter   the same with a cursor",
    "Esc            forget what was typed",
    "d Enter        offer a draw; it is gone when the turn resolves",
    "a Enter        accept the other one's offer; n declines it",
    "PageUp, Down   an earlier board, a later one; End: the one that is played on",
    "r              give up, after a question",
    "q              leave; the match and its clock go on",
    "m              offer or accept a rematch, at the end",
    "",
    "B black, W white, e1 the egg that hatches next, e2 the one after.",
    "( ) the last turn's cells, [ ] the cell that Enter would seal.",
];

const WATCHER_HELP: &[&str] = &[
    "PageUp, PageDown   an earlier board, a later one",
    "Home, End          the empty board, the one that is played on",
    "q                  leave",
    "",
    "B black, W white, e1 the egg that hatches next, e2 the one after.",
    "( ) the last turn's cells.",
];

const READER_HELP: &[&str] = &[
    "right, left    one turn on, one turn back; Space, Enter and Backspace too",
    "PageDown, Up   ten turns",
    "Home, End      the empty board, the last turn",
    "q              leave",
    "",
    "B black, W white, e1 the egg that hatches next, e2 the one after.",
    "( ) the turn's cells.",
];

impl Screen {
    /// Draws everything, at the server's time `now_ms`, milliseconds since 1970.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, now_ms: u64) {
        let area = frame.area();
        let has_room = |(width, height)| area.width >= width && area.height >= height;
        self.fit = match (has_room(SIZE_WHOLE), has_room(compact::SIZE_MIN)) {
            (true, _) => Fit::Whole,
            (false, true) => Fit::Compact,
            (false, false) => Fit::Nothing,
        };
        match self.fit {
            Fit::Whole => self.draw_whole(frame, now_ms),
            Fit::Compact => self.draw_compact(frame, now_ms),
            Fit::Nothing => return self.draw_too_small(frame),
        }
        if let Some(popup) = self.popup {
            self.draw_popup(frame, popup);
        }
    }

    fn draw_whole(&self, frame: &mut Frame<'_>, now_ms: u64) {
        let area = frame.area();
        let is_large = area.width >= LARGE_FROM.0 && area.height >= LARGE_FROM.1;
        let scale = if is_large { Scale::LARGE } else { Scale::SMALL };
        let said = self.note_lines(area.width);
        let [title, top, bottom, note, prompt, keys] = area.layout(&Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(scale.height() + 2),
            Constraint::Min(3),
            Constraint::Length(u16::try_from(said.len().max(1)).unwrap_or(1)),
            Constraint::Length(1),
            Constraint::Length(1),
        ]));
        let [board, players] =
            top.layout(&Layout::horizontal([Constraint::Length(scale.width() + 2), Constraint::Min(0)]));
        let [story, history] =
            bottom.layout(&Layout::horizontal([Constraint::Length(STORY_WIDTH), Constraint::Min(0)]));
        self.draw_title(frame, title);
        panel(frame, board, self.board_title(), self.grid(scale));
        self.draw_players(frame, players, now_ms);
        self.draw_story(frame, story);
        self.draw_history(frame, history);
        frame.render_widget(Paragraph::new(said), note);
        frame.render_widget(Paragraph::new(self.prompt(false)), prompt);
        frame.render_widget(Paragraph::new(self.keys_line()), keys);
    }

    fn draw_title(&self, frame: &mut Frame<'_>, area: Rect) {
        let left = format!(" What the Shell  {}", self.name);
        frame.render_widget(Paragraph::new(sides(&left, &format!("{} ", self.state()), area.width)), area);
        frame.buffer_mut().set_style(area, self.palette.title());
    }

    pub(super) fn state(&self) -> &'static str {
        match (self.viewer, &self.finish) {
            (Viewer::Reader, _) => "replay, verified",
            (_, Some(_)) => "finished",
            (_, None) if self.is_connected => "connected",
            (_, None) if self.turns.is_empty() && self.terms.is_empty() => "connecting",
            (_, None) => "CONNECTION LOST, resuming",
        }
    }

    pub(super) fn board_title(&self) -> String {
        match (self.viewer, self.shown()) {
            (Viewer::Reader, shown) => {
                format!(" after turn {} of {} ", shown.map_or(0, |turn| turn.turn), self.turns.len())
            }
            (_, shown) if self.looks_back() => {
                let shown = shown.map_or(0, |turn| turn.turn);
                format!(" turn {shown} of {}, End: now ", self.turns.len())
            }
            (_, Some(turn)) if self.finish.is_some() => format!(" after turn {} ", turn.turn),
            _ => format!(" turn {} ", self.next_turn()),
        }
    }

    fn draw_players(&self, frame: &mut Frame<'_>, area: Rect, now_ms: u64) {
        let width = area.width.saturating_sub(2);
        let mut lines = Vec::new();
        for seat in Seat::BOTH {
            let you = if self.seat() == Some(seat) { " (you)" } else { "" };
            let rating = self.ratings.map(|before| format!(", {}", ratings::shown(before[seat])));
            let who = format!(
                "{} {seat}  {}{you}{}",
                letter(seat),
                self.players[seat].trim_start_matches("players/"),
                rating.unwrap_or_default()
            );
            let clock = self.clock(seat, now_ms).unwrap_or_default();
            lines.push(sides(&who, &clock, width).style(self.palette.accent()));
            lines.push(Line::from(format!("  {}", self.seat_words(seat))));
        }
        lines.push(Line::default());
        lines.extend(self.standing(width.into()));
        lines.push(Line::default());
        lines.extend(wrap(&self.terms, width.into()).into_iter().map(|line| Line::from(line).dim()));
        panel(frame, area, " players ".to_owned(), lines);
    }

    /// What a seat does, as the viewer may know it.
    pub(super) fn seat_words(&self, seat: Seat) -> String {
        if self.viewer == Viewer::Reader {
            return self.shown().map(|turn| chosen(turn, seat)).unwrap_or_default();
        }
        match (&self.finish, self.ratings, self.rated) {
            (None, ..) => self.view().seat_words(seat),
            (Some(_), Some(before), Some(after)) => ratings::move_shown(before[seat], after[seat]),
            (Some(_), ..) => String::new(),
        }
    }

    /// What a seat's clock has left.
    pub(super) fn clock(&self, seat: Seat, now_ms: u64) -> Option<String> {
        if self.finish.is_some() { None } else { self.view().clock(seat, now_ms) }
    }

    /// Eggs by age, and the counts once there are any.
    fn standing(&self, width: usize) -> Vec<Line<'static>> {
        let position = self.position();
        let mut lines: Vec<_> = wrap(&view::eggs(&position), width).into_iter().map(Line::from).collect();
        lines.extend(view::counts(&position).map(Line::from));
        let sudden_death = view::sudden_death(&position);
        lines.extend(sudden_death.map(|said| Line::styled(said, self.palette.warning())));
        lines
    }

    fn draw_story(&self, frame: &mut Frame<'_>, area: Rect) {
        let inner = area.inner(Margin::new(1, 1));
        let (title, words) = match self.shown() {
            Some(turn) => (format!(" what happened in turn {} ", turn.turn), words::turn(turn)),
            None => (" what happened ".to_owned(), vec!["nothing yet".to_owned()]),
        };
        let lines = words.iter().flat_map(|line| wrap(line, inner.width.into())).collect();
        panel(frame, area, title, shorten(lines, inner.height.into()).into_iter().map(Line::from).collect());
    }

    /// The newest turn first.
    fn draw_history(&self, frame: &mut Frame<'_>, area: Rect) {
        let height = usize::from(area.height.saturating_sub(2));
        let turns = self.turns.iter().take(self.at).rev().take(height);
        let lines = turns.map(|turn| Line::from(words::history(turn))).collect();
        panel(frame, area, " history: black, white ".to_owned(), lines);
    }

    pub(super) fn note_lines(&self, width: u16) -> Vec<Line<'static>> {
        let elsewhere = Note { text: words::SEALED_ELSEWHERE.to_owned(), is_warning: true };
        let elsewhere = self.is_sealed_elsewhere().then_some(&elsewhere);
        let Some(note) = elsewhere.or(self.note.as_ref()) else { return Vec::new() };
        let style = if note.is_warning { self.palette.warning() } else { self.palette.accent() };
        let lines = wrap(&note.text, usize::from(width).saturating_sub(2));
        let lines = lines.into_iter().take(NOTE_LINES_MAX);
        lines.map(|line| Line::styled(format!(" {line}"), style)).collect()
    }

    pub(super) fn prompt(&self, is_compact: bool) -> Line<'static> {
        let text = match self.viewer {
            Viewer::Reader => match (self.at == self.turns.len(), self.verdict()) {
                (true, Some(verdict)) => format!(" {verdict}"),
                _ => String::new(),
            },
            Viewer::Player(_) if self.finish.is_some() && self.rematch_words().is_some() => {
                return Line::styled(
                    format!(" {}", self.rematch_words().unwrap_or_default()),
                    self.palette.warning(),
                );
            }
            _ if self.finish.is_some() => match &self.checked {
                Some(checked) => format!(" {checked}"),
                None => " the transcript is being verified".to_owned(),
            },
            Viewer::Spectator => String::new(),
            Viewer::Player(seat) => return self.player_prompt(seat, is_compact),
        };
        Line::from(text)
    }

    fn rematch_words(&self) -> Option<&'static str> {
        match self.rematch {
            Offer::None => None,
            Offer::Made => Some("a rematch is offered; q takes it back"),
            Offer::Received => Some("a rematch is offered to you: m or n"),
            Offer::Declined => Some("your rematch is declined"),
            Offer::Impossible => Some("no rematch: the server is out of sight"),
        }
    }

    fn player_prompt(&self, seat: Seat, is_compact: bool) -> Line<'static> {
        let hint = match (self.input.as_str(), self.selection()) {
            ("D", _) if is_compact => "  Enter: draw; 1 to 9: a cell".to_owned(),
            ("A", _) if self.is_offered_draw() && is_compact => "  Enter: accept; 1 to 9: a cell".to_owned(),
            ("D", _) => "  Enter offers a draw; a row, 1 to 9, makes a cell".to_owned(),
            ("A", _) if self.is_offered_draw() => {
                "  Enter accepts the draw; a row, 1 to 9, makes a cell".to_owned()
            }
            (_, Some(cell)) if self.is_due() => format!("  Enter seals {cell}, for good"),
            _ => String::new(),
        };
        let what = if self.is_due() && is_compact {
            " cell> ".to_owned()
        } else if self.is_due() {
            format!(" turn {}, {seat}'s cell> ", self.status.turn)
        } else if self.is_offered_draw() {
            " a draw is offered> ".to_owned()
        } else {
            " wait> ".to_owned()
        };
        let typed = match (self.input.is_empty(), self.cursor) {
            (true, Some(cell)) => cell.to_string(),
            _ => format!("{}_", self.input),
        };
        Line::from(vec![
            Span::raw(what),
            Span::styled(typed, self.palette.accent()),
            Span::raw(hint).style(self.palette.warning()),
        ])
    }

    fn keys_line(&self) -> Line<'static> {
        let text = match self.viewer {
            Viewer::Player(_) if self.finish.is_none() => {
                " E5 or arrows, Enter: seal   d Enter: draw   r: resign   ?: help   q: leave"
            }
            Viewer::Reader => " right, left: turn by turn   Home, End   ?: help   q: leave",
            Viewer::Player(_) if self.rematch == Offer::Received => {
                " m: accept the rematch   n: decline it   ?: help   q: leave"
            }
            Viewer::Player(_) if self.is_against_bot => " ?: help   q: leave",
            Viewer::Player(_) => " m: rematch   ?: help   q: leave",
            Viewer::Spectator => " ?: help   q: leave",
        };
        Line::from(text).dim()
    }

    fn draw_popup(&self, frame: &mut Frame<'_>, popup: Popup) {
        let is_compact = self.fit == Fit::Compact;
        let (title, text): (_, Vec<&str>) = match (popup, self.viewer) {
            (Popup::Help, Viewer::Player(_)) if is_compact => {
                (" help; any key closes it ", compact::PLAYER_HELP.to_vec())
            }
            (Popup::Help, Viewer::Player(_)) => (" help; any key closes it ", PLAYER_HELP.to_vec()),
            (Popup::Help, Viewer::Spectator) => (" help; any key closes it ", WATCHER_HELP.to_vec()),
            (Popup::Help, Viewer::Reader) => (" help; any key closes it ", READER_HELP.to_vec()),
            (Popup::Resign, _) => {
                (" resign? ", vec!["You lose the match. y: resign, any other key: play on"])
            }
            (Popup::Leave, _) => (
                " leave? ",
                vec![
                    "Your sealed move is not revealed yet. It is kept on this machine:",
                    "come back by --match before the time to reveal it is over,",
                    "or you lose. y: leave, any other key: stay",
                ],
            ),
        };
        let room = usize::from(frame.area().width).saturating_sub(4);
        let is_wide = |line: &&str| line.chars().count() > room;
        let text: Vec<String> = if text.iter().any(is_wide) {
            text.into_iter().flat_map(|line| wrap(line, room)).collect()
        } else {
            text.into_iter().map(str::to_owned).collect()
        };
        let width = text.iter().map(|line| line.chars().count()).max().unwrap_or_default() + 4;
        let height = text.len() + 2;
        let fits = |length: usize| Constraint::Length(u16::try_from(length).unwrap_or(u16::MAX));
        let area = frame.area().centered(fits(width), fits(height));
        frame.render_widget(Clear, area);
        let lines = text.into_iter().map(|line| Line::from(format!(" {line}"))).collect();
        panel(frame, area, title.to_owned(), lines);
    }
}

/// Lines in a frame with a title.
fn panel(frame: &mut Frame<'_>, area: Rect, title: String, lines: Vec<Line<'static>>) {
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
}

pub(super) const fn letter(seat: Seat) -> char {
    match seat {
        Seat::Black => 'B',
        Seat::White => 'W',
    }
}

/// A text at the left, cut off where it meets the one at the right.
pub(super) fn sides(left: &str, right: &str, width: u16) -> Line<'static> {
    let room = usize::from(width).saturating_sub(right.chars().count() + 1);
    let left: String = left.chars().take(room).collect();
    Line::from(format!("{left:<room$} {right}"))
}

/// What a seat chose in a turn and how long it took.
fn chosen(turn: &VerifiedTurn, seat: Seat) -> String {
    let opening = match seat {
        Seat::Black => turn.message.black.as_ref(),
        Seat::White => turn.message.white.as_ref(),
    };
    let sealed = opening.and_then(|opening| opening.seal_time.as_ref()).map(words::stamp_ms);
    let opened = turn.message.open_time.as_ref().map(words::stamp_ms);
    match (opened, sealed) {
        (Some(opened), Some(sealed)) => {
            format!("{} after {}", turn.cells[seat], view::length(sealed.saturating_sub(opened)))
        }
        _ => turn.cells[seat].to_string(),
    }
}

/// A text in lines of at most this width, broken between words.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As many lines as fit; the last one says how many do not.
pub(super) fn shorten(mut lines: Vec<String>, height: usize) -> Vec<String> {
    if lines.len() > height {
        let kept = height.saturating_sub(1);
        let left = lines.len() - kept;
        lines.truncate(kept);
        lines.push(format!("… {left} more lines in a taller terminal"));
    }
    lines
}
