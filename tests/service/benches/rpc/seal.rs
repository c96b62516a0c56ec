//! What sealing a move costs, on each store and with each kind of receipt.

use std::time::Duration;

use store_embedded::Durability;

use crate::figure::{Figure, Samples};
use crate::server::{Role, ServerProcess, cores};
use crate::side::{Caller, Side};
use crate::workload::{self, Load};

/// Rounds of which the median counts; odd, so that it is one of them.
pub(crate) const ROUNDS: usize = 11;

/// The same for each point of a curve.
const CURVE_ROUNDS: usize = 5;

/// A round of a curve, at most.
const CURVE_ROUND_TIME: Duration = Duration::from_millis(600);

/// Calls in flight at each point of the curve.
const CURVE: [usize; 4] = [1, 8, 64, 256];

/// Connections of every point of the curve with more calls than that.
const CURVE_CONNECTIONS_MAX: usize = 4;

/// The service on a store next to the floor: calls a second and the server's CPU time a call.
pub(crate) async fn beside_floor(role: Role<'_>, caller: Caller) -> anyhow::Result<Vec<Figure>> {
    let games = workload::games()?;
    let server = ServerProcess::start(role).await?;
    let mut service = Side::service(&server, &games, Load::USUAL, caller).await?;
    // The first rounds warm everything up and tell how long an answer is.
    let answer_bytes = service.round().await?.answer_bytes;
    let bare_server = ServerProcess::start(Role::Floor { answer_bytes }).await?;
    let mut floor = Side::floor(&bare_server, &games, Load::USUAL).await?;
    floor.round().await?;
    paired(&mut service, &mut floor, ROUNDS).await?;
    let conditions =
        format!("{}; {}; floor: bare tonic calls of the same bytes", store(role), conditions(caller));
    let figures = vec![
        service.samples.rate(&floor.samples, &conditions),
        service.samples.cpu(&floor.samples, &conditions),
    ];
    server.stop().await?;
    bare_server.stop().await?;
    Ok(figures)
}

/// The durable store without fsync next to the floor, then with fsync next to without.
pub(crate) async fn embedded() -> anyhow::Result<Vec<Figure>> {
    let mut figures = beside_floor(Role::Embedded(Durability::Process), Caller::BackEnd).await?;
    figures.extend(fsync_curve().await?);
    Ok(figures)
}

/// Signed receipts next to unsigned ones, from the same server.
pub(crate) async fn signed() -> anyhow::Result<Vec<Figure>> {
    let games = workload::games()?;
    let role = Role::Embedded(Durability::Process);
    let server = ServerProcess::start(role).await?;
    let load = Load { signed: true, ..Load::USUAL };
    let mut signed = Side::service(&server, &games, load, Caller::BackEnd).await?;
    let mut unsigned = Side::service(&server, &games, Load::USUAL, Caller::BackEnd).await?;
    signed.round().await?;
    unsigned.round().await?;
    paired(&mut signed, &mut unsigned, ROUNDS).await?;
    let conditions = format!(
        "{}; {}; floor: the same with unsigned receipts",
        store(role),
        conditions(Caller::BackEnd).replace("unsigned", "signed")
    );
    let figures = vec![
        signed.samples.rate(&unsigned.samples, &conditions),
        signed.samples.cpu(&unsigned.samples, &conditions),
    ];
    server.stop().await?;
    Ok(figures)
}

/// With fsync next to without, by calls in flight: a figure for each point of [`CURVE`].
async fn fsync_curve() -> anyhow::Result<Vec<Figure>> {
    let games = workload::games()?;
    let synced_server = ServerProcess::start(Role::Embedded(Durability::Power)).await?;
    let cached_server = ServerProcess::start(Role::Embedded(Durability::Process)).await?;
    let mut figures = Vec::with_capacity(CURVE.len());
    for in_flight in CURVE {
        let load = Load {
            in_flight,
            connections: in_flight.min(CURVE_CONNECTIONS_MAX),
            matches: Load::USUAL.matches.max(2 * in_flight),
            round_calls: 8_000,
            round_time: CURVE_ROUND_TIME,
            signed: false,
        };
        let mut synced = Side::service(&synced_server, &games, load, Caller::BackEnd).await?;
        let mut cached = Side::service(&cached_server, &games, load, Caller::BackEnd).await?;
        synced.round().await?;
        cached.round().await?;
        paired(&mut synced, &mut cached, CURVE_ROUNDS).await?;
        let Load { connections, matches, .. } = load;
        figures.push(synced.samples.rate(
            &cached.samples,
            &format!(
                "embedded store, one fsync a group; {in_flight} in flight, {connections} connections, \
                 {matches} matches of games.jsonl, called by a back end, receipts unsigned; floor: the same \
                 without fsync; median of {CURVE_ROUNDS} interleaved rounds of up to {} ms",
                CURVE_ROUND_TIME.as_millis()
            ),
        ));
    }
    synced_server.stop().await?;
    cached_server.stop().await?;
    Ok(figures)
}

/// Plays the rounds of two sides in turns.
pub(crate) async fn paired(side: &mut Side<'_>, floor: &mut Side<'_>, rounds: usize) -> anyhow::Result<()> {
    side.samples = Samples::default();
    floor.samples = Samples::default();
    for _ in 0..rounds {
        floor.round().await?;
        side.round().await?;
    }
    Ok(())
}

const fn store(role: Role<'_>) -> &'static str {
    match role {
        Role::Volatile => "volatile store",
        Role::Embedded(Durability::Process) => "embedded store without fsync",
        Role::Embedded(Durability::Power) => "embedded store, one fsync a group",
        Role::Redis { .. } | Role::ToldRedis { .. } => "Redis",
        Role::Floor { .. } | Role::StoreFloor { .. } => "no store",
    }
}

fn conditions(caller: Caller) -> String {
    let who = match caller {
        Caller::BackEnd => "called by a back end with an API key",
        Caller::Players => "called by two players with tokens",
    };
    let workers = cores();
    let Load { in_flight, connections, matches, round_calls, .. } = Load::USUAL;
    format!(
        "{who}; {in_flight} in flight, {connections} connections, {matches} matches of games.jsonl, \
         receipts unsigned; {workers} threads with a runtime each, the floor's on one multi-thread runtime of \
         {workers}, server and client on the same {workers} cores, bench profile; median of {ROUNDS} interleaved rounds of up to {round_calls} calls"
    )
}
