//! What stands on the screen of a player, a spectator or the reader of a replay: a state that events
//! update and that is drawn at a given time. It does no I/O: what is to be done comes back as an
//! [`Intent`].

mod compact;
mod grid;
mod keys;
mod paint;
mod palette;
#[cfg(test)]
mod tests;

use crossterm::event::KeyEvent;
use rules::{Cell, PerSeat, Position, Seat};
use whattheshell::{Finish, Update, VerifiedTurn, v1};

pub(crate) use palette::Palette;

use crate::ratings;
use crate::view::{self, View};
use crate::words::{self, News};

/// Who looks at the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Viewer {
    /// One of the two players.
    Player(Seat),
    /// Somebody who watches.
    Spectator,
    /// Somebody who steps through a match that was verified.
    Reader,
}

/// Something that happens to the screen. No `Debug`: a key may be a part of a move.
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// The match went on.
    Update(Box<Update>),
    /// The stream is connected, or is not.
    Connected(bool),
    /// A move of the player is kept here, to be revealed later.
    Kept {
        /// Its turn.
        turn: u32,
        /// The player's cell.
        cell: Cell,
    },
    /// The player is bound to a move that only somebody else can reveal.
    SealedElsewhere {
        /// Its turn.
        turn: u32,
    },
    /// A rematch stands elsewhere than before.
    Rematch(Offer),
    /// Something that was asked for by an [`Intent`] came to an end.
    Answer(Answer),
}

/// Where a rematch stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Nobody has offered one.
    None,
    /// The player has.
    Made,
    /// The opponent has.
    Received,
    /// The opponent does not want one.
    Declined,
    /// The server is out of sight.
    Impossible,
}

/// How an intent ended.
pub(crate) enum Answer {
    /// The move is sealed.
    Sealed {
        /// The open turn.
        turn: u32,
        /// The player's cell.
        cell: Cell,
    },
    /// It is done; what to say about it.
    Done(&'static str),
    /// It failed; what happened and what to do.
    Failed(String),
    /// What was wanted of a rematch failed.
    NoRematch(String),
    /// What checking the transcript of the finished match came to.
    Checked(String),
    /// The ratings, once the finished match is counted.
    Rated(PerSeat<f64>),
}

/// What the person wants done. No `Debug`: it has his move.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Seal this cell for this turn.
    Seal {
        /// The open turn.
        turn: u32,
        /// The player's cell.
        cell: Cell,
    },
    /// Offer a draw in this turn.
    OfferDraw(u32),
    /// Accept or decline the draw that is offered in this turn.
    AnswerDraw {
        /// The open turn.
        turn: u32,
        /// Accept.
        accept: bool,
    },
    /// Give up.
    Resign,
    /// Offer or accept a rematch of the finished match, or decline it.
    Rematch {
        /// Offer or accept.
        want: bool,
    },
    /// Leave the screen.
    Leave,
}

/// A window over the screen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Popup {
    Help,
    Resign,
    Leave,
}

/// How much of the screen the terminal has room for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Whole,
    Compact,
    /// Nothing is shown, so nothing can be played.
    Nothing,
}

/// The line under the board.
#[derive(Clone, PartialEq, Eq)]
struct Note {
    text: String,
    is_warning: bool,
}

/// The screen of a match.
pub(crate) struct Screen {
    viewer: Viewer,
    palette: Palette,
    name: String,
    players: PerSeat<String>,
    terms: String,
    is_commit_reveal: bool,
    is_against_bot: bool,
    /// The ratings that a ranked match was made with, and those after it.
    ratings: Option<PerSeat<f64>>,
    rated: Option<PerSeat<f64>>,
    /// Verified turns; a match has at most 500.
    turns: Vec<VerifiedTurn>,
    /// How many turns are on the board: all, unless somebody steps back.
    at: usize,
    status: v1::MatchStatus,
    finish: Option<Finish>,
    checked: Option<String>,
    rematch: Offer,
    is_connected: bool,
    /// The move that the player has sealed, with its turn.
    sealed: Option<(u32, Cell)>,
    /// A move that is kept here, with its turn: the one that is sealed, if any is.
    kept: Option<(u32, Cell)>,
    /// The turn whose move only somebody else can reveal.
    sealed_elsewhere: Option<u32>,
    /// A seal is on its way.
    is_sealing: bool,
    /// What was typed of a cell: a column, then a row.
    input: String,
    cursor: Option<Cell>,
    note: Option<Note>,
    popup: Option<Popup>,
    /// How the screen was drawn last: what is not shown takes no keys.
    fit: Fit,
}

impl Screen {
    /// The screen of a match of which nothing has come yet.
    pub(crate) fn new(viewer: Viewer, name: &str, palette: Palette) -> Self {
        Self {
            viewer,
            palette,
            name: name.to_owned(),
            players: PerSeat::default(),
            terms: String::new(),
            is_commit_reveal: false,
            is_against_bot: false,
            ratings: None,
            rated: None,
            turns: Vec::new(),
            at: 0,
            status: v1::MatchStatus::default(),
            finish: None,
            checked: None,
            rematch: Offer::None,
            is_connected: false,
            sealed: None,
            kept: None,
            sealed_elsewhere: None,
            is_sealing: false,
            input: String::new(),
            cursor: None,
            note: None,
            popup: None,
            fit: Fit::Whole,
        }
    }

    /// Takes an event in.
    pub(crate) fn update(&mut self, event: Event) -> Option<Intent> {
        match event {
            Event::Key(key) => return self.key(key),
            Event::Update(update) => self.match_update(*update),
            Event::Connected(is_connected) => self.is_connected = is_connected,
            Event::Kept { turn, cell } => self.kept = Some((turn, cell)),
            Event::SealedElsewhere { turn } => self.sealed_elsewhere = Some(turn),
            Event::Rematch(offer) => self.rematch = offer,
            Event::Answer(answer) => self.answer(answer),
        }
        None
    }

    /// The result from where the viewer sits, once there is one.
    pub(crate) fn verdict(&self) -> Option<String> {
        let finish = self.finish.as_ref()?;
        let winner = finish.ending.as_ref().and_then(|ending| ending.result.winner());
        let you = match (self.viewer, winner) {
            (Viewer::Player(seat), Some(winner)) if winner == seat => "you win; ",
            (Viewer::Player(_), Some(_)) => "you lose; ",
            _ => "",
        };
        Some(format!("{you}{}", words::finish(finish)))
    }

    /// What checking the transcript came to, once it has.
    pub(crate) fn checked(&self) -> Option<&str> {
        self.checked.as_deref()
    }

    /// Whether the match was over before it began.
    pub(crate) fn never_began(&self) -> bool {
        self.finish.as_ref().is_some_and(|finish| finish.message.result() == v1::MatchResult::Aborted)
    }

    /// The ratings that a ranked match was made with.
    pub(crate) fn ratings(&self) -> Option<PerSeat<f64>> {
        self.ratings
    }

    /// How the ratings have moved, once they have.
    pub(crate) fn rated(&self) -> Option<String> {
        Some(ratings::in_words(&self.players, self.ratings?, Some(self.rated?)))
    }

    /// Who plays.
    pub(crate) fn players(&self) -> &PerSeat<String> {
        &self.players
    }

    /// Fixes who plays and by which terms.
    pub(crate) fn introduce(&mut self, players: PerSeat<String>, settings: Option<&v1::MatchSettings>) {
        self.players = players;
        if let Some(settings) = settings {
            self.terms = words::terms(settings);
            self.is_commit_reveal = settings.seal_mode() == v1::SealMode::CommitReveal;
            self.is_against_bot = settings.bot.is_some();
        }
    }

    /// Puts the board before the first turn on the screen, for a reader to begin at.
    pub(crate) fn rewind(&mut self) {
        self.at = 0;
        self.note = None;
    }

    fn match_update(&mut self, update: Update) {
        match update {
            Update::Snapshot(snapshot) => {
                self.ratings = ratings::before(snapshot.black.as_ref(), snapshot.white.as_ref());
                let name = |seat: Option<v1::MatchSeat>| seat.map(|seat| seat.player).unwrap_or_default();
                let players = PerSeat { black: name(snapshot.black), white: name(snapshot.white) };
                self.introduce(players, snapshot.settings.as_ref());
            }
            Update::Turn(turn) => self.turn(turn),
            Update::Status(status) => self.status(status),
            Update::Finished(finish) => self.finished(finish),
            _ => {}
        }
    }

    fn turn(&mut self, turn: VerifiedTurn) {
        // Who looks at an earlier board is not torn away from it.
        let looks_back = self.looks_back();
        self.turns.push(turn);
        if !looks_back {
            self.at = self.turns.len();
        }
        self.sealed = None;
        self.is_sealing = false;
        self.note = None;
        // A cell that somebody else has just taken is no choice any more.
        if self.selection().is_some_and(|cell| !self.head().is_empty(cell)) {
            self.input.clear();
            self.cursor = None;
        }
    }

    fn status(&mut self, status: v1::MatchStatus) {
        if let Some(news) = words::news(self.seat(), &self.status, &status).pop() {
            self.say(&match news {
                News::Offered => format!("{news}: `a` and Enter accept it, `n` declines it"),
                news => news.to_string(),
            });
        }
        self.sealed = view::own_seal(&status).or(self.sealed);
        self.status = status;
        let is_kept = self.kept.is_some_and(|(turn, _)| turn == self.status.turn);
        if self.sealed.is_none() && is_kept && self.seat().is_some_and(|seat| self.has_sealed(seat)) {
            self.sealed = self.kept;
        }
    }

    fn finished(&mut self, finish: Finish) {
        self.finish = Some(finish);
        self.sealed = None;
        self.is_sealing = false;
        self.popup = None;
        self.cursor = None;
        self.input.clear();
        if let Some(verdict) = self.verdict() {
            self.say(&verdict);
        }
    }

    fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Sealed { turn, cell } => {
                self.is_sealing = false;
                // The turn may have resolved before the answer came.
                if turn == self.next_turn() && self.finish.is_none() {
                    self.sealed = Some((turn, cell));
                    self.say(&format!("{cell} is sealed; the other player sees it when the turn resolves"));
                }
                self.input.clear();
                self.cursor = None;
            }
            Answer::Checked(said) => self.checked = Some(said),
            Answer::Rated(after) => self.rated = Some(after),
            // The verdict stays: what it overtook is of no use any more.
            Answer::Done(_) | Answer::Failed(_) if self.finish.is_some() => {}
            Answer::NoRematch(why) => self.warn(&why),
            Answer::Done(said) => self.say(said),
            Answer::Failed(why) => {
                self.is_sealing = false;
                self.warn(&why);
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.note = Some(Note { text: text.to_owned(), is_warning: false });
    }

    fn warn(&mut self, text: &str) {
        self.note = Some(Note { text: text.to_owned(), is_warning: true });
    }

    fn seat(&self) -> Option<Seat> {
        match self.viewer {
            Viewer::Player(seat) => Some(seat),
            Viewer::Spectator | Viewer::Reader => None,
        }
    }

    /// The turn that is on the board.
    fn shown(&self) -> Option<&VerifiedTurn> {
        self.at.checked_sub(1).and_then(|index| self.turns.get(index))
    }

    /// The board that is shown.
    fn position(&self) -> Position {
        self.shown().map_or_else(Position::initial, |turn| turn.position)
    }

    /// The board that is played on.
    fn head(&self) -> Position {
        self.turns.last().map_or_else(Position::initial, |turn| turn.position)
    }

    /// Whether the board that is shown is an earlier one than that.
    fn looks_back(&self) -> bool {
        self.at < self.turns.len()
    }

    fn next_turn(&self) -> u32 {
        self.turns.last().map_or(1, |turn| turn.turn.saturating_add(1))
    }

    fn seat_status(&self, seat: Seat) -> Option<&v1::SeatStatus> {
        words::seat_status(&self.status, seat)
    }

    /// Whether a seat is known to have sealed the open turn.
    fn has_sealed(&self, seat: Seat) -> bool {
        self.view().has_sealed(seat)
    }

    /// The status as the viewer may know it.
    fn view(&self) -> View<'_> {
        View { status: &self.status, seat: self.seat(), sealed: self.sealed }
    }

    /// Whether the player has a move to seal.
    fn is_due(&self) -> bool {
        self.seat().is_some_and(|seat| !self.has_sealed(seat))
            && self.status.state() == v1::MatchState::Open
            && self.status.turn == self.next_turn()
            && self.finish.is_none()
            && !self.is_sealing
    }

    /// Whether only this program can reveal a move that the player is bound to.
    fn is_to_reveal(&self) -> bool {
        let Some(seat) = self.seat() else { return false };
        let is_revealed = self.seat_status(seat).and_then(|status| status.revealed).unwrap_or(false);
        self.is_commit_reveal
            && self.finish.is_none()
            && !is_revealed
            && (self.is_sealing || self.has_sealed(seat))
    }

    /// Whether the player is bound to a move that cannot be revealed from here.
    fn is_sealed_elsewhere(&self) -> bool {
        self.is_to_reveal() && self.sealed_elsewhere == Some(self.status.turn)
    }

    fn is_offered_draw(&self) -> bool {
        let offered = |seat: Seat| {
            let status = self.seat_status(seat.opponent());
            status.is_some_and(|status| status.draw_offer() == v1::DrawOffer::Open)
        };
        self.finish.is_none() && self.seat().is_some_and(offered)
    }

    /// The cell that Enter would seal.
    fn selection(&self) -> Option<Cell> {
        if self.input.is_empty() { self.cursor } else { self.input.parse().ok() }
    }
}
