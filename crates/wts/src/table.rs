//! A match line by line: for pipes, screen readers and terminals that cannot be drawn on.

use anyhow::Context as _;
use futures::StreamExt as _;
use rules::{Cell, NotationError, PerSeat, Seat};
use serde_json::json;
use whattheshell::{Error, Finish, MatchHandle, Player, Update, VerifiedTurn, v1};

use crate::lines::{self, Lines};
use crate::openings::{self, Openings, Unsealed};
use crate::person::{Person, Said};
use crate::seating::Sitting;
use crate::server_clock::ServerClock;
use crate::view::{self, View};
use crate::words::News;
use crate::{board, ratings, seating, words};

const HELP: &str = "\
  E5       seal a move for the open turn: a column A to I, then a row 1 to 9; it is final
  board    show the board, the clocks and what each player does
  history  show all turns so far
  draw     offer a draw; the offer is gone when the turn resolves
  accept   accept the other one's offer; decline declines it
  resign   give up
  quit     leave; the match and its clock go on
  help     this";

const LEAVING_LOSES: &str = "\
your sealed move is not revealed yet. It is kept on this machine: if you leave, come back
by --match before the time to reveal it is over, or you lose. `quit` again leaves";

/// A match and the person who plays it.
pub(crate) struct Table {
    game: MatchHandle,
    seat: Seat,
    players: PerSeat<String>,
    /// Where his moves are kept, if he has to reveal them.
    openings: Option<Openings>,
    lines: Lines,
    clock: ServerClock,
    /// The turn that waits for a move.
    due: Option<u32>,
    /// Verified turns; a match has at most 500.
    turns: Vec<VerifiedTurn>,
    /// What goes on, as it was last told.
    status: v1::MatchStatus,
    /// The move that he has sealed, with its turn.
    sealed: Option<(u32, Cell)>,
    /// Whether he knows that leaving now loses.
    is_warned: bool,
    /// The turn whose move only somebody else can reveal.
    sealed_elsewhere: Option<u32>,
    /// The session of the player.
    player: Player,
    /// The level of the bot he plays, if he does.
    bot_level: Option<i32>,
    /// Both ratings that a ranked match was made with.
    ratings: Option<PerSeat<f64>>,
}

/// What a line of the person comes to.
enum Next {
    Go,
    Leave,
}

impl Table {
    /// The table of a player in his seat.
    pub(crate) fn new(player: Player, sitting: Sitting, lines: Lines, clock: ServerClock) -> Self {
        let Sitting { game, seat, openings, bot_level, .. } = sitting;
        let in_seat = |seat| game.player_in(seat).to_owned();
        Self {
            players: PerSeat { black: in_seat(Seat::Black), white: in_seat(Seat::White) },
            game,
            seat,
            openings,
            lines,
            clock,
            due: None,
            turns: Vec::new(),
            status: v1::MatchStatus::default(),
            sealed: None,
            is_warned: false,
            sealed_elsewhere: None,
            player,
            bot_level,
            ratings: None,
        }
    }

    /// Plays until the match is over or the player leaves. Whether it was over before it began.
    ///
    /// # Errors
    /// The match is lost sight of, a call fails for good, or the moves that were kept cannot be read.
    pub(crate) async fn play(mut self, person: &mut Person) -> anyhow::Result<bool> {
        self.restore()?;
        let mut updates = self.game.watch();
        loop {
            tokio::select! {
                update = updates.next() => match update.context("the stream ended before the match")? {
                    Ok(Update::Finished(finish)) => {
                        self.finish(&finish).await?;
                        return Ok(finish.message.result() == v1::MatchResult::Aborted);
                    }
                    Ok(update) => self.update(update)?,
                    Err(error) => return Err(self.lost(error)),
                },
                said = person.next() => match said? {
                    Said::End => {}
                    Said::Go => return self.leave().map(|()| false),
                    Said::Line(line) => if let Next::Leave = self.line(&line).await? {
                        return self.leave().map(|()| false);
                    },
                },
            }
        }
    }

    fn restore(&mut self) -> anyhow::Result<()> {
        let Some(openings) = &self.openings else { return Ok(()) };
        for (turn, cell) in openings.restore(&self.game)? {
            self.sealed = Some((turn, cell));
            let text = format!("{cell} was kept here for turn {turn}, and is revealed when it is due");
            self.lines.show(&text, json!({ "event": "kept", "turn": turn, "cell": cell.to_string() }))?;
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
            Update::Snapshot(snapshot) => self.begin(&snapshot),
            Update::Turn(turn) => self.turn(turn),
            Update::Status(status) => self.status(status),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, snapshot: &v1::MatchSnapshot) -> anyhow::Result<()> {
        self.ratings = ratings::before(snapshot.black.as_ref(), snapshot.white.as_ref());
        let rated = self.ratings.map(|before| ratings::in_words(&self.players, before, None));
        let rated = rated.map(|rated| format!("\n{rated}")).unwrap_or_default();
        let (name, seat) = (self.game.name(), self.seat);
        let opponent = &self.players[seat.opponent()];
        let settings = snapshot.settings.clone().unwrap_or_default();
        let terms = words::terms(&settings);
        Ok(self.lines.show(
            &format!("{name}: you play {seat} against {opponent}; {terms}; `help` helps{rated}"),
            json!({ "event": "begin", "match": name, "seat": seat.to_string(), "opponent": opponent,
                    "black": self.players.black, "white": self.players.white,
                    "black_rating": self.ratings.map(|ratings| ratings.black),
                    "white_rating": self.ratings.map(|ratings| ratings.white),
                    "settings": lines::settings(&settings) }),
        )?)
    }

    fn turn(&mut self, turn: VerifiedTurn) -> anyhow::Result<()> {
        self.due = None;
        self.sealed = None;
        self.forget(|openings| openings.forget_until(turn.turn))?;
        self.lines.turn_in_words(&turn)?;
        self.turns.push(turn);
        Ok(())
    }

    fn status(&mut self, status: v1::MatchStatus) -> anyhow::Result<()> {
        self.sealed = view::own_seal(&status).or(self.sealed);
        let before = std::mem::replace(&mut self.status, status);
        if self.lines.json {
            self.lines.show("", self.view().object())?;
        }
        let is_newly_due = self.game.is_due(&self.status) && self.due != Some(self.status.turn);
        let said = self.news(&before, is_newly_due);
        if !said.is_empty() {
            self.end_prompt()?;
        }
        self.mind_opening()?;
        self.tell_draws(&before)?;
        said.iter().filter(|_| !self.lines.json).try_for_each(|line| self.say(line))?;
        if is_newly_due {
            self.due = Some(self.status.turn);
            let deadline = words::seat_status(&self.status, self.seat).and_then(|own| own.deadline);
            let deadline_ms = deadline.as_ref().map(words::stamp_ms);
            if self.lines.json {
                let turn = self.status.turn;
                self.lines.show("", json!({ "event": "due", "turn": turn, "deadline_ms": deadline_ms }))?;
            } else {
                self.show_board()?;
            }
        }
        if said.is_empty() && !is_newly_due { Ok(()) } else { self.prompt() }
    }

    /// What a person is told of a status: what the other one does, where it is something new.
    fn news(&self, before: &v1::MatchStatus, is_newly_due: bool) -> Vec<String> {
        let mut said = Vec::new();
        let opponent = self.seat.opponent();
        if self.status.state() == v1::MatchState::Waiting && before.state() != v1::MatchState::Waiting {
            said.push("waiting for the other player".to_owned());
        }
        let deed = self.view().deed(opponent);
        let was = View { status: before, ..self.view() }.deed(opponent);
        // The board comes with it, and a bot is soon done.
        let is_told = is_newly_due || self.status.state() == v1::MatchState::BotDue;
        if !is_told && deed != was && !deed.is_empty() {
            said.push(format!(
                "{opponent}, {}: {deed}",
                self.players[opponent].trim_start_matches("players/")
            ));
        }
        said.extend(words::news(Some(self.seat), before, &self.status).iter().map(|news| match news {
            News::Offered => format!("{news}: `accept` or `decline`"),
            news => news.to_string(),
        }));
        said
    }

    /// Tells programs of offers, by either side, and of answers.
    fn tell_draws(&self, before: &v1::MatchStatus) -> std::io::Result<()> {
        let turn = self.status.turn;
        let offer = |status: &v1::MatchStatus, seat| {
            words::seat_status(status, seat).map_or(v1::DrawOffer::Unspecified, |side| side.draw_offer())
        };
        for seat in Seat::BOTH.into_iter().filter(|_| self.lines.json) {
            let is_new = before.turn != turn || offer(before, seat) != offer(&self.status, seat);
            let by = seat.to_string();
            let object = match offer(&self.status, seat) {
                v1::DrawOffer::Open => json!({ "event": "draw_offered", "turn": turn, "by": by }),
                v1::DrawOffer::Declined => {
                    json!({ "event": "draw_answered", "turn": turn, "offered_by": by, "accepted": false })
                }
                _ => continue,
            };
            if is_new {
                self.lines.show("", object)?;
            }
        }
        Ok(())
    }

    /// Says it once if only somebody else can reveal the move of the turn that is played.
    fn mind_opening(&mut self) -> anyhow::Result<()> {
        let lacks = self.openings.as_ref().is_some_and(|openings| openings.lack(&self.game, &self.status));
        let turn = self.status.turn;
        if lacks && self.sealed_elsewhere != Some(turn) {
            self.sealed_elsewhere = Some(turn);
            let object = json!({ "event": "sealed_elsewhere", "turn": turn });
            self.lines.show(words::SEALED_ELSEWHERE, object)?;
        }
        Ok(())
    }

    fn view(&self) -> View<'_> {
        View { status: &self.status, seat: Some(self.seat), sealed: self.sealed }
    }

    fn say(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.lines.note(text)?)
    }

    fn show_board(&self) -> anyhow::Result<()> {
        let position = self.game.position();
        let last = self.turns.last().map(|turn| vec![turn.cells.black, turn.cells.white]);
        let mut text = board::draw(&position, &last.unwrap_or_default());
        let now_ms = self.clock.now_ms();
        for line in lines::standing(&position).into_iter().chain(self.view().lines(&self.players, now_ms)) {
            text.push_str(&line);
            text.push('\n');
        }
        let turn = self.game.turn();
        let object = json!({ "event": "board", "turn": turn, "position": position.to_string() });
        Ok(self.lines.show(text.trim_end_matches('\n'), object)?)
    }

    fn prompt(&self) -> anyhow::Result<()> {
        let Some(turn) = self.due else { return Ok(()) };
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
            "history" => self.lines.history(&self.turns)?,
            "quit" | "exit" if self.is_warned || !self.game.is_to_reveal(&self.status) => {
                return Ok(Next::Leave);
            }
            "quit" | "exit" => {
                self.is_warned = true;
                self.lines.refused("quit", None, LEAVING_LOSES)?;
            }
            "draw" => {
                let offered = self.game.offer_draw(self.status.turn).await;
                self.answered("draw", offered, "a draw is offered, until the turn resolves")?;
            }
            "accept" => {
                // The stream tells the end.
                let answered = self.game.answer_draw(self.status.turn, true).await;
                self.answered("accept", answered, "")?;
            }
            "decline" => {
                let answered = self.game.answer_draw(self.status.turn, false).await;
                self.answered("decline", answered, "the draw is declined")?;
            }
            "resign" => {
                let resigned = self.game.resign().await;
                self.answered("resign", resigned, "")?;
                return Ok(Next::Go);
            }
            _ => self.choose(&line.to_ascii_uppercase()).await?,
        }
        self.prompt()?;
        Ok(Next::Go)
    }

    /// Says how a command went; programs see what it did by the match.
    fn answered<T>(&self, command: &str, answer: Result<T, Error>, done: &str) -> anyhow::Result<()> {
        match answer {
            Ok(_) if done.is_empty() || self.lines.json => Ok(()),
            Ok(_) => self.say(done),
            Err(error) => self.refused(command, error),
        }
    }

    fn refused(&self, command: &str, error: Error) -> anyhow::Result<()> {
        match error {
            Error::Api(error) => {
                Ok(self.lines.refused(command, Some(error.reason()), &format!("refused: {error}"))?)
            }
            error => Err(seating::explain(error)),
        }
    }

    /// Seals the named cell, or says why not.
    async fn choose(&mut self, name: &str) -> anyhow::Result<()> {
        let refused = |reason, text: &str| Ok(self.lines.refused("seal", reason, text)?);
        let cell: Cell = match name.parse() {
            Ok(cell) => cell,
            Err(NotationError::OffBoard) => {
                return refused(None, "that cell is off the board, which is A1 to I9");
            }
            Err(NotationError::Malformed) => {
                return refused(None, "that is no cell: type one like E5, or `help`");
            }
        };
        let Some(turn) = self.due else {
            return refused(None, "there is nothing to seal now: wait for the turn");
        };
        if !self.game.position().is_empty(cell) {
            let why = format!("{cell} is occupied; choose an empty cell");
            return refused(Some(v1::ErrorReason::CellOccupied), &why);
        }
        match openings::seal(&self.game, self.openings.as_ref(), turn, cell).await {
            Ok(()) => {
                self.due = None;
                self.sealed = Some((turn, cell));
                let text = format!("sealed {cell}; the other player sees it when the turn resolves");
                let object = json!({ "event": "sealed", "turn": turn, "cell": cell.to_string() });
                Ok(self.lines.show(&text, object)?)
            }
            Err(Unsealed::Unkept(error)) => refused(None, &format!("{error:#}")),
            Err(Unsealed::Failed(error)) if error.is_uncertain() => {
                let text = format!("{error}\nit may have gone in; type {cell} again to make sure");
                let object = json!({ "event": "unanswered", "turn": turn, "cell": cell.to_string(),
                                     "text": error.to_string() });
                Ok(self.lines.show(&text, object)?)
            }
            Err(Unsealed::Failed(error)) => self.refused("seal", error),
        }
    }

    /// Says how it ended and whether everything about it holds.
    async fn finish(&self, finish: &Finish) -> anyhow::Result<()> {
        self.end_prompt()?;
        self.forget(Openings::forget)?;
        if !self.lines.json {
            let last = self.turns.last().map(|turn| vec![turn.cells.black, turn.cells.white]);
            self.say(&board::draw(&self.game.position(), &last.unwrap_or_default()))?;
        }
        let won = finish.ending.as_ref().and_then(|ending| ending.result.winner());
        let you = match won {
            Some(winner) if winner == self.seat => "you win; ",
            Some(_) => "you lose; ",
            None => "",
        };
        self.lines.finish_as(finish, &format!("{you}{}", words::finish(finish)))?;
        let transcript = self.game.transcript().await.map_err(seating::explain)?;
        let verified =
            self.game.verify_signed(&transcript).await.context("the transcript is not verified")?;
        let again = match self.bot_level {
            Some(level) => format!("another one: wts play --bot {level}"),
            None => format!("a rematch: wts play --rematch {}", self.game.name()),
        };
        let said = format!("the transcript is verified, {} turns\n{again}", verified.turns.len());
        self.lines.verified_as(&verified, &said)?;
        self.rate(finish).await
    }

    /// Says how the ratings have moved, once they have.
    async fn rate(&self, finish: &Finish) -> anyhow::Result<()> {
        let Some(before) = self.ratings else { return Ok(()) };
        let after = ratings::after(&self.player, &self.players, &finish.message).await;
        let after = after.map_err(seating::explain)?;
        let mut text = ratings::in_words(&self.players, before, after);
        if after.is_none() && finish.message.result() != v1::MatchResult::Aborted {
            text.push_str("; the match is not counted yet");
        }
        Ok(self.lines.show(&text, ratings::object(before, after))?)
    }

    fn leave(&self) -> anyhow::Result<()> {
        let name = self.game.name();
        let text = format!("the match goes on; come back with --match {name}");
        Ok(self.lines.show(&text, json!({ "event": "left", "match": name }))?)
    }

    fn lost(&self, error: Error) -> anyhow::Error {
        let back = format!("the match was lost sight of; come back with --match {}", self.game.name());
        seating::explain(error).context(back)
    }
}
