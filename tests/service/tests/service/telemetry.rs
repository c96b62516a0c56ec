//! What operators are told: every metric that is documented, as many series after many matches as after few, and
//! no word of it at anybody's cost.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Instant;

use opentelemetry::trace::{Span as _, Tracer as _};
use rules::Seat;
use service::metrics::{INSTRUMENTS, Instruments, Kind};
use service_tests::{
    Cluster, Collector, Duel, Exporting, Fault, Manner, Operation, Setup, cell, reason, seconds, soon,
};
use wire::v1::{self, BotLevel, ErrorReason};

use super::queue::{create, matched, paired, wish};

/// What an export of telemetry counts of itself, beside the instruments of a node.
const LOST: &str = "wts.telemetry.lost";

/// Matches after which there is a series for everything that happens in one.
const FEW: usize = 10;

/// Matches after which a label that depends on one of them would show.
const MANY: usize = 200;

/// One node that tells all of itself.
async fn told(exporting: &Exporting) -> Cluster {
    Cluster::start(Setup { instruments: exporting.instruments.clone(), ..Setup::default() }).await
}

/// A match of two turns, watched, with a refusal, and ended by who plays black.
async fn play_one(cluster: &Cluster) {
    let duel = cluster.duel(Default::default()).await;
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    duel.play(1, "A1", "I9").await;
    stream.turn().await;
    let occupied = duel.seal(Seat::Black, 2, cell("A1")).await.unwrap_err();
    assert_eq!(reason(&occupied), ErrorReason::CellOccupied);
    duel.play(2, "C1", "G9").await;
    stream.turn().await;
    duel.resign(Seat::Black).await.unwrap();
    stream.finished().await;
    cluster.settled(&duel.name).await;
}

/// Everything that is measured happens once.
async fn all_that_can_happen(cluster: &Cluster) {
    play_one(cluster).await;
    // A pool, a bot in it, and its move.
    let (eve, fay) = (cluster.player(0, "eve").await, cluster.player(0, "fay").await);
    paired(cluster, "casual", &eve, &fay).await;
    let gus = cluster.player(0, "gus").await;
    let bot_fallback = Some(v1::BotFallback { after: Some(seconds(1)), level: BotLevel::BotLevel1.into() });
    let ticket =
        create(&gus, v1::CreateTicketRequest { bot_fallback, ..wish("ranked", "gus") }).await.unwrap();
    let found = matched(cluster, &gus, &ticket).await;
    let with_bot = Duel { name: found.r#match.clone(), black: gus.clone(), white: gus.clone() };
    let is_black = gus.get(&with_bot.name).await.unwrap().black.unwrap().player == gus.name;
    with_bot.join_as(if is_black { Seat::Black } else { Seat::White }).await.unwrap();
    cluster.stored(&with_bot.name, |game| game.open_turn().is_some()).await;
    // A hint that is lost, and a flag.
    let duel = cluster.duel(Default::default()).await;
    let mut stream = duel.white.watch(&duel.name).await.unwrap();
    stream.status(|_| true).await;
    cluster.nodes[0].faults.lose_hints();
    duel.play(1, "A1", "I9").await;
    cluster.advance_ms(10_000).await;
    stream.turn().await;
    cluster.nodes[0].faults.clear();
    cluster.ended(&duel.name).await;
    cluster.nodes[0].faults.at(Operation::IndexMatch, 1, Fault::Refused);
    cluster.settled(&duel.name).await;
}

/// The page's table, from the code.
fn table() -> String {
    let mut table =
        String::from("| metric | kind | unit | labels | what |\n| --- | --- | --- | --- | --- |\n");
    for instrument in INSTRUMENTS {
        let kind = match instrument.kind {
            Kind::Counter => "counter",
            Kind::UpDownCounter => "up-down counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels: Vec<String> = instrument.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(", ") };
        let (name, unit, what) = (instrument.name, instrument.unit, instrument.what);
        writeln!(table, "| `{name}` | {kind} | `{unit}` | {labels} | {what} |").unwrap();
    }
    writeln!(
        table,
        "| `{LOST}` | counter | `{{record}}` | `wts.signal` | Spans and log records that found no place in \
         their queue or were not exported |"
    )
    .unwrap();
    table
}

#[test]
fn the_page_lists_the_metrics_that_there_are() {
    let page = include_str!("../../../../docs/telemetry.md");
    assert!(page.contains(&table()), "docs/telemetry.md is to have this table:\n{}", table());
}

#[tokio::test]
async fn every_documented_metric_is_exported_and_no_other() {
    let collector = Collector::start(Manner::Takes);
    let exporting = Exporting::to(&collector.url());
    let cluster = told(&exporting).await;
    all_that_can_happen(&cluster).await;
    exporting.pipelines.flush();
    let received = collector.received();
    let exported: BTreeSet<&str> = received.metrics.iter().map(|metric| &*metric.name).collect();
    let documented: BTreeSet<&str> =
        INSTRUMENTS.iter().map(|instrument| instrument.name).chain([LOST]).collect();
    assert_eq!(exported, documented);
    for metric in &received.metrics {
        let Some(instrument) = INSTRUMENTS.iter().find(|instrument| instrument.name == metric.name) else {
            continue;
        };
        assert_eq!(metric.unit, instrument.unit, "{}", metric.name);
        for labels in labels_of(metric) {
            assert_eq!(labels, instrument.labels, "{}", metric.name);
        }
    }
}

/// The names of the labels of each series of a metric, in order.
fn labels_of(metric: &opentelemetry_proto::tonic::metrics::v1::Metric) -> Vec<Vec<String>> {
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    let names = |attributes: &[opentelemetry_proto::tonic::common::v1::KeyValue]| {
        let mut names: Vec<String> = attributes.iter().map(|attribute| attribute.key.clone()).collect();
        names.sort_unstable();
        names
    };
    match metric.data.as_ref().unwrap() {
        Data::Gauge(gauge) => gauge.data_points.iter().map(|point| names(&point.attributes)).collect(),
        Data::Sum(sum) => sum.data_points.iter().map(|point| names(&point.attributes)).collect(),
        Data::Histogram(spread) => spread.data_points.iter().map(|point| names(&point.attributes)).collect(),
        other => panic!("nothing here is {other:?}"),
    }
}

/// F5.
async fn many_matches_make_no_more_series(many: usize) {
    let exporting = Exporting::metrics();
    let cluster = told(&exporting).await;
    for _ in 0..FEW {
        play_one(&cluster).await;
    }
    let few = exporting.series().await;
    for _ in 0..many {
        play_one(&cluster).await;
    }
    let more: Vec<String> = exporting.series().await.difference(&few).cloned().collect();
    assert!(more.is_empty(), "{more:#?}");
}

#[tokio::test]
async fn there_are_as_many_series_after_many_matches_as_after_few() {
    many_matches_make_no_more_series(MANY).await;
}

#[tokio::test]
#[ignore = "it plays ten thousand matches"]
async fn there_are_as_many_series_after_ten_thousand_matches_as_after_few() {
    many_matches_make_no_more_series(10_000).await;
}

/// The ends of streams that are given up count as well.
#[tokio::test]
async fn streams_that_are_open_are_counted_until_they_end() {
    let exporting = Exporting::metrics();
    let cluster = told(&exporting).await;
    let duel = cluster.duel(Default::default()).await;
    let open = "wts_streams_open{rpc_method=\"whattheshell.v1.MatchService/WatchMatch\"}";
    let counts = |count: usize| {
        let (exporting, line) = (&exporting, format!("{open} {count}"));
        async move {
            let counted = async { while !exporting.scrape().await.lines().any(|found| found == line) {} };
            soon(&line, counted).await;
        }
    };
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = duel.black.watch(&duel.name).await.unwrap();
        stream.status(|_| true).await;
        streams.push(stream);
    }
    counts(3).await;
    streams.pop();
    counts(2).await;
    duel.resign(Seat::White).await.unwrap();
    counts(0).await;
}

/// A span says which call it was and what came of it. All else is somebody's secret, or somebody's name.
#[tokio::test]
async fn spans_carry_no_more_than_the_names_of_calls_and_what_came_of_them() {
    let collector = Collector::start(Manner::Takes);
    let exporting = Exporting::to(&collector.url());
    let cluster = told(&exporting).await;
    play_one(&cluster).await;
    exporting.pipelines.flush();
    let spans = collector.received().spans;
    let known = BTreeSet::from([
        "error.type",
        "rpc.method",
        "rpc.response.status_code",
        "rpc.system.name",
        "wts.principal",
        "wts.reason",
    ]);
    for span in &spans {
        for attribute in &span.attributes {
            assert!(known.contains(&*attribute.key), "{span:?}");
        }
        assert!(span.events.is_empty() && span.links.is_empty(), "{span:?}");
    }
    let seal = spans.iter().find(|span| span.name == "whattheshell.v1.MatchService/SealMove").unwrap();
    let commit = spans.iter().find(|span| span.name == "commit" && span.parent_span_id == seal.span_id);
    assert!(commit.is_some(), "what a call has the store do is below it: {spans:?}");
}

/// Nobody waits for a collector: not a call, and not the end of the process for long.
async fn plays_as_ever(exporting: Exporting) {
    let cluster = told(&exporting).await;
    play_one(&cluster).await;
    // Far more than there is room for.
    let tracer = exporting.pipelines.tracer(Instruments::scope());
    for _ in 0..20_000 {
        tracer.start("one too many").end();
    }
    play_one(&cluster).await;
    let lost = exporting.scrape().await;
    let lost =
        lost.lines().find_map(|line| line.strip_prefix("wts_telemetry_lost_total{wts_signal=\"traces\"} "));
    assert!(lost.unwrap().parse::<f64>().unwrap() > 10_000.0, "{lost:?}");
    let began = Instant::now();
    let ended = tokio::task::spawn_blocking(move || exporting.pipelines.shutdown());
    soon("the end of telemetry", ended).await.unwrap();
    // Three pipelines one after the other would take three times as long.
    assert!(began.elapsed() < 2 * telemetry::SHUTDOWN_MAX, "{:?}", began.elapsed());
    play_one(&cluster).await;
}

#[tokio::test]
async fn a_collector_that_hangs_costs_nothing() {
    let collector = Collector::start(Manner::Hangs);
    plays_as_ever(Exporting::to(&collector.url())).await;
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_nothing() {
    let gone = Collector::start(Manner::Takes).url();
    plays_as_ever(Exporting::to(&gone)).await;
}
