//! F5: what a call on one node causes on another is one trace, over a real Redis.

use std::sync::Arc;

use opentelemetry_proto::tonic::trace::v1::Span;
use redis_servers::{Flavor, Options as ServerOptions, Single};
use referee::Stamp;
use rules::Seat;
use service_tests::{Cluster, Collector, Exporting, Manner, START_MS, Setup, cell};
use store::keys::Keys;
use store::{ScriptedClock, Store};
use store_redis::{Options, RedisStore};
use tonic::Request;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// Two nodes, each with a store of its own over this server, which trace what their callers ask for.
async fn two_nodes(url: &str, exporting: &Exporting) -> Cluster {
    let keys = Keys::generate(Stamp::from_ms(START_MS));
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..2 {
        let options = Options::new(url.parse().unwrap());
        stores.push(Arc::new(RedisStore::open(options, keys.keyring()).await.unwrap()));
    }
    let instruments = exporting.instruments.clone();
    let setup = Setup { system_time: true, instruments, ..Setup::default() };
    Cluster::on(setup, Arc::new(ScriptedClock::at_ms(START_MS)), &keys, stores).await
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seal_on_one_node_and_its_turn_on_another_are_one_trace() {
    let collector = Collector::start(Manner::Takes);
    let exporting = Exporting::asked(&collector.url());
    let redis = Single::start(Flavor::Redis, &ServerOptions::new()).await.unwrap();
    let cluster = two_nodes(&redis.url(), &exporting).await;
    let duel = cluster.duel(Default::default()).await;
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    stream.status(|_| true).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let mut seal = Request::new(duel.seal_request(Seat::White, 1, cell("I9")));
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    seal.metadata_mut().insert("traceparent", traceparent.parse().unwrap());
    duel.white.matches().seal_move(seal).await.unwrap();
    assert_eq!(stream.turn().await.turn, 1);
    exporting.pipelines.flush();

    let spans = collector.received().spans;
    let only = |name: &str| -> &Span {
        let mut found = spans.iter().filter(|span| span.name == name);
        let (first, more) = (found.next(), found.next());
        assert!(more.is_none(), "{name} is there twice: {spans:?}");
        first.unwrap_or_else(|| panic!("{name} is missing: {spans:?}"))
    };
    let seal = only("whattheshell.v1.MatchService/SealMove");
    let delivery = only("deliver turn");
    assert!(
        spans.iter().all(|span| hex(&span.trace_id) == TRACE),
        "what nobody asked for is traced: {spans:?}"
    );
    assert_eq!(hex(&seal.parent_span_id), CALLER);
    assert_eq!(delivery.parent_span_id, seal.span_id, "the other node's turn is below the seal");
    // The node has not seen the other seal: its first try is refused.
    let commits: Vec<&Span> = spans.iter().filter(|span| span.name == "commit").collect();
    assert!(!commits.is_empty() && commits.iter().all(|commit| commit.parent_span_id == seal.span_id));
    assert_eq!(only("turns").parent_span_id, delivery.span_id);
}
