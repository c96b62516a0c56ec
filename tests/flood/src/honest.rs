//! Honest players, with the Rust client: each match a turn every few seconds, every call and turn accounted for.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use tokio::time::{sleep, sleep_until, timeout};
use whattheshell::rules::{Cell, PerSeat};
use whattheshell::{Client, MatchHandle, MatchStream, Player, Update, v1};

/// From one turn of a match to the next, as people play who are quick.
const PACE: Duration = Duration::from_secs(4);

/// How long a turn may take to come once both have sealed; longer counts as lost.
const TURN_MAX: Duration = Duration::from_secs(15);

/// What happened to honest players in one phase.
#[derive(Default)]
pub(crate) struct Account {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    latencies: Vec<Duration>,
    failures: Vec<String>,
}

/// A phase, summed up.
pub(crate) struct Sum {
    pub(crate) calls: usize,
    pub(crate) failures: Vec<String>,
    pub(crate) p99: Duration,
}

impl Account {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what happened since the last time.
    pub(crate) fn take(&self) -> Sum {
        let State { mut latencies, failures } = std::mem::take(&mut *self.state());
        latencies.sort_unstable();
        let p99 = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default();
        Sum { calls: latencies.len(), failures, p99 }
    }

    fn failed(&self, what: String) {
        self.state().failures.push(what);
    }
}

/// One match, with the streams of both players.
pub(crate) struct Game {
    handles: [MatchHandle; 2],
    streams: [MatchStream; 2],
}

impl Game {
    /// A match of two new players over a connection of their own.
    pub(crate) async fn begin(address: SocketAddr, number: usize) -> anyhow::Result<Self> {
        let client = Client::connect(&format!("http://{address}")).await?;
        let (black, white) =
            (player(&client, "black", number).await?, player(&client, "white", number).await?);
        let request = v1::CreateInviteRequest { invitee: white.name().to_owned(), ..Default::default() };
        let invite = black.invite(request).await?.invite.context("an invite")?;
        let accepted = white.accept_invite(&invite.name, None).await?;
        let handles = [black.join(&accepted.r#match).await?, white.join(&accepted.r#match).await?];
        let streams = [handles[0].watch(), handles[1].watch()];
        Ok(Self { handles, streams })
    }

    /// Plays on until it is dropped.
    pub(crate) async fn play(mut self, cells: Arc<Vec<PerSeat<Cell>>>, account: Arc<Account>) {
        // Matches are spread over the pace, as people are.
        sleep(PACE.mul_f64(rand::random())).await;
        for (turn, cells) in (1..).zip(cells.iter()) {
            let next = tokio::time::Instant::now() + PACE;
            if let Err(error) = self.turn(turn, *cells, &account).await {
                account.failed(format!("turn {turn}: {error:#}"));
                return;
            }
            sleep_until(next).await;
        }
    }

    async fn turn(&mut self, turn: u32, cells: PerSeat<Cell>, account: &Account) -> anyhow::Result<()> {
        let [black, white] = &self.handles;
        let (one, other) = tokio::join!(
            timed(account, black.seal(turn, cells.black)),
            timed(account, white.seal(turn, cells.white))
        );
        one?;
        other?;
        for stream in &mut self.streams {
            timeout(TURN_MAX, resolved(stream, turn)).await.context("a turn does not come")??;
        }
        Ok(())
    }
}

async fn player(client: &Client, side: &str, number: usize) -> anyhow::Result<Player> {
    let token = client.mint_token(&format!("players/{side}-{number}")).await?.token;
    Ok(client.player(&token)?)
}

/// A call, and how long it took with all its tries.
async fn timed<T>(
    account: &Account,
    call: impl Future<Output = Result<T, whattheshell::Error>>,
) -> Result<T, whattheshell::Error> {
    let begun = Instant::now();
    let answer = call.await;
    account.state().latencies.push(begun.elapsed());
    answer
}

/// Reads a stream until it has come to a turn.
async fn resolved(stream: &mut MatchStream, turn: u32) -> anyhow::Result<()> {
    while let Some(update) = stream.next().await {
        match update? {
            Update::Turn(told) if told.turn == turn => return Ok(()),
            Update::Turn(told) if told.turn > turn => bail!("turn {} came before {turn}", told.turn),
            _ => {}
        }
    }
    bail!("the stream ended")
}
