//! What keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rules::Cell;
use whattheshell::v1;

use super::{Fit, Intent, Offer, Popup, Screen, Viewer};

/// Where the cursor appears: in the middle of the board.
const MIDDLE: u8 = 40;

/// How many turns a page of a replay has.
const READER_STEP: usize = 10;

impl Screen {
    /// Takes a key in.
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<Intent> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if self.fit == Fit::Nothing {
            let is_interrupt =
                key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
            let leaves = is_interrupt || matches!(key.code, KeyCode::Char('q' | 'Q'));
            return if leaves { self.leave() } else { None };
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { self.leave() } else { None };
        }
        if let Some(popup) = self.popup {
            return self.popup_key(popup, key.code);
        }
        match (key.code, self.viewer) {
            (KeyCode::Char('?'), _) => self.popup = Some(Popup::Help),
            (KeyCode::Char('q' | 'Q'), _) => return self.leave(),
            (code, Viewer::Reader) => self.step(code, READER_STEP),
            (KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End, _) => self.step(key.code, 1),
            (KeyCode::Enter | KeyCode::Esc, _) if self.looks_back() => self.at = self.turns.len(),
            (code, Viewer::Player(_)) if self.finish.is_none() => return self.play(code),
            (KeyCode::Char('m' | 'M'), Viewer::Player(_))
                if self.rematch != Offer::Impossible && !self.is_against_bot =>
            {
                return Some(Intent::Rematch { want: true });
            }
            (KeyCode::Char('n' | 'N'), Viewer::Player(_)) if self.rematch == Offer::Received => {
                return Some(Intent::Rematch { want: false });
            }
            _ => {}
        }
        None
    }

    fn popup_key(&mut self, popup: Popup, code: KeyCode) -> Option<Intent> {
        self.popup = None;
        let is_yes = matches!(code, KeyCode::Char('y' | 'Y'));
        match popup {
            Popup::Resign if is_yes => Some(Intent::Resign),
            Popup::Leave if is_yes => Some(Intent::Leave),
            Popup::Help | Popup::Resign | Popup::Leave => None,
        }
    }

    /// Leaves at once, unless leaving loses: then it asks first.
    fn leave(&mut self) -> Option<Intent> {
        if self.is_to_reveal() && self.popup != Some(Popup::Leave) {
            self.popup = Some(Popup::Leave);
            return None;
        }
        Some(Intent::Leave)
    }

    /// Steps through the turns, or a page of them.
    fn step(&mut self, code: KeyCode, page: usize) {
        let last = self.turns.len();
        self.at = match code {
            KeyCode::Right | KeyCode::Down | KeyCode::Enter | KeyCode::Char(' ') => (self.at + 1).min(last),
            KeyCode::Left | KeyCode::Up | KeyCode::Backspace => self.at.saturating_sub(1),
            KeyCode::PageDown => (self.at + page).min(last),
            KeyCode::PageUp => self.at.saturating_sub(page),
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => self.at,
        };
    }

    fn play(&mut self, code: KeyCode) -> Option<Intent> {
        // What is chosen is shown on the board that it is chosen for.
        self.at = self.turns.len();
        match code {
            KeyCode::Up => self.move_cursor(0, 1),
            KeyCode::Down => self.move_cursor(0, -1),
            KeyCode::Left => self.move_cursor(-1, 0),
            KeyCode::Right => self.move_cursor(1, 0),
            KeyCode::Backspace => drop(self.input.pop()),
            KeyCode::Esc => {
                self.input.clear();
                self.cursor = None;
                self.note = None;
            }
            KeyCode::Enter => return self.enter(),
            KeyCode::Char(letter) => return self.letter(letter.to_ascii_uppercase()),
            _ => {}
        }
        None
    }

    fn move_cursor(&mut self, columns: i8, rows: i8) {
        let moved = match self.selection() {
            None => Cell::from_index(MIDDLE),
            Some(cell) => {
                let column = cell.column().saturating_add_signed(columns).min(8);
                let row = cell.row().saturating_add_signed(rows).min(8);
                Cell::from_index(row * 9 + column)
            }
        };
        self.input.clear();
        self.cursor = moved;
    }

    fn letter(&mut self, letter: char) -> Option<Intent> {
        match letter {
            // A column begins a cell anew.
            'A'..='I' => self.input = letter.to_string(),
            '1'..='9' if !self.input.is_empty() => {
                self.input.truncate(1);
                self.input.push(letter);
            }
            '0'..='9' if self.input.is_empty() => {
                self.warn("a cell begins with its column: A to I, as in E5")
            }
            'R' => self.popup = Some(Popup::Resign),
            'N' if self.is_offered_draw() => {
                return Some(Intent::AnswerDraw { turn: self.status.turn, accept: false });
            }
            'N' => self.warn("no draw is offered to you"),
            _ => self.warn("that is no key here; ? shows the keys"),
        }
        None
    }

    /// A cell is sealed; D and A are columns too, so as commands they need this key.
    fn enter(&mut self) -> Option<Intent> {
        let turn = self.status.turn;
        match self.input.as_str() {
            "D" => {
                self.input.clear();
                return self.offer_draw();
            }
            "A" if self.is_offered_draw() => {
                self.input.clear();
                return Some(Intent::AnswerDraw { turn, accept: true });
            }
            _ => {}
        }
        match self.selection() {
            Some(cell) => return self.seal(cell),
            None if self.input.is_empty() => {
                self.warn("type a cell like E5, or choose one with the arrow keys")
            }
            None => self.warn("the row is missing: 1 to 9"),
        }
        None
    }

    fn offer_draw(&mut self) -> Option<Intent> {
        let is_played = matches!(self.status.state(), v1::MatchState::Open | v1::MatchState::Revealing);
        if is_played {
            return Some(Intent::OfferDraw(self.status.turn));
        }
        self.warn("a draw can be offered once a turn is open");
        None
    }

    fn seal(&mut self, cell: Cell) -> Option<Intent> {
        if !self.is_due() {
            self.input.clear();
            self.cursor = None;
            self.warn(if self.seat().is_some_and(|seat| self.has_sealed(seat)) {
                "you have sealed this turn, and a seal is final; wait for the other player"
            } else {
                "there is nothing to seal now; wait for the turn to open"
            });
            return None;
        }
        if !self.head().is_empty(cell) {
            self.warn(&format!("{cell} is taken; choose an empty cell"));
            return None;
        }
        self.is_sealing = true;
        self.say("the move is on its way");
        Some(Intent::Seal { turn: self.status.turn, cell })
    }
}
