//! A10 through the Rust client: its pings of ten idle minutes are answered, and earn no GOAWAY.

use std::time::Duration;

use service_tests::{Cluster, Cut};
use whattheshell::{Client, ClientBuilder, v1};

use super::rust_client::{at, cell, status, turn};

/// The pings of ten minutes at the client's own interval.
const PINGS: usize = 10 * 60 / ClientBuilder::KEEP_ALIVE_INTERVAL.as_secs() as usize;

/// The interval here. Whoever counts pings against time is sooner provoked by this than by the client's own.
const INTERVAL: Duration = Duration::from_millis(5);

/// Longer than an answer takes on a busy machine.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// A PING frame of HTTP/2: 9 bytes of head, 8 of body.
const PING_BYTES: usize = 17;

#[tokio::test]
async fn ten_idle_minutes_of_the_clients_pings_keep_the_connection() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let builder = Client::builder().keep_alive(INTERVAL, ANSWER_MAX);
    let black = at(&cluster, &duel, &duel.black, line.address, &builder).await;
    let mut stream = black.watch();
    status(&mut stream, |status| status.turn == 1).await;

    // The match is idle, so nothing else is sent but perhaps a last word about what came before: twice the
    // pings are more than enough of them.
    line.passes_more_than(line.sent() + 2 * PINGS * PING_BYTES).await;
    assert!(stream.is_connected());
    black.seal(1, cell("A1")).await.unwrap();
    duel.seal(rules::Seat::White, 1, 81).await.unwrap();
    assert_eq!(turn(&mut stream).await.turn, 1);
    assert_eq!(line.connections(), 1, "it is the same connection");
}
