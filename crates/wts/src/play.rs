//! `wts play`: a person plays in a terminal.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use whattheshell::{Client, Player, v1};

use crate::dial::Dial;
use crate::lines::Lines;
use crate::openings::{self, Openings};
use crate::person::Person;
use crate::queue::{Found, Queue, Wish};
use crate::seating::Sitting;
use crate::server_clock::ServerClock;
use crate::table::Table;
use crate::terms::Terms;
use crate::time_text::{ControlText, TimeText};
use crate::{live, lobby, rematch, seating, terminal, time_text, words};

/// Options of `wts play`. Without a way to a match it lists what waits.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("way").args(["invite", "accept", "rematch", "game", "queue"]))]
// Whose settings are made here.
#[command(group = clap::ArgGroup::new("made").args(["invite", "bot"]).multiple(true))]
pub(crate) struct Arguments {
    /// The server, http://HOST:PORT or https://HOST:PORT
    #[arg(long, env = "WTS_SERVER", default_value = "http://127.0.0.1:7654")]
    server: String,

    #[command(flatten)]
    dial: Dial,

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

    /// Look for an opponent in a pool of the server's
    #[arg(long, value_name = "POOL")]
    queue: Option<String>,

    /// The time controls that you accept, the best first: each turn's time, like 30s or 1d, or a clock and what
    /// each turn adds, like 3m+2s. All of the pool's that are played in a sitting if not given
    #[arg(long, value_name = "TIMES", value_delimiter = ',', requires = "queue")]
    time: Vec<ControlText>,

    /// Play a bot: level 0, which plays at random, to 6. With --queue: if nobody is found
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=6))]
    #[arg(conflicts_with_all = ["invite", "accept", "rematch", "game"])]
    bot: Option<u8>,

    /// How long to look for a person before the bot comes: 1s to 10m
    #[arg(long, default_value = "30s", value_name = "TIME", requires = "bot")]
    bot_after: TimeText,

    /// Seconds to wait for the invite to be accepted, or for an opponent; then it is taken back
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
        let client = arguments.dial.connect(&arguments.server).await?;
        let player =
            seating::session(&client, arguments.token.as_deref(), arguments.player.as_deref()).await?;
        let mut person = Person::listen()?;
        let mut next = sit(&client, &player, &mut person, arguments).await?;
        while let Some(way) = next {
            next = play(&client, &player, &mut person, way, arguments).await?;
        }
        Ok(())
    });
    // A read of the terminal cannot be called back; waiting for it would keep the process.
    runtime.shutdown_background();
    played.map(|()| ExitCode::SUCCESS)
}

/// A way to a match that is to be played.
enum Way {
    /// By a ticket, which waits again if the match never begins.
    Queue(Found),
    /// Any other.
    Match(String),
}

/// Plays one match; the way to the next one, if there is one.
async fn play(
    client: &Client,
    player: &Player,
    person: &mut Person,
    way: Way,
    arguments: &Arguments,
) -> anyhow::Result<Option<Way>> {
    let (name, found) = match way {
        Way::Queue(found) => (found.game.clone(), Some(found)),
        Way::Match(name) => (name, None),
    };
    let sitting = sit_down(player, &name, found.is_some(), arguments).await?;
    let never_began = if is_by_lines(arguments) {
        let clock = ServerClock::of(client).await.map_err(seating::explain)?;
        let lines = Lines { json: arguments.json };
        Table::new(player.clone(), sitting, lines, clock).play(person).await?
    } else {
        let back = format!("come back with --match {name}");
        let left = live::play(client, player, sitting, person.told()).await;
        let left = left.with_context(|| format!("the match was lost sight of; {back}"))?;
        let lines = Lines { json: false };
        match &left.verdict {
            Some(verdict) => lines.note(&format!("{name}: {verdict}"))?,
            None => lines.note(&format!("the match goes on; {back}"))?,
        }
        if let Some(rematch) = left.rematch {
            return Ok(Some(Way::Match(rematch)));
        }
        left.never_began
    };
    match found.filter(|_| never_began) {
        Some(found) => {
            let again = queue(client, player, arguments).again(&found, person.told()).await?;
            Ok(again.map(Way::Queue))
        }
        None => Ok(None),
    }
}

/// Whether a match is played line by line.
fn is_by_lines(arguments: &Arguments) -> bool {
    arguments.plain || arguments.json || !terminal::is_there()
}

/// Takes the player's seat.
async fn sit_down(
    player: &Player,
    name: &str,
    by_ticket: bool,
    arguments: &Arguments,
) -> anyhow::Result<Sitting> {
    let game = player.join(name).await.map_err(seating::explain)?;
    let seat = game.seat().context("you have no seat in this match")?;
    let settings = game.refresh().await.map_err(seating::explain)?.settings.unwrap_or_default();
    // His moves are kept where he has to reveal them.
    let openings = if settings.seal_mode() == v1::SealMode::CommitReveal {
        let directory = openings::state_directory(arguments.state.as_deref())?;
        Some(Openings::of(&directory, game.name(), seat)?)
    } else {
        None
    };
    Ok(Sitting { game, seat, openings, bot_level: words::bot_level(&settings), by_ticket })
}

fn queue<'a>(client: &'a Client, player: &'a Player, arguments: &Arguments) -> Queue<'a> {
    let patience = Duration::from_secs(arguments.wait_s);
    Queue {
        client,
        player,
        lines: Lines { json: arguments.json },
        is_live: !is_by_lines(arguments),
        patience,
    }
}

/// The match to play, by whichever way was asked for. None: the player has left.
async fn sit(
    client: &Client,
    player: &Player,
    person: &mut Person,
    arguments: &Arguments,
) -> anyhow::Result<Option<Way>> {
    let lines = Lines { json: arguments.json };
    let patience = Duration::from_secs(arguments.wait_s);
    let game = if let Some(name) = &arguments.game {
        Some(name.clone())
    } else if let Some(code) = &arguments.accept {
        Some(seating::accept(player, code).await?)
    } else if let Some(finished) = &arguments.rematch {
        Some(rematch::agree(player, finished, patience, person, lines).await?)
    } else if let Some(pool) = &arguments.queue {
        let wish = Wish { pool, controls: &arguments.time, bot: bot_fallback(arguments) };
        let found = queue(client, player, arguments).enter(&wish, person.told()).await?;
        return Ok(Some(Way::Queue(found)));
    } else if let Some(level) = arguments.bot {
        Some(meet_bot(player, level, &arguments.terms).await?)
    } else if let Some(invitee) = &arguments.invite {
        Some(invite(player, invitee, person, arguments).await?)
    } else {
        lobby::choose(player, person, lines).await?
    };
    Ok(game.map(Way::Match))
}

/// The bot that comes if nobody is found.
fn bot_fallback(arguments: &Arguments) -> Option<v1::BotFallback> {
    let after = Some(time_text::span(arguments.bot_after.0));
    arguments.bot.map(|level| v1::BotFallback { after, level: bot_level(level).into() })
}

/// A bot's level on the wire, where 0 is none.
fn bot_level(level: u8) -> v1::BotLevel {
    v1::BotLevel::try_from(i32::from(level) + i32::from(v1::BotLevel::BotLevel0)).unwrap_or_default()
}

/// A new match against a bot.
async fn meet_bot(player: &Player, level: u8, terms: &Terms) -> anyhow::Result<String> {
    let request = v1::CreateBotMatchRequest {
        level: bot_level(level).into(),
        settings: Some(terms.settings()),
        seat: terms.seat().into(),
        ..v1::CreateBotMatchRequest::default()
    };
    Ok(player.create_bot_match(request).await.map_err(seating::explain)?.name)
}

/// Invites a player, or whoever has the code; the match, once the invite is accepted.
async fn invite(
    player: &Player,
    invitee: &str,
    person: &mut Person,
    arguments: &Arguments,
) -> anyhow::Result<String> {
    let patience = Duration::from_secs(arguments.wait_s);
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
    Lines { json: arguments.json }.show(
        &format!(
            "invited; the other one accepts with\n  wts play --server {} --as {who} --accept {}",
            arguments.server, made.code
        ),
        json!({ "event": "invited", "invite": made.name, "code": made.code }),
    )?;
    seating::accepted(player, &made.name, patience, person.told()).await
}
