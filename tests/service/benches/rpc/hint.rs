//! How long it takes until what one node commits is on a stream of another.

use std::time::Instant;

use anyhow::Context as _;
use bytes::Bytes;
use futures::future::try_join;
use middleware::API_KEY_HEADER;
use rules::PerSeat;
use wire::v1::{self, watch_match_response::Update};

use crate::client::{self, Lane, Messages};
use crate::figure::Figure;
use crate::idle::watch_all;
use crate::lobby::Lobby;
use crate::server::API_KEY;
use crate::shared_store::SharedStore;
use crate::side::SEAL_MOVE;
use crate::workload::{self, Script};

/// Matches of a round, one after the other, and their turns: enough that a hundredth of the seals is some.
const ROUND_MATCHES: usize = 5;
const TURNS: usize = 40;

/// Rounds of which the median counts; odd, so that it is one of them.
const ROUNDS: usize = 11;

/// From the call that seals on one node to the message on a stream of the other: the median, and what one of
/// a hundred exceeds.
pub(crate) async fn latency() -> anyhow::Result<Vec<Figure>> {
    let store = SharedStore::start().await?;
    let (near, far) = (store.node().await?, store.node().await?);
    let games = workload::games()?;
    let game = games.iter().find(|game| game.len() > TURNS).context("no game is long enough")?;
    let players = PerSeat { black: "players/ann".to_owned(), white: "players/bob".to_owned() };
    let lobby = Lobby::open(&near.address).await?;
    let mut rounds = Vec::with_capacity(ROUNDS + 1);
    for _ in 0..=ROUNDS {
        let mut round = Latencies::default();
        for name in lobby.matches(&vec![players.clone(); ROUND_MATCHES]).await? {
            let script = Script::new(&game[..TURNS], &name, &players, false)?;
            let stream = watch_all(&far.address, &[&name]).await?.pop().context("no stream")?;
            let mut pair = Pair { player: Lane::connect(&near.address).await?, stream };
            // Only once it has begun, hints come.
            pair.hear(|update| matches!(update, Update::Status(_))).await?;
            for (number, turn) in (1..).zip(script.into_turns()) {
                round.add(pair.seal(turn.black, |update| shows_black(update, number)).await?);
                round.add(pair.seal(turn.white, |update| matches!(update, Update::Turn(_))).await?);
            }
        }
        rounds.push(round);
    }
    near.stop().await?;
    far.stop().await?;
    // The first round warms everything up.
    Ok([(0.5, "median"), (0.99, "99th percentile")]
        .into_iter()
        .map(|(share, what)| {
            let (heard, answered) =
                rounds[1..].iter_mut().map(|round| round.at(share)).unzip::<_, _, Vec<_>, Vec<_>>();
            Figure::new("us", &heard, &answered, conditions(what))
        })
        .collect())
}

fn conditions(what: &str) -> String {
    let seals = 2 * TURNS * ROUND_MATCHES;
    format!(
        "{what} of a round: from the call of SealMove on one node to the message that tells of it on a \
         WatchMatch stream of another, over one Redis, durability primary, one call at a time, called and \
         watched by a back end from one thread; floor: the same of the time until the caller has his answer; \
         median of {ROUNDS} rounds of {seals} seals; ratio = value / floor, lower is better"
    )
}

/// Who seals on one node, and a stream of another.
struct Pair {
    player: Lane,
    stream: Messages,
}

impl Pair {
    /// Seals a move: how long until the stream told of it, and until it was answered, µs.
    async fn seal(&mut self, frame: Bytes, tells: impl Fn(&Update) -> bool) -> anyhow::Result<(f64, f64)> {
        let Self { player, stream } = self;
        let head = client::head(SEAL_MOVE, (API_KEY_HEADER, API_KEY))?;
        let called = Instant::now();
        let passed_us = || called.elapsed().as_secs_f64() * 1e6;
        let answered = async { player.call(&head, frame).await.map(|_| passed_us()) };
        let heard = async { hear(stream, tells).await.map(|()| passed_us()) };
        try_join(heard, answered).await
    }

    async fn hear(&mut self, wanted: impl Fn(&Update) -> bool) -> anyhow::Result<()> {
        hear(&mut self.stream, wanted).await
    }
}

/// Waits for an update.
async fn hear(stream: &mut Messages, wanted: impl Fn(&Update) -> bool) -> anyhow::Result<()> {
    loop {
        let response: v1::WatchMatchResponse = stream.next_message().await?;
        if response.update.as_ref().is_some_and(&wanted) {
            return Ok(());
        }
    }
}

/// Whether an update shows that black has sealed this turn.
fn shows_black(update: &Update, turn: u32) -> bool {
    let Update::Status(status) = update else { return false };
    status.turn == turn && status.black.as_ref().is_some_and(|black| black.sealed == Some(true))
}

/// A round's latencies, µs.
#[derive(Default)]
struct Latencies {
    heard: Vec<f64>,
    answered: Vec<f64>,
}

impl Latencies {
    fn add(&mut self, (heard_us, answered_us): (f64, f64)) {
        self.heard.push(heard_us);
        self.answered.push(answered_us);
    }

    /// What this share of each stays below.
    fn at(&mut self, share: f64) -> (f64, f64) {
        let below = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values.get((values.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN)
        };
        (below(&mut self.heard), below(&mut self.answered))
    }
}
