//! What a match takes of a Redis's memory.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use middleware::API_KEY_HEADER;
use redis::aio::MultiplexedConnection;
use rules::PerSeat;

use crate::client;
use crate::figure::Figure;
use crate::lobby::Lobby;
use crate::server::API_KEY;
use crate::shared_store::SharedStore;
use crate::side::SEAL_MOVE;
use crate::workload::{self, Load, Script, Workload};

/// Matches, all at once: some in every shard, so that what a shard itself takes is shared.
const MATCHES: usize = 1_024;

/// Turns of each.
const TURNS: usize = 40;

/// How long matches may take to leave their players' lists of live ones.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks for that.
const PAUSE: Duration = Duration::from_millis(100);

/// Commands sent together.
const BATCH: usize = 1_000;

/// Bytes of a live match and of a finished one.
pub(crate) async fn each_match() -> anyhow::Result<Vec<Figure>> {
    let store = SharedStore::start().await?;
    let server = store.node().await?;
    let lobby = Lobby::open(&server.address).await?;
    let player = |seat, number| format!("players/{seat}-{number:04}");
    let pairs: Vec<_> = (0..MATCHES)
        .map(|number| PerSeat { black: player("black", number), white: player("white", number) })
        .collect();
    let names = lobby.matches(&pairs).await?;
    play(&server.address, &names, &pairs).await?;
    let mut redis = redis::Client::open(store.url())?.get_multiplexed_async_connection().await?;
    let live = Census::take(&mut redis).await?;
    let resigned = names.iter().zip(&pairs).map(|(name, pair)| (name.as_str(), pair.black.as_str()));
    lobby.resign(resigned).await?;
    let until = Instant::now() + PATIENCE;
    let finished = loop {
        let census = Census::take(&mut redis).await?;
        if !census.bytes.contains_key("live") {
            break census;
        }
        ensure!(Instant::now() < until, "matches stay in the lists of live ones");
        tokio::time::sleep(PAUSE).await;
    };
    server.stop().await?;
    Ok(vec![live.figure("live"), finished.figure("finished")])
}

/// Plays all turns of all matches.
async fn play(address: &str, names: &[String], pairs: &[PerSeat<String>]) -> anyhow::Result<()> {
    let games = workload::games()?;
    let game = games.iter().find(|game| game.len() > TURNS).context("no game is long enough")?;
    let head = client::head(SEAL_MOVE, (API_KEY_HEADER, API_KEY))?;
    let load = Load { matches: MATCHES, round_calls: usize::MAX, round_time: Duration::MAX, ..Load::USUAL };
    let mut workload = Workload::new(load, PerSeat { black: head.clone(), white: head });
    for (name, pair) in names.iter().zip(pairs) {
        workload.add(Script::new(&game[..TURNS], name, pair, false)?);
    }
    let mut lanes = client::lanes(address, load.connections, load.in_flight).await?;
    // A lane rests while every open seal is under way.
    let mut calls = 0;
    while calls < 2 * TURNS * MATCHES {
        let round = workload.play(&mut lanes).await?;
        ensure!(round.calls > 0, "matches stand still");
        calls += round.calls;
    }
    Ok(())
}

/// What all keys take.
struct Census {
    /// By kind of key: MEMORY USAGE, bytes.
    bytes: BTreeMap<String, f64>,
    /// What heads and turns hold, bytes.
    content: f64,
}

impl Census {
    async fn take(redis: &mut MultiplexedConnection) -> anyhow::Result<Self> {
        let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(redis).await?;
        let mut census = Self { bytes: BTreeMap::new(), content: 0.0 };
        for keys in keys.chunks(BATCH) {
            let mut sizes = redis::pipe();
            for key in keys {
                sizes.cmd("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg(0);
            }
            let sizes: Vec<Option<f64>> = sizes.query_async(redis).await?;
            for (key, size) in keys.iter().zip(sizes) {
                *census.bytes.entry(kind(key).to_owned()).or_default() += size.unwrap_or_default();
                census.content += content(redis, key).await?;
            }
        }
        // What there is once, however many matches there are.
        census.bytes.retain(|kind, _| !["clock", "meta", "nodes"].contains(&kind.as_str()));
        Ok(census)
    }

    fn figure(&self, state: &str) -> Figure {
        let each = |bytes: f64| bytes / MATCHES as f64;
        let split: Vec<_> =
            self.bytes.iter().map(|(kind, bytes)| format!("{kind} {:.0}", each(*bytes))).collect();
        let conditions = format!(
            "MEMORY USAGE of all keys a {state} match of {TURNS} turns: {}; {MATCHES} matches made by invites, \
             each of two players of their own; floor: what its head and turns hold; ratio = value / floor, \
             lower is better",
            split.join(", ")
        );
        Figure::new("bytes", &[each(self.bytes.values().sum())], &[each(self.content)], conditions)
    }
}

/// What a key is for: `m` of `wts:{s007}:m:…`, `nodes` of `wts:nodes`.
fn kind(key: &str) -> &str {
    let rest = key.split_once("}:").or_else(|| key.split_once(':')).map_or(key, |(_, rest)| rest);
    rest.split(':').next().unwrap_or(rest)
}

/// Bytes that a head or the turns of a match hold.
async fn content(redis: &mut MultiplexedConnection, key: &str) -> anyhow::Result<f64> {
    Ok(match kind(key) {
        "m" => redis::cmd("STRLEN").arg(key).query_async(redis).await?,
        "t" => {
            let turns: Vec<Vec<u8>> = redis::cmd("LRANGE").arg(key).arg(0).arg(-1).query_async(redis).await?;
            turns.iter().map(|turn| turn.len() as f64).sum()
        }
        _ => 0.0,
    })
}
