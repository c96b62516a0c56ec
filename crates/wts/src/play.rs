//! `wts play`: a person plays in a terminal.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use futures::StreamExt as _;
use rules::{Cell, NotationError, Seat};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};
use whattheshell::{Client, Error, Finish, MatchHandle, Player, Update, VerifiedTurn, prost_types, v1};

use crate::{board, seating, words};

const HELP: &str = "\
  E5       seal a move for the open turn: a column A to I, then a row 1 to 9; it is final
  board    show the board again
  draw     offer a draw; the offer is gone when the turn resolves
  accept   accept the other one's offer; decline declines it
  resign   give up
  quit     leave; the match and its clock go on
  help     this";

/// Options of `wts play`.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("way").required(true).args(["invite", "accept", "game"]))]
pub(crate) struct Arguments {
    /// The server, http://HOST:PORT
    #[arg(long, env = "WTS_SERVER", default_value = "http://127.0.0.1:7654")]
    server: String,

    /// Who to play as; a server in development mode gives a token for everyone
    #[arg(long = "as", value_name = "PLAYER")]
    player: Option<String>,

    /// Your player token
    #[arg(long, env = "WTS_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Invite a player; without a name, whoever gets the invite's code
    #[arg(long, value_name = "PLAYER", num_args = 0..=1, default_missing_value = "")]
    invite: Option<String>,

    /// Accept an invite, by the code that the inviter was shown
    #[arg(long, value_name = "INVITE")]
    accept: Option<String>,

    /// Go on with a match
    #[arg(long = "match", value_name = "MATCH")]
    game: Option<String>,

    /// Seconds that each turn has, when inviting
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=1_209_600))]
    turn_time_s: u32,

    /// When inviting, play by commit and reveal: the server learns no move before both are bound to theirs
    #[arg(long, requires = "invite")]
    commit_reveal: bool,

    /// Seconds to wait for the invite to be accepted
    #[arg(long, default_value_t = 3_600)]
    wait_s: u64,
}

/// Plays one match.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let played = runtime.block_on(async {
        let client = Client::connect(&arguments.server).await.map_err(seating::explain)?;
        let player =
            seating::session(&client, arguments.token.as_deref(), arguments.player.as_deref()).await?;
        let name = sit(&player, arguments).await?;
        let game = player.join(&name).await.map_err(seating::explain)?;
        Table::new(game)?.play().await
    });
    // A read of the terminal cannot be called back; waiting for it would keep the process.
    runtime.shutdown_background();
    played.map(|()| ExitCode::SUCCESS)
}

/// The match to play, by whichever way was asked for.
async fn sit(player: &Player, arguments: &Arguments) -> anyhow::Result<String> {
    if let Some(name) = &arguments.game {
        return Ok(name.clone());
    }
    if let Some(code) = &arguments.accept {
        return seating::accept(player, code).await;
    }
    let invitee = arguments.invite.as_deref().filter(|name| !name.is_empty());
    let invitee = invitee.map(seating::player_name).transpose()?;
    let made = seating::invite(player, invitee.clone(), settings(arguments), v1::Seat::Unspecified).await?;
    let who = match &invitee {
        Some(name) => format!("--as {}", name.trim_start_matches("players/")),
        None => "--as NAME".to_owned(),
    };
    say(&format!(
        "invited; the other one accepts with\n  wts play --server {} {who} --accept {}",
        arguments.server, made.code
    ))?;
    seating::accepted(player, &made.name, Duration::from_secs(arguments.wait_s)).await
}

fn settings(arguments: &Arguments) -> v1::MatchSettings {
    let turn_time = prost_types::Duration { seconds: arguments.turn_time_s.into(), nanos: 0 };
    v1::MatchSettings {
        time_control: Some(v1::match_settings::TimeControl::TurnTime(turn_time)),
        seal_mode: seating::seal_mode(arguments.commit_reveal).into(),
        ..v1::MatchSettings::default()
    }
}

/// A match and the person who plays it.
struct Table {
    game: MatchHandle,
    seat: Seat,
    /// The turn that waits for a move.
    due: Option<u32>,
    last_cells: Vec<Cell>,
    /// What goes on, as it was last told.
    status: v1::MatchStatus,
    /// Whether he knows that leaving now loses.
    is_warned: bool,
}

/// What a line of the person comes to.
enum Next {
    Go,
    Leave,
}

impl Table {
    fn new(game: MatchHandle) -> anyhow::Result<Self> {
        let seat = game.seat().context("you have no seat in this match")?;
        let status = v1::MatchStatus::default();
        Ok(Self { game, seat, due: None, last_cells: Vec::new(), status, is_warned: false })
    }

    async fn play(mut self) -> anyhow::Result<()> {
        let opponent = self.game.player_in(self.seat.opponent());
        say(&format!("{}: you play {} against {opponent}; `help` helps", self.game.name(), self.seat))?;
        let mut updates = self.game.watch();
        let mut input = BufReader::new(tokio::io::stdin()).lines();
        let mut is_typing = true;
        loop {
            tokio::select! {
                update = updates.next() => match update.context("the stream ended before the match")? {
                    Ok(Update::Finished(finish)) => return self.finish(&finish).await,
                    Ok(update) => self.update(update)?,
                    Err(error) => return Err(self.lost(error)),
                },
                line = next_line(&mut input), if is_typing => match line? {
                    None => is_typing = false,
                    Some(line) => if let Next::Leave = self.line(line.trim()).await? {
                        return self.leave();
                    },
                },
            }
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
        self.last_cells = vec![turn.cells.black, turn.cells.white];
        say(&format!("turn {}", turn.turn))?;
        for line in words::turn(turn) {
            say(&format!("  - {line}"))?;
        }
        Ok(())
    }

    fn status(&mut self, status: v1::MatchStatus) -> anyhow::Result<()> {
        if status.state() == v1::MatchState::Waiting {
            say("waiting for the other player")?;
        }
        if self.game.is_due(&status) && self.due != Some(status.turn) {
            self.due = Some(status.turn);
            self.show_board()?;
            self.prompt()?;
        }
        let news = words::news(&self.game, &self.status, &status);
        if !news.is_empty() && self.due.is_some() {
            // The prompt still waits on its line.
            say("")?;
        }
        for line in &news {
            say(line)?;
        }
        self.status = status;
        if news.is_empty() { Ok(()) } else { self.prompt() }
    }

    fn show_board(&self) -> anyhow::Result<()> {
        say(&board::draw(&self.game.position(), &self.last_cells))
    }

    fn prompt(&self) -> anyhow::Result<()> {
        let Some(turn) = self.due else { return Ok(()) };
        let mut out = std::io::stdout().lock();
        write!(out, "turn {turn}, {}'s cell> ", self.seat)?;
        Ok(out.flush()?)
    }

    async fn line(&mut self, line: &str) -> anyhow::Result<Next> {
        match line.to_ascii_lowercase().as_str() {
            "" => {}
            "help" | "?" => say(HELP)?,
            "board" => self.show_board()?,
            "quit" | "exit" if self.is_warned || !self.game.is_to_reveal(&self.status) => {
                return Ok(Next::Leave);
            }
            "quit" | "exit" => {
                self.is_warned = true;
                say(
                    "only this program can reveal the move that you sealed; if you leave before, you lose.\n\
                     `quit` again leaves all the same",
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
            Err(NotationError::OffBoard) => return say("that cell is off the board, which is A1 to I9"),
            Err(NotationError::Malformed) => return say("that is no cell: type one like E5, or `help`"),
        };
        let Some(turn) = self.due else { return say("there is nothing to seal now: wait for the turn") };
        if !self.game.position().is_empty(cell) {
            return say(&format!("{cell} is occupied; choose an empty cell"));
        }
        match self.game.seal(turn, cell).await {
            Ok(_) => {
                self.due = None;
                say(&format!("sealed {cell}; the other player sees it when the turn resolves"))
            }
            Err(error) if error.is_uncertain() => {
                say(&format!("{error}\nit may have gone in; type {cell} again to make sure"))
            }
            Err(Error::Api(error)) => say(&format!("refused: {error}")),
            Err(error) => Err(seating::explain(error)),
        }
    }

    async fn offer_draw(&self) -> anyhow::Result<()> {
        match self.game.offer_draw(self.status.turn).await {
            Ok(_) => say("a draw is offered, until the turn resolves"),
            Err(Error::Api(error)) => say(&format!("refused: {error}")),
            Err(error) => Err(seating::explain(error)),
        }
    }

    async fn answer_draw(&self, accept: bool) -> anyhow::Result<()> {
        match self.game.answer_draw(self.status.turn, accept).await {
            // The stream tells the end.
            Ok(_) if accept => Ok(()),
            Ok(_) => say("the draw is declined"),
            Err(Error::Api(error)) => say(&format!("refused: {error}")),
            Err(error) => Err(seating::explain(error)),
        }
    }

    /// Says how it ended and whether everything about it holds.
    async fn finish(&self, finish: &Finish) -> anyhow::Result<()> {
        if self.due.is_some() {
            // The prompt still waits on its line.
            say("")?;
        }
        self.show_board()?;
        let won = finish.ending.as_ref().and_then(|ending| ending.result.winner());
        let you = match won {
            Some(winner) if winner == self.seat => "you win; ",
            Some(_) => "you lose; ",
            None => "",
        };
        say(&format!("{you}{}", words::finish(finish)))?;
        let transcript = self.game.transcript().await.map_err(seating::explain)?;
        let verified = transcript.verify().context("the transcript does not hold")?;
        say(&format!("the transcript is verified, {} turns", verified.turns.len()))
    }

    fn leave(&self) -> anyhow::Result<()> {
        say(&format!("the match goes on; come back with --match {}", self.game.name()))
    }

    fn lost(&self, error: Error) -> anyhow::Error {
        let back = format!("the match was lost sight of; come back with --match {}", self.game.name());
        seating::explain(error).context(back)
    }
}

async fn next_line(input: &mut Lines<BufReader<Stdin>>) -> anyhow::Result<Option<String>> {
    match input.next_line().await {
        Ok(line) => Ok(line),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => bail!("the input is no text"),
        Err(error) => Err(error.into()),
    }
}

fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
