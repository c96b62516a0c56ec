//! A match line by line: for pipes, screen readers and terminals that cannot be drawn on.

use anyhow::Context as _;
use futures::StreamExt as _;
use rules::{Cell, NotationError, Seat};
use serde_json::json;
use whattheshell::{Error, Finish, MatchHandle, Update, VerifiedTurn, v1};

use crate::lines::Lines;
use crate::openings::{self, Openings, Unsealed};
use crate::person::{Person, Said};
use crate::words::News;
use crate::{board, seating, words};

const HELP: &str = "\
  E5       seal a move for the open turn: a column A to I, then a row 1 to 9; it is final
  board    show the board again
  draw     offer a draw; the offer is gone when the turn resolves
  accept   accept the other one's offer; decline declines it
  resign   give up
  quit     leave; the match and its clock go on
  help     this";

/// A match and the person who plays it.
pub(crate) struct Table {
    game: MatchHandle,
    seat: Seat,
    /// Where his moves are kept, if he has to reveal them.
    openings: Option<Openings>,
    lines: Lines,
    /// The turn that waits for a move.
    due: Option<u32>,
    last_cells: Vec<Cell>,
    /// What goes on, as it was last told.
    status: v1::MatchStatus,
    /// Whether he knows that leaving now loses.
    is_warned: bool,
    /// The turn whose move only somebody else can reveal.
    sealed_elsewhere: Option<u32>,
}

/// What a line of the person comes to.
enum Next {
    Go,
    Leave,
}

impl Table {
    /// The table of a player who has this seat.
    pub(crate) fn new(game: MatchHandle, seat: Seat, openings: Option<Openings>, lines: Lines) -> Self {
        Self {
            game,
            seat,
            openings,
            lines,
            due: None,
            last_cells: Vec::new(),
            status: v1::MatchStatus::default(),
            is_warned: false,
            sealed_elsewhere: None,
        }
    }

    /// Plays until the match is over or the player leaves.
    ///
    /// # Errors
    /// The match is lost sight of, a call fails for good, or the moves that were kept cannot be read.
    pub(crate) async fn play(mut self, person: &mut Person) -> anyhow::Result<()> {
        let opponent = self.game.player_in(self.seat.opponent());
        let (name, seat) = (self.game.name(), self.seat);
        self.lines.show(
            &format!("{name}: you play {seat} against {opponent}; `help` helps"),
            json!({ "event": "begin", "match": name, "seat": seat.to_string(), "opponent": opponent }),
        )?;
        self.restore()?;
        let mut updates = self.game.watch();
        loop {
            tokio::select! {
                update = updates.next() => match update.context("the stream ended before the match")? {
                    Ok(Update::Finished(finish)) => return self.finish(&finish).await,
                    Ok(update) => self.update(update)?,
                    Err(error) => return Err(self.lost(error)),
                },
                said = person.next() => match said? {
                    Said::End => {}
                    Said::Go => return self.leave(),
                    Said::Line(line) => if let Next::Leave = self.line(&line).await? {
                        return self.leave();
                    },
                },
            }
        }
    }

    fn restore(&self) -> anyhow::Result<()> {
        let Some(openings) = &self.openings else { return Ok(()) };
        for (turn, cell) in openings.restore(&self.game)? {
            self.say(&format!("{cell} was kept here for turn {turn}, and is revealed when it is due"))?;
        }
        Ok(())
    }

    /// Forgets moves that are public by now.
    fn forget(&self, forget: impl FnOnce(&Openings) -> std::io::Result<()>) -> anyhow::Result<()> {
        let Some(openings) = &self.openings else { return Ok(()) };
        match forget(openings) {
            Ok(()) => Ok(()),
            Err(error) => self.say(&format!("{} cannot be removed: {error}", openings.path().display())),
        }
    }

    fn update(&mut self, update: Update) -> anyhow::Result<()> {
        match update {
            Update::Turn(turn) => self.turn(&turn)?,
            Update::Status(status) => self.status(status)?,
            _ => {}
        }
        Ok(())
    }

    fn turn(&mut self, turn: &VerifiedTurn) -> anyhow::Result<()> {
        self.due = None;
        self.forget(|openings| openings.forget_until(turn.turn))?;
        self.last_cells = vec![turn.cells.black, turn.cells.white];
        Ok(self.lines.turn_in_words(turn)?)
    }

    fn status(&mut self, status: v1::MatchStatus) -> anyhow::Result<()> {
        if status.state() == v1::MatchState::Waiting {
            self.say("waiting for the other player")?;
        }
        if self.game.is_due(&status) && self.due != Some(status.turn) {
            self.due = Some(status.turn);
            if self.lines.json {
                self.lines.show("", json!({ "event": "due", "turn": status.turn }))?;
            }
            self.show_board()?;
            self.prompt()?;
        }
        self.mind_opening(&status)?;
        let news = words::news(Some(self.seat), &self.status, &status);
        if !news.is_empty() {
            self.end_prompt()?;
        }
        for news in &news {
            match news {
                News::Offered => self.say(&format!("{news}: `accept` or `decline`"))?,
                news => self.say(&news.to_string())?,
            }
        }
        self.status = status;
        if news.is_empty() { Ok(()) } else { self.prompt() }
    }

    /// Says it once if only somebody else can reveal the move of the turn that is played.
    fn mind_opening(&mut self, status: &v1::MatchStatus) -> anyhow::Result<()> {
        let lacks = self.openings.as_ref().is_some_and(|openings| openings.lack(&self.game, status));
        if lacks && self.sealed_elsewhere != Some(status.turn) {
            self.sealed_elsewhere = Some(status.turn);
            self.end_prompt()?;
            self.say(words::SEALED_ELSEWHERE)?;
        }
        Ok(())
    }

    fn say(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.lines.note(text)?)
    }

    fn show_board(&self) -> anyhow::Result<()> {
        if self.lines.json {
            return Ok(());
        }
        self.say(&board::draw(&self.game.position(), &self.last_cells))
    }

    fn prompt(&self) -> anyhow::Result<()> {
        let Some(turn) = self.due.filter(|_| !self.lines.json) else { return Ok(()) };
        Ok(self.lines.prompt(&format!("turn {turn}, {}'s cell", self.seat))?)
    }

    /// Ends the line that a prompt waits on.
    fn end_prompt(&self) -> anyhow::Result<()> {
        if self.due.is_some() { Ok(self.lines.end_prompt()?) } else { Ok(()) }
    }

    async fn line(&mut self, line: &str) -> anyhow::Result<Next> {
        match line.to_ascii_lowercase().as_str() {
            "" => {}
            "help" | "?" => self.say(HELP)?,
            "board" => self.show_board()?,
            "quit" | "exit" if self.is_warned || !self.game.is_to_reveal(&self.status) => {
                return Ok(Next::Leave);
            }
            "quit" | "exit" => {
                self.is_warned = true;
                self.say(
                    "your sealed move is not revealed yet. It is kept on this machine: if you leave, come back\n\
                     by --match before the time to reveal it is over, or you lose. `quit` again leaves",
                )?;
            }
            "draw" => self.offer_draw().await?,
            "accept" => self.answer_draw(true).await?,
            "decline" => self.answer_draw(false).await?,
            "resign" => {
                // The stream tells the end.
                self.game.resign().await.map_err(seating::explain)?;
                return Ok(Next::Go);
            }
            _ => self.choose(&line.to_ascii_uppercase()).await?,
        }
        self.prompt()?;
        Ok(Next::Go)
    }

    /// Seals the named cell, or says why not.
    async fn choose(&mut self, name: &str) -> anyhow::Result<()> {
        let cell: Cell = match name.parse() {
            Ok(cell) => cell,
            Err(NotationError::OffBoard) => return self.say("that cell is off the board, which is A1 to I9"),
            Err(NotationError::Malformed) => return self.say("that is no cell: type one like E5, or `help`"),
        };
        let Some(turn) = self.due else { return self.say("there is nothing to seal now: wait for the turn") };
        if !self.game.position().is_empty(cell) {
            return self.say(&format!("{cell} is occupied; choose an empty cell"));
        }
        match openings::seal(&self.game, self.openings.as_ref(), turn, cell).await {
            Ok(()) => {
                self.due = None;
                self.say(&format!("sealed {cell}; the other player sees it when the turn resolves"))
            }
            Err(Unsealed::Unkept(error)) => self.say(&format!("{error:#}")),
            Err(Unsealed::Failed(error)) if error.is_uncertain() => {
                self.say(&format!("{error}\nit may have gone in; type {cell} again to make sure"))
            }
            Err(Unsealed::Failed(Error::Api(error))) => self.say(&format!("refused: {error}")),
            Err(Unsealed::Failed(error)) => Err(seating::explain(error)),
        }
    }

    async fn offer_draw(&self) -> anyhow::Result<()> {
        match self.game.offer_draw(self.status.turn).await {
            Ok(_) => self.say("a draw is offered, until the turn resolves"),
            Err(Error::Api(error)) => self.say(&format!("refused: {error}")),
            Err(error) => Err(seating::explain(error)),
        }
    }

    async fn answer_draw(&self, accept: bool) -> anyhow::Result<()> {
        match self.game.answer_draw(self.status.turn, accept).await {
            // The stream tells the end.
            Ok(_) if accept => Ok(()),
            Ok(_) => self.say("the draw is declined"),
            Err(Error::Api(error)) => self.say(&format!("refused: {error}")),
            Err(error) => Err(seating::explain(error)),
        }
    }

    /// Says how it ended and whether everything about it holds.
    async fn finish(&self, finish: &Finish) -> anyhow::Result<()> {
        self.end_prompt()?;
        self.forget(Openings::forget)?;
        self.show_board()?;
        let won = finish.ending.as_ref().and_then(|ending| ending.result.winner());
        let you = match won {
            Some(winner) if winner == self.seat => "you win; ",
            Some(_) => "you lose; ",
            None => "",
        };
        self.lines.finish_as(finish, &format!("{you}{}", words::finish(finish)))?;
        let transcript = self.game.transcript().await.map_err(seating::explain)?;
        let verified = transcript.verify().context("the transcript does not hold")?;
        let said = format!("the transcript is verified, {} turns", verified.turns.len());
        self.lines.verified_as(&verified, &said)?;
        if !self.lines.json {
            self.say(&format!("a rematch: wts play --rematch {}", self.game.name()))?;
        }
        Ok(())
    }

    fn leave(&self) -> anyhow::Result<()> {
        self.say(&format!("the match goes on; come back with --match {}", self.game.name()))
    }

    fn lost(&self, error: Error) -> anyhow::Error {
        let back = format!("the match was lost sight of; come back with --match {}", self.game.name());
        seating::explain(error).context(back)
    }
}
