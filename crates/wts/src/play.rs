//! `wts play`: a person plays in a terminal.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use rules::Seat;
use serde_json::json;
use whattheshell::{Client, MatchHandle, Player, prost_types, v1};

use crate::lines::Lines;
use crate::openings::{self, Openings};
use crate::table::Table;
use crate::{live, seating, terminal};

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

    /// When inviting, let everyone watch who has a token
    #[arg(long, requires = "invite")]
    spectators: bool,

    /// When inviting, play by commit and reveal: the server learns no move before both are bound to theirs
    #[arg(long, requires = "invite")]
    commit_reveal: bool,

    /// Seconds to wait for the invite to be accepted
    #[arg(long, default_value_t = 3_600)]
    wait_s: u64,

    /// Where moves that are to be revealed later are kept; else in XDG_STATE_HOME or ~/.local/state
    #[arg(long, env = "WTS_STATE", value_name = "DIRECTORY")]
    state: Option<PathBuf>,

    /// Line by line, as without a terminal, instead of on a screen
    #[arg(long)]
    plain: bool,

    /// Line by line, one JSON object a line; moves are still typed
    #[arg(long)]
    json: bool,
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
        // A person seals seldom enough for a signature each time, from a server that makes any.
        let info = client.server_info().await.map_err(seating::explain)?;
        let game = game.with_signed_receipts(!info.public_keys.is_empty());
        let seat = game.seat().context("you have no seat in this match")?;
        let openings = openings(&game, seat, arguments).await?;
        if arguments.plain || arguments.json || !terminal::is_there() {
            return Table::new(game, seat, openings, Lines { json: arguments.json }).play().await;
        }
        let back = format!("come back with --match {name}");
        let left = live::play(&client, &game, seat, openings).await;
        let left = left.with_context(|| format!("the match was lost sight of; {back}"))?;
        let lines = Lines { json: false };
        match left.verdict {
            Some((verdict, checked)) => lines.note(&format!("{name}: {verdict}\n{checked}"))?,
            None => lines.note(&format!("the match goes on; {back}"))?,
        }
        Ok(())
    });
    // A read of the terminal cannot be called back; waiting for it would keep the process.
    runtime.shutdown_background();
    played.map(|()| ExitCode::SUCCESS)
}

/// Where the player's moves are kept, in a match in which he has to reveal them.
async fn openings(game: &MatchHandle, seat: Seat, arguments: &Arguments) -> anyhow::Result<Option<Openings>> {
    let settings = game.refresh().await.map_err(seating::explain)?.settings.unwrap_or_default();
    if settings.seal_mode() != v1::SealMode::CommitReveal {
        return Ok(None);
    }
    let directory = openings::state_directory(arguments.state.as_deref())?;
    Openings::of(&directory, game.name(), seat).map(Some)
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
    Lines { json: arguments.json }.show(
        &format!(
            "invited; the other one accepts with\n  wts play --server {} {who} --accept {}",
            arguments.server, made.code
        ),
        json!({ "event": "invited", "invite": made.name, "code": made.code }),
    )?;
    seating::accepted(player, &made.name, Duration::from_secs(arguments.wait_s)).await
}

fn settings(arguments: &Arguments) -> v1::MatchSettings {
    let turn_time = prost_types::Duration { seconds: arguments.turn_time_s.into(), nanos: 0 };
    v1::MatchSettings {
        time_control: Some(v1::match_settings::TimeControl::TurnTime(turn_time)),
        spectators: if arguments.spectators { v1::Spectators::Live } else { v1::Spectators::None }.into(),
        seal_mode: seating::seal_mode(arguments.commit_reveal).into(),
        ..v1::MatchSettings::default()
    }
}
