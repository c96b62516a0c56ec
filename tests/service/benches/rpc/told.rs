//! What telemetry costs a sealed move.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use service_tests::{Collector, Manner};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::figure::Figure;
use crate::seal::{ROUNDS, paired};
use crate::server::cores;
use crate::shared_store::SharedStore;
use crate::side::{Caller, Side};
use crate::workload::{self, Load};

/// Pause between two scrapes: some ten times as often as Prometheus does.
const SCRAPE_EVERY: Duration = Duration::from_secs(1);

/// A node over Redis that tells all of itself next to one that says nothing: calls a second, and CPU time a call.
pub(crate) async fn beside_silence() -> anyhow::Result<Vec<Figure>> {
    let games = workload::games()?;
    let collector = Collector::start(Manner::Takes);
    let (told_store, silent_store) = (SharedStore::start().await?, SharedStore::start().await?);
    let told_server = told_store.told_node(&collector.url()).await?;
    let silent_server = silent_store.node().await?;
    let scraping = told_server.metrics.map(|metrics| tokio::spawn(scrape(metrics)));
    let mut told = Side::service(&told_server, &games, Load::USUAL, Caller::BackEnd).await?;
    let mut silent = Side::service(&silent_server, &games, Load::USUAL, Caller::BackEnd).await?;
    told.round().await?;
    silent.round().await?;
    paired(&mut told, &mut silent, ROUNDS).await?;
    let conditions = conditions();
    let figures =
        vec![told.samples.rate(&silent.samples, &conditions), told.samples.cpu(&silent.samples, &conditions)];
    if let Some(scraping) = scraping {
        ensure!(!scraping.is_finished(), "metrics could not be scraped");
        scraping.abort();
    }
    ensure!(!collector.received().spans.is_empty(), "no span was exported");
    told_server.stop().await?;
    silent_server.stop().await?;
    Ok(figures)
}

/// Scrapes again and again, until it fails.
async fn scrape(metrics: SocketAddr) -> std::io::Result<()> {
    loop {
        let mut stream = TcpStream::connect(metrics).await?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n").await?;
        stream.read_to_end(&mut Vec::new()).await?;
        tokio::time::sleep(SCRAPE_EVERY).await;
    }
}

fn conditions() -> String {
    let workers = cores();
    let Load { in_flight, connections, matches, round_calls, .. } = Load::USUAL;
    format!(
        "metrics, logs and traces of 1 in 100 calls over OTLP to a collector, /metrics scraped each second; one \
         Redis without a file for each side; called by a back end with an API key; {in_flight} in flight, \
         {connections} connections, {matches} matches of games.jsonl, receipts unsigned; {workers} threads with \
         a runtime each; floor: the same without telemetry; all on the same {workers} cores, bench profile; \
         median of {ROUNDS} interleaved rounds of up to {round_calls} calls"
    )
}
