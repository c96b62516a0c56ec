//! Two players who play one match after the other, whatever becomes of the server.

use std::sync::Arc;

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::watch;
use tokio::time::sleep;
use whattheshell::prost_types::Duration;
use whattheshell::rules::Cell;
use whattheshell::{Client, Error, MatchHandle, Player, v1};

use crate::account::Account;

/// The pause before a player looks again, or tries again.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(4);

/// Time for a turn: longer than any outage here, so that nobody loses by the clock.
const TURN_TIME: Duration = Duration { seconds: 600, nanos: 0 };

/// Two players.
pub(crate) struct Pair {
    players: [Player; 2],
    random: StdRng,
    account: Arc<Account>,
    /// The match they are in.
    game: Option<[MatchHandle; 2]>,
}

impl Pair {
    pub(crate) async fn meet(
        client: &Client,
        number: usize,
        seed: u64,
        account: Arc<Account>,
    ) -> anyhow::Result<Self> {
        let mut players = Vec::new();
        for side in ["black", "white"] {
            let minted = client.mint_token(&format!("players/{side}-{number}")).await?;
            players.push(client.player(&minted.token)?);
        }
        let players = <[Player; 2]>::try_from(players).ok().context("two players")?;
        Ok(Self { players, random: StdRng::seed_from_u64(seed), account, game: None })
    }

    /// Plays until it is told to stop.
    pub(crate) async fn play(mut self, stopping: watch::Receiver<bool>) -> Self {
        while !*stopping.borrow() {
            // A failed call tells nothing: the server is away, and what was asked may have been done.
            if self.step(&stopping).await.is_err() {
                sleep(PAUSE).await;
            }
        }
        self
    }

    async fn step(&mut self, stopping: &watch::Receiver<bool>) -> Result<(), Error> {
        let game = match self.game.take() {
            Some(game) => game,
            None => self.begin(stopping).await?,
        };
        let mut random = [self.random.random(), self.random.random()].map(StdRng::seed_from_u64);
        let [black, white] = &mut random;
        let (one, other) = tokio::join!(
            play_to_end(&game[0], black, &self.account, stopping),
            play_to_end(&game[1], white, &self.account, stopping),
        );
        if !(one && other) {
            self.game = Some(game);
        }
        Ok(())
    }

    /// A new match, by an invite.
    async fn begin(&mut self, stopping: &watch::Receiver<bool>) -> Result<[MatchHandle; 2], Error> {
        let [black, white] = &self.players;
        let turn_time = v1::match_settings::TimeControl::TurnTime(TURN_TIME);
        let request = v1::CreateInviteRequest {
            invitee: white.name().to_owned(),
            inviter_seat: v1::Seat::Black.into(),
            settings: Some(v1::MatchSettings {
                time_control: Some(turn_time),
                ..v1::MatchSettings::default()
            }),
            ..v1::CreateInviteRequest::default()
        };
        let invite = black.invite(request).await?.invite.unwrap_or_default().name;
        let name = until(stopping, async || white.accept_invite(&invite, None).await).await?.r#match;
        self.account.made(&name, &self.players);
        // The answer of a repetition may not differ.
        if until(stopping, async || white.accept_invite(&invite, None).await).await?.r#match != name {
            self.account.twice();
        }
        let black = until(stopping, async || black.join(&name).await).await?;
        let white = until(stopping, async || white.join(&name).await).await?;
        Ok([black, white])
    }

    /// Brings the match they are in one turn on, or to its end, on a server that stays.
    pub(crate) async fn go_on(mut self) -> Result<(), Error> {
        let Some(game) = self.game else { return Ok(()) };
        let before = game[0].refresh().await?.turn;
        loop {
            for handle in &game {
                let seen = handle.refresh().await?;
                self.account.seen(&seen);
                if seen.finish.is_some() || seen.turn > before {
                    return Ok(());
                }
                if let Some(cell) = due(handle, &seen, &mut self.random) {
                    self.account.sealed(&handle.seal(seen.turn + 1, cell).await?);
                }
            }
            sleep(PAUSE).await;
        }
    }
}

/// Repeats a call that is safe to repeat until it is answered.
async fn until<T>(
    stopping: &watch::Receiver<bool>,
    call: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    loop {
        match call().await {
            Err(error) if error.is_uncertain() && !*stopping.borrow() => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

/// One seat of a match. True once the match has ended.
async fn play_to_end(
    handle: &MatchHandle,
    random: &mut StdRng,
    account: &Account,
    stopping: &watch::Receiver<bool>,
) -> bool {
    // A move whose answer was lost: the same one is sent again.
    let mut unanswered = None;
    while !*stopping.borrow() {
        let Ok(game) = handle.refresh().await else {
            sleep(PAUSE).await;
            continue;
        };
        account.seen(&game);
        if game.finish.is_some() {
            return true;
        }
        let turn = game.turn + 1;
        let again = unanswered.take().filter(|(unanswered, _)| *unanswered == turn).map(|(_, cell)| cell);
        let Some(cell) = again.or_else(|| due(handle, &game, random)) else {
            sleep(PAUSE).await;
            continue;
        };
        match handle.seal(turn, cell).await {
            Ok(receipt) => account.sealed(&receipt),
            Err(error) if error.is_uncertain() => unanswered = Some((turn, cell)),
            Err(_) => {}
        }
    }
    false
}

/// A move, if it is the seat's turn to make one.
fn due(handle: &MatchHandle, game: &v1::Match, random: &mut StdRng) -> Option<Cell> {
    let status = game.status.as_ref().filter(|status| handle.is_due(status))?;
    debug_assert_eq!(status.turn, game.turn + 1);
    handle.position().legal_cells().choose(random)
}
