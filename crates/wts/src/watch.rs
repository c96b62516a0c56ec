//! `wts watch MATCH`: a match as it happens.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use futures::StreamExt as _;
use rules::{PerSeat, Seat};
use whattheshell::{Client, Player, Update, v1};

use crate::dial::Dial;
use crate::lines::Lines;
use crate::server_clock::ServerClock;
use crate::view::View;
use crate::{live, seating, terminal};

/// Options of `wts watch`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The match, matches/ID
    #[arg(value_name = "MATCH")]
    game: String,

    /// The server, http://HOST:PORT or https://HOST:PORT
    #[arg(long, env = "WTS_SERVER", default_value = "http://127.0.0.1:7654")]
    server: String,

    #[command(flatten)]
    dial: Dial,

    /// Who watches; a server in development mode gives a token for everyone
    #[arg(long = "as", value_name = "PLAYER")]
    player: Option<String>,

    /// Your player token
    #[arg(long, env = "WTS_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Line by line, as without a terminal, instead of on a screen
    #[arg(long)]
    plain: bool,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Watches until the match is over or the spectator leaves. Every turn is verified before it is shown.
///
/// # Errors
/// The match is not to be seen, or is lost sight of.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let watched = runtime.block_on(async {
        let client = arguments.dial.connect(&arguments.server).await?;
        let player =
            seating::session(&client, arguments.token.as_deref(), arguments.player.as_deref()).await?;
        let lines = Lines { json: arguments.json };
        if arguments.plain || arguments.json || !terminal::is_there() {
            return by_lines(lines, &client, &player, &arguments.game).await;
        }
        let left = live::watch(&client, &player, &arguments.game).await?;
        if let Some(verdict) = left.verdict {
            lines.note(&format!("{}: {verdict}", arguments.game))?;
        }
        Ok(())
    });
    // A read of the terminal cannot be called back; waiting for it would keep the process.
    runtime.shutdown_background();
    watched.map(|()| ExitCode::SUCCESS)
}

async fn by_lines(lines: Lines, client: &Client, player: &Player, name: &str) -> anyhow::Result<()> {
    let mut updates = player.watch(name);
    let clock = ServerClock::of(client).await.map_err(seating::explain)?;
    let (mut players, mut last) = (PerSeat::default(), Vec::new());
    while let Some(update) = updates.next().await {
        match update.map_err(seating::explain)? {
            Update::Snapshot(snapshot) => {
                let player = |seat: &Option<v1::MatchSeat>| seat.clone().unwrap_or_default().player;
                players = PerSeat { black: player(&snapshot.black), white: player(&snapshot.white) };
                lines.begin(&snapshot.name, &players, snapshot.settings.as_ref())?;
            }
            Update::Status(status) => {
                let view = View { status: &status, seat: None, sealed: None };
                tell_status(lines, &players, view, clock.now_ms(), &mut last)?;
            }
            Update::Turn(turn) => lines.turn(&turn)?,
            Update::Finished(finish) => {
                lines.finish(&finish)?;
                let transcript = player.transcript(name).await.map_err(seating::explain)?;
                let verified = player.verify_signed(&transcript).await;
                return Ok(lines.verified(&verified.context("the transcript is not verified")?)?);
            }
            _ => {}
        }
    }
    bail!("the stream ended before the match")
}

/// Tells what the players do, whenever that has changed.
fn tell_status(
    lines: Lines,
    players: &PerSeat<String>,
    view: View<'_>,
    now_ms: u64,
    last: &mut Vec<String>,
) -> std::io::Result<()> {
    let deeds = Seat::BOTH.map(|seat| view.seat_words(seat)).to_vec();
    if lines.json || deeds != *last {
        let text = format!("now: {}", view.lines(players, now_ms).join("; "));
        lines.show(&text, view.object())?;
    }
    *last = deeds;
    Ok(())
}
