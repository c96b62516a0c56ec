//! What sealing a move costs over a Redis.

use crate::figure::Figure;
use crate::heard::Commits;
use crate::seal::{ROUNDS, paired};
use crate::server::{Role, ServerProcess, cores};
use crate::shared_store::SharedStore;
use crate::side::{Caller, Side};
use crate::store_floor;
use crate::workload::{self, Load};

/// Calls in flight.
const IN_FLIGHT: [usize; 2] = [Load::USUAL.in_flight, 256];

/// The service next to the floor: for each of [`IN_FLIGHT`] calls a second, the CPU time a call of the server
/// and of its Redis, the scripts that the Redis runs a call and the commands that it is sent.
pub(crate) async fn beside_floor() -> anyhow::Result<Vec<Figure>> {
    let games = workload::games()?;
    let (store, bare_store) = (SharedStore::start().await?, SharedStore::start().await?);
    let server = store.node().await?;
    let commits = Commits::hear(&server, store.redis(), &games[0]).await?;
    let mut service = Side::service(&server, &games, Load::USUAL, Caller::BackEnd).await?;
    // Tells how long an answer is.
    let answer_bytes = service.round().await?.answer_bytes;
    drop(service);
    store_floor::prepare(bare_store.redis(), &commits, answer_bytes).await?;
    let bare_server = ServerProcess::start(Role::StoreFloor { url: &bare_store.url() }).await?;
    let mut figures = Vec::new();
    for in_flight in IN_FLIGHT {
        let load = Load { in_flight, matches: 2 * in_flight, ..Load::USUAL };
        let service = Side::service(&server, &games, load, Caller::BackEnd).await?;
        let floor = Side::floor(&bare_server, &games, load).await?;
        let (mut service, mut floor) = (service.over(store.redis()), floor.over(bare_store.redis()));
        // Warms everything up.
        service.round().await?;
        floor.round().await?;
        paired(&mut service, &mut floor, ROUNDS).await?;
        let conditions = conditions(load);
        figures.extend([
            service.samples.rate(&floor.samples, &conditions),
            service.samples.cpu(&floor.samples, &conditions),
            service.samples.redis_cpu(&floor.samples, &conditions),
            service.samples.redis_scripts(&floor.samples, &conditions),
            service.samples.redis_commands(&floor.samples, &conditions),
        ]);
    }
    server.stop().await?;
    bare_server.stop().await?;
    Ok(figures)
}

fn conditions(load: Load) -> String {
    let workers = cores();
    let Load { in_flight, connections, matches, round_calls, .. } = load;
    format!(
        "one Redis without a file, durability primary; called by a back end with an API key; {in_flight} in \
         flight, {connections} connections, {matches} matches of games.jsonl, receipts unsigned; {workers} \
         threads with a runtime each; floor: bare tonic calls of the same bytes on one multi-thread runtime of \
         {workers}, each with one EVALSHA of the script, keys and argument sizes of the service, over as many shards and one \
         redis-rs connection to a Redis of its own; all on the same {workers} cores, bench profile; median of \
         {ROUNDS} interleaved rounds of up to {round_calls} calls"
    )
}
