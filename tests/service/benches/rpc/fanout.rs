//! What it costs to tell everyone who watches a match.

use anyhow::Context as _;
use futures::future::try_join_all;
use middleware::API_KEY_HEADER;
use rules::PerSeat;

use crate::client::{self, Lane, Messages};
use crate::figure::Figure;
use crate::idle::{SHARED, watch_all};
use crate::lobby::Lobby;
use crate::server::{API_KEY, Role, ServerProcess};
use crate::side::SEAL_MOVE;
use crate::workload::{self, Script};

/// Streams of the one match.
const WATCHERS: usize = 1_000;

/// Turns of a round: long enough for the ticks that CPU time is counted in.
const ROUND_TURNS: usize = 10;

/// Rounds of which the median counts; odd, so that it is one of them.
const ROUNDS: usize = 11;

/// What a watcher is sent in a turn: a seal, the turn, and that the next one is open.
const TURN_MESSAGES: usize = 3;

/// The server's CPU time a watcher and message.
pub(crate) async fn cpu_each() -> anyhow::Result<Vec<Figure>> {
    let server = ServerProcess::start(Role::Volatile).await?;
    let players = PerSeat { black: "players/ann".to_owned(), white: "players/bob".to_owned() };
    let games = workload::games()?;
    let turns = ROUND_TURNS * (ROUNDS + 1);
    let game = games.iter().find(|game| game.len() > turns).context("no game is long enough")?;
    let lobby = Lobby::open(&server.address).await?;
    let name = lobby.matches(std::slice::from_ref(&players)).await?.pop().context("no match")?;
    let script = Script::new(game, &name, &players, false)?.into_turns();

    let mut service = Audience::gather(&server, &name, 2).await?;
    let floor_server = ServerProcess::start(Role::Floor { answer_bytes: MESSAGE_BYTES }).await?;
    let mut floor = Audience::gather(&floor_server, &name, 1).await?;
    let (mut values, mut floors) = (Vec::new(), Vec::new());
    for turns in script.chunks(ROUND_TURNS).take(ROUNDS + 1) {
        let mut messages = 0;
        floors.push(
            floor
                .cpu_us(async |audience| {
                    for _ in 0..ROUND_TURNS * TURN_MESSAGES {
                        audience.call(&turns[0].black).await?;
                        audience.hear(1).await?;
                        messages += 1;
                    }
                    anyhow::Ok(messages)
                })
                .await?,
        );
        values.push(
            service
                .cpu_us(async |audience| {
                    for turn in turns {
                        audience.call(&turn.black).await?;
                        audience.hear(1).await?;
                        audience.call(&turn.white).await?;
                        audience.hear(TURN_MESSAGES - 1).await?;
                    }
                    Ok(turns.len() * TURN_MESSAGES)
                })
                .await?,
        );
    }
    let conditions = format!(
        "server's user and kernel time a watcher and message; {WATCHERS} WatchMatch streams of one match, \
         {SHARED} a connection, {TURN_MESSAGES} messages a turn, volatile store; floor: bare tonic streams \
         and as many messages of {MESSAGE_BYTES} bytes; median of {ROUNDS} interleaved rounds of {ROUND_TURNS} \
         turns; ratio = value / floor, lower is better"
    );
    // The first round warms everything up.
    let figure = Figure::new("us", &values[1..], &floors[1..], conditions);
    server.stop().await?;
    floor_server.stop().await?;
    Ok(vec![figure])
}

/// Bytes of a message of the floor: about the mean of a turn's.
const MESSAGE_BYTES: usize = 300;

/// Everyone who watches, and one who plays for both seats.
struct Audience<'a> {
    server: &'a ServerProcess,
    player: Lane,
    watchers: Vec<Messages>,
}

impl<'a> Audience<'a> {
    /// Opens all streams and takes the messages that each begins with.
    async fn gather(server: &'a ServerProcess, name: &str, first: usize) -> anyhow::Result<Self> {
        let mut watchers = Vec::with_capacity(WATCHERS);
        for names in vec![name; WATCHERS].chunks(SHARED) {
            watchers.extend(watch_all(&server.address, names).await?);
        }
        let player = Lane::connect(&server.address).await?;
        let mut audience = Self { server, player, watchers };
        audience.hear(first).await?;
        Ok(audience)
    }

    async fn call(&mut self, frame: &bytes::Bytes) -> anyhow::Result<()> {
        let head = client::head(SEAL_MOVE, (API_KEY_HEADER, API_KEY))?;
        self.player.call(&head, frame.clone()).await.map(drop)
    }

    /// Waits until everyone has had so many messages more.
    async fn hear(&mut self, messages: usize) -> anyhow::Result<()> {
        let heard = self.watchers.iter_mut().map(async |watcher| {
            for _ in 0..messages {
                watcher.next().await?;
            }
            anyhow::Ok(())
        });
        try_join_all(heard).await.map(drop)
    }

    /// The server's CPU time of a round a watcher and message, µs; the round says how many messages.
    async fn cpu_us(
        &mut self,
        round: impl AsyncFnOnce(&mut Self) -> anyhow::Result<usize>,
    ) -> anyhow::Result<f64> {
        let before_us = self.server.cpu_us()?;
        let messages = round(self).await?;
        let spent_us = self.server.cpu_us()? - before_us;
        Ok(spent_us / (messages * WATCHERS) as f64)
    }
}
