//! `wts watch MATCH`: a match as it happens.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use futures::StreamExt as _;
use serde_json::json;
use whattheshell::{Client, Player, Update, v1};

use crate::lines::Lines;
use crate::{live, seating, terminal, words};

/// Options of `wts watch`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The match, matches/ID
    #[arg(value_name = "MATCH")]
    game: String,

    /// The server, http://HOST:PORT
    #[arg(long, env = "WTS_SERVER", default_value = "http://127.0.0.1:7654")]
    server: String,

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
        let client = Client::connect(&arguments.server).await.map_err(seating::explain)?;
        let player =
            seating::session(&client, arguments.token.as_deref(), arguments.player.as_deref()).await?;
        let lines = Lines { json: arguments.json };
        if arguments.plain || arguments.json || !terminal::is_there() {
            return by_lines(lines, &player, &arguments.game).await;
        }
        let left = live::watch(&client, &player, &arguments.game).await?;
        if let Some((verdict, checked)) = left.verdict {
            lines.note(&format!("{}: {verdict}\n{checked}", arguments.game))?;
        }
        Ok(())
    });
    // A read of the terminal cannot be called back; waiting for it would keep the process.
    runtime.shutdown_background();
    watched.map(|()| ExitCode::SUCCESS)
}

async fn by_lines(lines: Lines, player: &Player, name: &str) -> anyhow::Result<()> {
    let mut updates = player.watch(name);
    while let Some(update) = updates.next().await {
        match update.map_err(seating::explain)? {
            Update::Snapshot(snapshot) => begin(lines, &snapshot)?,
            Update::Turn(turn) => lines.turn(&turn)?,
            Update::Finished(finish) => {
                lines.finish(&finish)?;
                let transcript = player.transcript(name).await.map_err(seating::explain)?;
                return Ok(lines.verified(&transcript.verify().context("the transcript does not hold")?)?);
            }
            _ => {}
        }
    }
    bail!("the stream ended before the match")
}

fn begin(lines: Lines, snapshot: &v1::MatchSnapshot) -> std::io::Result<()> {
    let player = |seat: &Option<v1::MatchSeat>| seat.clone().unwrap_or_default().player;
    let (black, white) = (player(&snapshot.black), player(&snapshot.white));
    let terms = snapshot.settings.as_ref().map(words::terms).unwrap_or_default();
    lines.show(
        &format!("{}: {black} (B) against {white} (W); {terms}\n", snapshot.name),
        json!({ "event": "begin", "match": snapshot.name, "black": black, "white": white }),
    )
}
