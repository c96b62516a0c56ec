//! `wts play`: a person plays in a terminal.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use rules::Seat;
use serde_json::json;
use whattheshell::{Client, MatchHandle, Player, v1};

use crate::lines::Lines;
use crate::openings::{self, Openings};
use crate::person::Person;
use crate::server_clock::ServerClock;
use crate::table::Table;
use crate::terms::Terms;
use crate::{live, lobby, rematch, seating, terminal};

/// Options of `wts play`. Without `--invite`, `--accept`, `--rematch` or `--match` it lists what waits.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("way").args(["invite", "accept", "rematch", "game"]))]
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

    /// Offer a rematch of a finished match, or accept the one that is offered
    #[arg(long, value_name = "MATCH")]
    rematch: Option<String>,

    /// Go on with a match
    #[arg(long = "match", value_name = "MATCH")]
    game: Option<String>,

    /// Seconds to wait for the invite to be accepted; then it is taken back
    #[arg(long, default_value_t = 3_600, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=604_800))]
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

    #[command(flatten)]
    terms: Terms,
}

/// Plays a match, and its rematches.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let played = runtime.block_on(async {
        let client = Client::connect(&arguments.server).await.map_err(seating::explain)?;
        let player =
            seating::session(&client, arguments.token.as_deref(), arguments.player.as_deref()).await?;
        let mut person = Person::listen()?;
        let mut next = sit(&player, &mut person, arguments).await?;
        while let Some(name) = next {
            next = play(&client, &player, &mut person, &name, arguments).await?;
        }
        Ok(())
    });
    // A read of the terminal cannot be called back; waiting for it would keep the process.
    runtime.shutdown_background();
    played.map(|()| ExitCode::SUCCESS)
}

/// Plays one match; the name of its rematch, if there is one.
async fn play(
    client: &Client,
    player: &Player,
    person: &mut Person,
    name: &str,
    arguments: &Arguments,
) -> anyhow::Result<Option<String>> {
    let game = player.join(name).await.map_err(seating::explain)?;
    let seat = game.seat().context("you have no seat in this match")?;
    let openings = openings(&game, seat, arguments).await?;
    if arguments.plain || arguments.json || !terminal::is_there() {
        let clock = ServerClock::of(client).await.map_err(seating::explain)?;
        let table = Table::new(game, seat, openings, Lines { json: arguments.json }, clock);
        return table.play(person).await.map(|()| None);
    }
    let back = format!("come back with --match {name}");
    let left = live::play(client, player, &game, seat, openings, person.told()).await;
    let left = left.with_context(|| format!("the match was lost sight of; {back}"))?;
    let lines = Lines { json: false };
    match left.verdict {
        Some((verdict, checked)) => lines.note(&format!("{name}: {verdict}\n{checked}"))?,
        None => lines.note(&format!("the match goes on; {back}"))?,
    }
    Ok(left.rematch)
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

/// The match to play, by whichever way was asked for. None: the player has left.
async fn sit(player: &Player, person: &mut Person, arguments: &Arguments) -> anyhow::Result<Option<String>> {
    let lines = Lines { json: arguments.json };
    let patience = Duration::from_secs(arguments.wait_s);
    if let Some(name) = &arguments.game {
        return Ok(Some(name.clone()));
    }
    if let Some(code) = &arguments.accept {
        return seating::accept(player, code).await.map(Some);
    }
    if let Some(finished) = &arguments.rematch {
        return rematch::agree(player, finished, patience, person, lines).await.map(Some);
    }
    let Some(invitee) = &arguments.invite else { return lobby::choose(player, person, lines).await };
    let invitee = if invitee.is_empty() { String::new() } else { seating::player_name(invitee)? };
    let request = v1::CreateInviteRequest {
        invitee: invitee.clone(),
        settings: Some(arguments.terms.settings()),
        inviter_seat: arguments.terms.seat().into(),
        ttl: Some(seating::ttl(patience)),
        ..v1::CreateInviteRequest::default()
    };
    let made = seating::invite(player, request).await?;
    let who = match invitee.trim_start_matches("players/") {
        "" => "NAME",
        name => name,
    };
    lines.show(
        &format!(
            "invited; the other one accepts with\n  wts play --server {} --as {who} --accept {}",
            arguments.server, made.code
        ),
        json!({ "event": "invited", "invite": made.name, "code": made.code }),
    )?;
    seating::accepted(player, &made.name, patience, person.told()).await.map(Some)
}
