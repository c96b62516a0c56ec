//! How fast players who queue are given matches, over a Redis.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use futures::future::try_join_all;
use http::Request;
use middleware::API_KEY_HEADER;
use prost::Message;
use wire::v1::{self, TicketState, time_control};

use crate::client::{self, Lane, lanes};
use crate::figure::Figure;
use crate::lobby::request_id;
use crate::server::{API_KEY, ServerProcess, cores};
use crate::shared_store::SharedStore;

/// Players who queue in a round, two a match.
const PLAYERS: usize = 16_000;

/// Those who come in a second: 2,500 matches, some more than are asked for.
const ARRIVALS_PER_S: f64 = 5_000.0;

/// Calls under way at once, and connections that share them.
const IN_FLIGHT: usize = 64;
const CONNECTIONS: usize = 4;

/// Rounds of which the median counts; odd, so that it is one of them.
const ROUNDS: usize = 5;

/// How long all may take to be matched after the last has come, before the bench gives up.
const MATCHED_MAX: Duration = Duration::from_secs(20);

const CREATE_TICKET: &str = "/whattheshell.v1.MatchmakingService/CreateTicket";
const GET_TICKET: &str = "/whattheshell.v1.MatchmakingService/GetTicket";
const GET_MATCH: &str = "/whattheshell.v1.MatchService/GetMatch";
const GET_SERVER_INFO: &str = "/whattheshell.v1.PlayerService/GetServerInfo";

/// Matches a second, and from a ticket's creation to that of its match: the median and what one of a hundred
/// exceeds.
pub(crate) async fn over_redis() -> anyhow::Result<Vec<Figure>> {
    let store = SharedStore::start().await?;
    let server = store.node().await?;
    let mut rounds = Vec::with_capacity(ROUNDS + 1);
    for number in 0..=ROUNDS {
        let bare_us = bare_call_us(&server).await?;
        let round = Round::play(&server, number).await?;
        rounds.push((round, bare_us));
    }
    server.stop().await?;
    // The first round warms everything up.
    let of = |value: fn(&Round) -> f64| rounds[1..].iter().map(|(round, _)| value(round)).collect::<Vec<_>>();
    let bare: Vec<f64> = rounds[1..].iter().map(|(_, bare_us)| *bare_us).collect();
    let bare_ms: Vec<f64> = bare.iter().map(|us| us / 1e3).collect();
    let pairs_per_s: Vec<f64> = bare.iter().map(|us| IN_FLIGHT as f64 / 2.0 / us * 1e6).collect();
    Ok(vec![
        Figure::new("matches/s", &of(|round| round.matches_per_s), &pairs_per_s, conditions(RATE)),
        Figure::new("ms", &of(|round| round.median_ms), &bare_ms, conditions(MEDIAN)),
        Figure::new("ms", &of(|round| round.p99_ms), &bare_ms, conditions(P99)),
    ])
}

const RATE: &str = "matches made, from the first call until the last match is there; floor: pairs of bare \
                    calls (GetServerInfo) a second at as many in flight; ratio = value / floor, higher is better";
const MEDIAN: &str = "median of a round, from the creation of a ticket to that of its match by the Redis's \
                      clock; floor: a bare call (GetServerInfo); ratio = value / floor, lower is better";
const P99: &str = "99th percentile of a round, likewise";

fn conditions(what: &str) -> String {
    let cores = cores();
    format!(
        "{what}; {PLAYERS} players of one rating come to one casual pool, {ARRIVALS_PER_S} a second, each by a \
         call of a back end with an API key, {IN_FLIGHT} in flight at most, {CONNECTIONS} connections; one node, one Redis without \
         a file, durability primary; client, server and Redis on the same {cores} cores; median of {ROUNDS} rounds"
    )
}

/// What a round came to.
struct Round {
    matches_per_s: f64,
    median_ms: f64,
    p99_ms: f64,
}

impl Round {
    async fn play(server: &ServerProcess, number: usize) -> anyhow::Result<Self> {
        let wishes = (0..PLAYERS).map(|player| wish(number, player)).collect::<anyhow::Result<Vec<_>>>()?;
        let tickets = arrive(server, wishes).await?;
        let mut waits = waits(server, &tickets).await?;
        let last = waits.iter().map(|wait| wait.matched_ms).fold(f64::MIN, f64::max);
        let first = waits.iter().map(|wait| wait.created_ms).fold(f64::MAX, f64::min);
        waits.sort_by(|one, other| one.ms().total_cmp(&other.ms()));
        let at = |share: f64| waits.get((waits.len() as f64 * share) as usize).map_or(f64::NAN, Wait::ms);
        let matches = waits.len() as f64 / 2.0;
        Ok(Self { matches_per_s: matches / ((last - first) / 1e3), median_ms: at(0.5), p99_ms: at(0.99) })
    }
}

/// From a ticket to its match, ms since 1970 by one clock: the Redis has both.
struct Wait {
    created_ms: f64,
    matched_ms: f64,
}

impl Wait {
    fn ms(&self) -> f64 {
        self.matched_ms - self.created_ms
    }
}

fn wish(round: usize, player: usize) -> anyhow::Result<Bytes> {
    let turn_time = prost_types::Duration { seconds: 30, nanos: 0 };
    client::frame(&v1::CreateTicketRequest {
        player: format!("players/p{round}-{player}"),
        request_id: request_id(),
        pool: "casual".to_owned(),
        time_controls: vec![v1::TimeControl { control: Some(time_control::Control::TurnTime(turn_time)) }],
        ..Default::default()
    })
}

fn head(path: &str) -> anyhow::Result<Request<()>> {
    client::head(path, (API_KEY_HEADER, API_KEY))
}

/// A call and its answer.
async fn ask<M: Message + Default>(lane: &mut Lane, head: &Request<()>, frame: Bytes) -> anyhow::Result<M> {
    lane.open(head, frame).await?.only().await
}

/// Makes all calls, each lane one at a time, none before its time comes. Returns the answers.
async fn ask_all<M: Message + Default>(
    server: &ServerProcess,
    path: &str,
    frames: Vec<Bytes>,
    per_s: f64,
) -> anyhow::Result<Vec<M>> {
    let head = head(path)?;
    let mut lanes = lanes(&server.address, CONNECTIONS, IN_FLIGHT).await?;
    let (next, answers) = (Cell::new(0), RefCell::new(Vec::with_capacity(frames.len())));
    let began = Instant::now();
    let on_lane = async |lane: &mut Lane| {
        while let Some(frame) = frames.get(next.get()) {
            let due = began + Duration::from_secs_f64(next.get() as f64 / per_s);
            next.set(next.get() + 1);
            tokio::time::sleep_until(due.into()).await;
            let answer: M = ask(lane, &head, frame.clone()).await?;
            answers.borrow_mut().push(answer);
        }
        anyhow::Ok(())
    };
    try_join_all(lanes.iter_mut().map(on_lane)).await?;
    Ok(answers.into_inner())
}

/// All players queue at the asked rate. Returns the names of their tickets.
async fn arrive(server: &ServerProcess, wishes: Vec<Bytes>) -> anyhow::Result<Vec<String>> {
    let answers: Vec<v1::CreateTicketResponse> =
        ask_all(server, CREATE_TICKET, wishes, ARRIVALS_PER_S).await?;
    answers.into_iter().map(|answer| Ok(answer.ticket.context("no ticket")?.name)).collect()
}

/// Waits until all are matched, and asks how long each took.
async fn waits(server: &ServerProcess, tickets: &[String]) -> anyhow::Result<Vec<Wait>> {
    let until = Instant::now() + MATCHED_MAX;
    let get = |name: &String| {
        let (name, player) = (name.clone(), String::new());
        client::frame(&v1::GetTicketRequest { name, player })
    };
    loop {
        let frames = tickets.iter().map(get).collect::<anyhow::Result<Vec<_>>>()?;
        let seen: Vec<v1::GetTicketResponse> = ask_all(server, GET_TICKET, frames, f64::INFINITY).await?;
        let seen: Vec<v1::Ticket> = seen.into_iter().filter_map(|answer| answer.ticket).collect();
        if seen.iter().all(|ticket| ticket.state() == TicketState::Matched) {
            return waits_of(server, &seen).await;
        }
        ensure!(Instant::now() < until, "not all were matched in time");
    }
}

async fn waits_of(server: &ServerProcess, tickets: &[v1::Ticket]) -> anyhow::Result<Vec<Wait>> {
    let get = |ticket: &v1::Ticket| {
        let (name, player) = (ticket.r#match.clone(), String::new());
        client::frame(&v1::GetMatchRequest { name, player })
    };
    let frames = tickets.iter().map(get).collect::<anyhow::Result<Vec<_>>>()?;
    let seen: Vec<v1::GetMatchResponse> = ask_all(server, GET_MATCH, frames, f64::INFINITY).await?;
    let made: HashMap<String, f64> = seen
        .into_iter()
        .filter_map(|answer| answer.r#match)
        .map(|game| (game.name, ms(game.create_time.as_ref())))
        .collect();
    let wait = |ticket: &v1::Ticket| {
        let matched_ms = *made.get(&ticket.r#match).context("a match is not there")?;
        Ok(Wait { created_ms: ms(ticket.create_time.as_ref()), matched_ms })
    };
    tickets.iter().map(wait).collect()
}

fn ms(time: Option<&prost_types::Timestamp>) -> f64 {
    time.map_or(f64::NAN, |time| time.seconds as f64 * 1e3 + f64::from(time.nanos) / 1e6)
}

/// A bare call at as many in flight: how long one takes, µs.
async fn bare_call_us(server: &ServerProcess) -> anyhow::Result<f64> {
    let frame = client::frame(&v1::GetServerInfoRequest::default())?;
    let began = Instant::now();
    let answers: Vec<v1::GetServerInfoResponse> =
        ask_all(server, GET_SERVER_INFO, vec![frame; PLAYERS], f64::INFINITY).await?;
    Ok(began.elapsed().as_secs_f64() * 1e6 * IN_FLIGHT as f64 / answers.len() as f64)
}
