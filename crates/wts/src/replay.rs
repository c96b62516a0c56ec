//! `wts replay FILE|MATCH`: a match turn by turn, once its transcript is verified.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use crossterm::event::{Event as TerminalEvent, EventStream};
use futures::StreamExt as _;
use rules::PerSeat;
use whattheshell::{Collection, Transcript, Update, VerifiedMatch, v1};

use crate::dial::Dial;
use crate::lines::Lines;
use crate::screen::{Event, Intent, Palette, Screen, Viewer};
use crate::terminal::{self, Terminal, Told};
use crate::{seating, verify};

/// Options of `wts replay`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A file with a transcript, as `wts verify` takes it, or a match on a server, matches/ID
    #[arg(value_name = "FILE|MATCH")]
    what: String,

    /// The server of the match, http://HOST:PORT or https://HOST:PORT
    #[arg(long, env = "WTS_SERVER", default_value = "http://127.0.0.1:7654")]
    server: String,

    #[command(flatten)]
    dial: Dial,

    /// Who asks for the match; a server in development mode gives a token for everyone
    #[arg(long = "as", value_name = "PLAYER")]
    player: Option<String>,

    /// Your player token
    #[arg(long, env = "WTS_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Keep the transcript of the match in this file
    #[arg(long, value_name = "FILE")]
    save: Option<std::path::PathBuf>,

    /// All turns one after the other, as without a terminal, instead of on a screen
    #[arg(long)]
    plain: bool,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Replays. Nothing is shown of a transcript that does not hold.
///
/// # Errors
/// There is no such transcript, or it does not hold.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (transcript, verified) = match Collection::Matches.id(&arguments.what) {
        Ok(_) => fetch(arguments)?,
        Err(_) => {
            let transcript = verify::read(Path::new(&arguments.what))?;
            let verified = transcript.verify().context("the transcript does not hold")?;
            (transcript, verified)
        }
    };
    if let Some(path) = &arguments.save {
        std::fs::write(path, transcript.to_bytes())
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    if arguments.plain || arguments.json || !terminal::is_there() {
        by_lines(Lines { json: arguments.json }, transcript.message(), &verified)?;
    } else {
        on_screen(transcript.message(), verified)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A match from a server; once it is over, also with the server's signature.
fn fetch(arguments: &Arguments) -> anyhow::Result<(Transcript, VerifiedMatch)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = arguments.dial.connect(&arguments.server).await?;
        let player =
            seating::session(&client, arguments.token.as_deref(), arguments.player.as_deref()).await?;
        let transcript = player.transcript(&arguments.what).await.map_err(seating::explain)?;
        let verified = match transcript.message().finish {
            Some(_) => player.verify_signed(&transcript).await,
            None => transcript.verify(),
        };
        let verified = verified.context("the transcript is not verified")?;
        Ok((transcript, verified))
    })
}

fn players(message: &v1::Transcript) -> PerSeat<String> {
    let player = |seat: &Option<v1::MatchSeat>| seat.clone().unwrap_or_default().player;
    PerSeat { black: player(&message.black), white: player(&message.white) }
}

fn by_lines(lines: Lines, message: &v1::Transcript, verified: &VerifiedMatch) -> std::io::Result<()> {
    lines.begin(&verified.name, &players(message), message.settings.as_ref())?;
    for turn in &verified.turns {
        lines.turn(turn)?;
    }
    if let Some(finish) = &verified.finish {
        lines.finish(finish)?;
    }
    lines.verified(verified)
}

/// The screen of a match that is verified, before its first turn.
fn screen(message: &v1::Transcript, verified: VerifiedMatch, palette: Palette) -> Screen {
    let mut screen = Screen::new(Viewer::Reader, &verified.name, palette);
    screen.introduce(players(message), message.settings.as_ref());
    for turn in verified.turns {
        screen.update(Event::Update(Box::new(Update::Turn(turn))));
    }
    if let Some(finish) = verified.finish {
        screen.update(Event::Update(Box::new(Update::Finished(finish))));
    }
    screen.rewind();
    screen
}

fn on_screen(message: &v1::Transcript, verified: VerifiedMatch) -> anyhow::Result<()> {
    let mut screen = screen(message, verified, Palette::of_environment());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut told = Told::listen()?;
        let mut terminal =
            Terminal::take().context("the terminal cannot be drawn on; --plain does without")?;
        let mut keys = EventStream::new();
        loop {
            // Nothing of a replay depends on the time.
            terminal.draw(|frame| screen.draw(frame, 0))?;
            let event = tokio::select! {
                event = keys.next() => event.context("the terminal is gone")??,
                () = told.wait() => return Ok(()),
            };
            if let TerminalEvent::Key(key) = event
                && let Some(Intent::Leave) = screen.update(Event::Key(key))
            {
                return Ok(());
            }
        }
    })
}
