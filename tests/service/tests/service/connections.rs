//! Connections that say nothing take no place for long, and those over the limit wait their turn.

use std::time::{Duration, Instant};

use service_tests::{Cluster, Setup, soon};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;

/// What every HTTP/2 connection begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// An empty SETTINGS frame, and a PING frame up to its eight bytes.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0];
const PING_ANSWER: &[u8] = &[0, 0, 8, 6, 1, 0, 0, 0, 0];

/// Far longer than a test.
const AN_HOUR: Duration = Duration::from_secs(3_600);

async fn node(connections_max: usize, first_bytes_timeout: Duration) -> Cluster {
    Cluster::start(Setup { connections_max, first_bytes_timeout, ..Setup::default() }).await
}

async fn silent(cluster: &Cluster) -> TcpStream {
    TcpStream::connect(cluster.nodes[0].address).await.unwrap()
}

/// Waits until the server has closed a connection.
async fn closed(mut silent: TcpStream) {
    // A reset is an end as well.
    let rest = soon("the end of a connection", silent.read(&mut [0])).await.unwrap_or(0);
    assert_eq!(rest, 0, "nobody asked anything");
}

/// The server answers on a connection whose preface has been sent.
async fn answers_a_ping(speaking: &mut TcpStream) {
    let opaque = b"stillyou";
    speaking.write_all(&[SETTINGS, PING, opaque].concat()).await.unwrap();
    let expected = [PING_ANSWER, opaque].concat();
    let mut heard = Vec::new();
    while !heard.windows(expected.len()).any(|window| window == expected) {
        let read = soon("the answer to a ping", speaking.read_buf(&mut heard)).await.unwrap();
        assert_ne!(read, 0, "a connection that speaks was closed");
    }
}

/// Somebody new comes and is served.
async fn serves_another(cluster: &Cluster) {
    let stranger = cluster.stranger(0).await;
    let mut health = stranger.health();
    let answer = soon("an answer", health.check(HealthCheckRequest::default())).await.unwrap();
    assert_eq!(answer.into_inner().status, ServingStatus::Serving as i32);
}

#[tokio::test]
async fn a_client_is_served_as_soon_as_one_of_too_many_silent_connections_ends() {
    let cluster = node(2, AN_HOUR).await;
    let (one, _other) = (silent(&cluster).await, silent(&cluster).await);
    let mut waiting = silent(&cluster).await;
    waiting.write_all(PREFACE).await.unwrap();
    drop(one);
    answers_a_ping(&mut waiting).await;
    drop(waiting);
    serves_another(&cluster).await;
}

#[tokio::test]
async fn silent_connections_are_closed_one_after_another_where_only_one_is_served_at_once() {
    let timeout = Duration::from_millis(50);
    let cluster = node(1, timeout).await;
    let start = Instant::now();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(silent(&cluster).await);
    }
    serves_another(&cluster).await;
    assert!(start.elapsed() >= timeout * 4, "they were served side by side");
    for silent in held {
        closed(silent).await;
    }
}

#[tokio::test]
async fn a_connection_without_its_first_bytes_is_closed_and_one_with_them_stays() {
    let timeout = Duration::from_millis(200);
    let cluster = node(100, timeout).await;
    let mut speaking = silent(&cluster).await;
    speaking.write_all(PREFACE).await.unwrap();
    let start = Instant::now();
    let mut stammering = silent(&cluster).await;
    stammering.write_all(&PREFACE[..23]).await.unwrap();
    let nothing = silent(&cluster).await;
    tokio::join!(closed(stammering), closed(nothing));
    assert!(start.elapsed() >= timeout, "they had less time than is promised");

    answers_a_ping(&mut speaking).await;
}
