//! How a player comes to sit in a match: a token, and an invite made or accepted.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use futures::StreamExt as _;
use rules::Seat;
use tokio::time::sleep;
use whattheshell::{Client, Collection, MatchHandle, Player, prost_types, v1};

use crate::openings::Openings;
use crate::terminal::Told;
use crate::words;

/// The shortest life that the API gives an invite.
const TTL_MIN: Duration = Duration::from_secs(60);

/// A player in his seat.
pub(crate) struct Sitting {
    /// The match.
    pub(crate) game: MatchHandle,
    /// His seat.
    pub(crate) seat: Seat,
    /// Where his moves are kept, if he has to reveal them.
    pub(crate) openings: Option<Openings>,
    /// The level of the bot he plays, if he does.
    pub(crate) bot_level: Option<i32>,
    /// Whether a ticket brought him here: it waits again if the match never begins.
    pub(crate) by_ticket: bool,
}

/// An error of the client, with what a person can do about it.
pub(crate) fn explain(error: whattheshell::Error) -> anyhow::Error {
    let advice = words::advice(&error);
    let error = anyhow!(error);
    match advice {
        Some(advice) => anyhow!("{error:#}\n  {advice}"),
        None => error,
    }
}

/// `players/ann` for `ann` as well as for itself.
pub(crate) fn player_name(text: &str) -> anyhow::Result<String> {
    let id = text.strip_prefix("players/").unwrap_or(text);
    Collection::Players
        .name(id)
        .map_err(|_| anyhow!("`{text}` is no player's name: 1 to 64 characters of A-Z a-z 0-9 . _ -"))
}

/// A session with this token, or, on a server in development mode, with ones minted for this player: as
/// many as it takes.
pub(crate) async fn session(
    client: &Client,
    token: Option<&str>,
    player: Option<&str>,
) -> anyhow::Result<Player> {
    if let Some(token) = token {
        let session = client.player(token).map_err(explain)?;
        if let Some(player) = player
            && session.name() != player_name(player)?
        {
            bail!("the token is for {}, and not for {player}", session.name());
        }
        return Ok(session);
    }
    let player = player_name(player.context("say who you are: --as NAME, or --token TOKEN")?)?;
    if !client.server_info().await.map_err(explain)?.dev_mode {
        bail!("the server is not in development mode: give your token by --token or WTS_TOKEN");
    }
    let minting = client.clone();
    let source = move || {
        let (minting, player) = (minting.clone(), player.clone());
        async move { minting.mint_token(&player).await.map(|minted| minted.token) }
    };
    client.player_with(source).await.map_err(explain)
}

/// How moves are sealed.
pub(crate) const fn seal_mode(commit_reveal: bool) -> v1::SealMode {
    if commit_reveal { v1::SealMode::CommitReveal } else { v1::SealMode::ServerSealed }
}

/// An invite as its maker has it.
pub(crate) struct Made {
    /// `invites/{invite}`.
    pub(crate) name: String,
    /// What the other one needs to accept: the name, and after a colon the secret if the invite is open.
    pub(crate) code: String,
}

/// Makes an invite.
pub(crate) async fn invite(player: &Player, request: v1::CreateInviteRequest) -> anyhow::Result<Made> {
    let made = player.invite(request).await.map_err(explain)?;
    let name = made.invite.context("the server's answer has no invite")?.name;
    let code =
        if made.join_secret.is_empty() { name.clone() } else { format!("{name}:{}", made.join_secret) };
    Ok(Made { name, code })
}

/// Waits until an invite is accepted, for at most `patience`, or until it is time to leave; the match that
/// came of it. Whoever gives up takes the invite back: nobody is to accept it and sit alone.
pub(crate) async fn accepted(
    player: &Player,
    invite: &str,
    patience: Duration,
    told: &mut Told,
) -> anyhow::Result<String> {
    let why = tokio::select! {
        game = closed(player, invite) => return game,
        () = sleep(patience) => format!("nobody accepted the invite within {} s", patience.as_secs()),
        () = told.wait() => "interrupted".to_owned(),
    };
    match player.revoke_invite(invite).await {
        Ok(_) => bail!("{why}; the invite is taken back"),
        // It was accepted at the last moment.
        Err(error) if error.reason() == Some(v1::ErrorReason::InviteNotOpen) => {
            let invite = player.get_invite(invite, None).await.map_err(explain)?;
            if invite.state() == v1::InviteState::Accepted {
                bail!("{why}; but the invite was just accepted: go on with --match {}", invite.r#match);
            }
            bail!("{why}; the invite is not open any more");
        }
        Err(error) => Err(explain(error).context(format!("{why}; the invite could not be taken back"))),
    }
}

/// Waits until an invite is not open any more; the match that came of it.
async fn closed(player: &Player, invite: &str) -> anyhow::Result<String> {
    let mut states = player.watch_player();
    loop {
        let now = player.get_invite(invite, None).await.map_err(explain)?;
        match now.state() {
            v1::InviteState::Open => {}
            v1::InviteState::Accepted => return Ok(now.r#match),
            v1::InviteState::Declined => bail!("the invite was declined"),
            v1::InviteState::Expired => bail!("nobody accepted the invite in time"),
            _ => bail!("the invite is not open any more"),
        }
        let is_open = |state: &v1::PlayerState| state.invites.iter().any(|open| open.name == invite);
        while is_open(&states.next().await.context("the stream ended")?.map_err(explain)?) {}
    }
}

/// How long an invite can be accepted, for one who waits this long.
pub(crate) fn ttl(patience: Duration) -> prost_types::Duration {
    let patience = patience.max(TTL_MIN).as_secs();
    prost_types::Duration { seconds: i64::try_from(patience).unwrap_or(i64::MAX), nanos: 0 }
}

/// Accepts an invite by its code; the match that comes of it.
pub(crate) async fn accept(player: &Player, code: &str) -> anyhow::Result<String> {
    let (name, secret) = match code.split_once(':') {
        Some((name, secret)) => (name, Some(secret)),
        None => (code, None),
    };
    if Collection::Invites.id(name).is_err() {
        bail!("`{name}` is no invite: it looks like invites/0198c5a0-…, as the inviter was shown");
    }
    Ok(player.accept_invite(name, secret).await.map_err(explain)?.r#match)
}
