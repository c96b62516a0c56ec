//! `wts demo-player`: one player of the demo, in a process of his own.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use futures::StreamExt as _;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use whattheshell::{Client, MatchHandle, Update, v1};

use crate::terminal::Told;
use crate::{instinct, seating};

/// How long the other player may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the line begins with by which the invite's code is told.
pub(crate) const INVITE_LINE: &str = "invite ";

/// What the line begins with by which the match is told.
pub(crate) const MATCH_LINE: &str = "match ";

/// Options of `wts demo-player`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The server, http://HOST:PORT
    #[arg(long)]
    server: String,

    /// Who to play as
    #[arg(long = "as")]
    player: String,

    /// Whom to invite; the inviter plays black
    #[arg(long, conflicts_with = "accept", required_unless_present = "accept")]
    invite: Option<String>,

    /// The invite to accept
    #[arg(long)]
    accept: Option<String>,

    /// Invite to a match by commit and reveal
    #[arg(long, requires = "invite")]
    commit_reveal: bool,

    /// What the choices are drawn from
    #[arg(long)]
    seed: u64,
}

/// Plays one match to its end.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::connect(&arguments.server).await.map_err(seating::explain)?;
        let player = seating::session(&client, None, Some(&arguments.player)).await?;
        let name = match (&arguments.invite, &arguments.accept) {
            (Some(invitee), _) => {
                let invitee = seating::player_name(invitee)?;
                let request = v1::CreateInviteRequest {
                    invitee,
                    settings: Some(settings(arguments)),
                    inviter_seat: v1::Seat::Black.into(),
                    ..v1::CreateInviteRequest::default()
                };
                let made = seating::invite(&player, request).await?;
                tell(INVITE_LINE, &made.code)?;
                seating::accepted(&player, &made.name, PATIENCE, &mut Told::listen()?).await?
            }
            (None, Some(code)) => seating::accept(&player, code).await?,
            (None, None) => bail!("--invite or --accept is needed"),
        };
        tell(MATCH_LINE, &name)?;
        let game = player.join(&name).await.map_err(seating::explain)?;
        play(&game, StdRng::seed_from_u64(arguments.seed)).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Everyone may watch, so that the demo can.
fn settings(arguments: &Arguments) -> v1::MatchSettings {
    v1::MatchSettings {
        seal_mode: seating::seal_mode(arguments.commit_reveal).into(),
        spectators: v1::Spectators::Live.into(),
        ..v1::MatchSettings::default()
    }
}

async fn play(game: &MatchHandle, mut random: StdRng) -> anyhow::Result<()> {
    let seat = game.seat().context("the player has no seat")?;
    let mut updates = game.watch();
    while let Some(update) = updates.next().await {
        match update.map_err(seating::explain)? {
            Update::Status(status) if game.is_due(&status) => {
                let cell = instinct::choose(&game.position(), seat, &mut random);
                let cell = cell.context("a turn is open and no cell is free")?;
                game.seal(status.turn, cell).await.map_err(seating::explain)?;
            }
            Update::Finished(_) => return Ok(()),
            _ => {}
        }
    }
    bail!("the stream ended before the match")
}

/// A line for the demo.
fn tell(what: &str, value: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what}{value}")?;
    out.flush()
}
