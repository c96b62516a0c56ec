//! A6, A7: whoever floods a node costs it a bounded amount of memory, loses his connection where he goes too far,
//! and disturbs nobody.

use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use middleware::Limit;
use service::NodeConfig;
use service_tests::{Cluster, Duel, Setup, soon};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use wire::v1;

/// What the memory of this process, server and flooder, may grow by, bytes: far less than what is thrown at it.
const GROWTH_MAX: u64 = 64 * 1024 * 1024;

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it is there");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib * 1024
}

struct Attacker {
    client: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Attacker {
    async fn on(cluster: &Cluster) -> Self {
        let socket = TcpStream::connect(cluster.nodes[0].address).await.unwrap();
        let (client, connection) = h2::client::handshake(socket).await.unwrap();
        Self { client, connection: tokio::spawn(connection) }
    }

    fn request(&self, encoding: &str) -> http::Request<()> {
        let request = http::Request::post("http://wts.test/whattheshell.v1.MatchService/GetMatch")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("grpc-encoding", encoding);
        request.body(()).unwrap()
    }
}

async fn goes_on(duel: &Duel, stream: &mut service_tests::Watching, turn: u32) {
    let cells = ["A1", "C1", "E1", "G1"];
    // Both on one cell collide, and the next turn is as the last one.
    let place = cells[turn as usize % cells.len()];
    duel.play(turn, place, place).await;
    assert_eq!(stream.turn().await.turn, turn);
}

/// A gzip stream, of `blocks` times 258 zeros.
fn bomb(blocks: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut buffer, mut count) = (0_u64, 0);
    let mut push = |bits: u64, length: u32, bytes: &mut Vec<u8>| {
        buffer |= bits << count;
        count += length;
        while count >= 8 {
            bytes.push(buffer as u8);
            buffer >>= 8;
            count -= 8;
        }
    };
    // The last block, with fixed codes: a zero, then the last 258 bytes again and again.
    push(0b011, 3, &mut bytes);
    push(0b0000_1100, 8, &mut bytes);
    for _ in 0..blocks {
        push(0b1010_0011, 8, &mut bytes);
        push(0, 5, &mut bytes);
    }
    push(0, 7 + 8, &mut bytes);
    bytes
}

#[tokio::test]
async fn a_compression_bomb_is_refused_and_its_connection_lives() {
    let cluster = Cluster::of_one().await;
    // Some 30 KiB that become 5 MiB, as often as makes half a gigabyte.
    let bomb = bomb(20_000);
    assert!(bomb.len() < service::REQUEST_BYTES_MAX);
    let mut message = vec![1];
    message.extend_from_slice(&u32::try_from(bomb.len()).unwrap().to_be_bytes());
    message.extend_from_slice(&bomb);
    let message = Bytes::from(message);
    let mut attacker = Attacker::on(&cluster).await;
    let ada = cluster.player(0, "ada").await;
    let before = resident();
    for encoding in ["gzip", "deflate", "zstd", "identity"] {
        for _ in 0..25 {
            attacker.client = attacker.client.ready().await.expect("the connection lives");
            let request = attacker.request(encoding);
            let (answer, mut body) = attacker.client.send_request(request, false).unwrap();
            // It may be answered, and refused, before it has been sent.
            let _ = body.send_data(message.clone(), true);
            let answer = soon("an answer", answer).await.unwrap();
            let status = answer.headers().get("grpc-status").expect("it is refused").to_str().unwrap();
            assert_ne!(status, "0", "{encoding}");
        }
    }
    // The same from somebody who may call.
    for _ in 0..25 {
        let mut request = tonic::Request::new(v1::GetMatchRequest::default());
        request.metadata_mut().insert("grpc-encoding", "gzip".parse().unwrap());
        ada.matches().get_match(request).await.unwrap_err();
    }
    assert!(resident() < before + GROWTH_MAX, "it was unpacked");
    assert!(!attacker.connection.is_finished());
}

#[tokio::test]
async fn calls_that_are_taken_back_at_once_end_their_connection_and_cost_no_memory() {
    let config = Setup::default().config;
    let refusals = std::sync::Arc::clone(&config.refusals);
    let cluster = Cluster::start(Setup { config, ..Setup::default() }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    let before = resident();
    // A peer that sends headers and takes them back, some 100,000 times, over connection after connection.
    let (mut sent, mut lost) = (0, 0);
    while sent < 100_000 && lost < 5 {
        let mut attacker = Attacker::on(&cluster).await;
        while let Ok(client) = soon("a place or the end", attacker.client.clone().ready()).await {
            attacker.client = client;
            let request = attacker.request("identity");
            let Ok((answer, mut body)) = attacker.client.send_request(request, false) else { break };
            body.send_reset(h2::Reason::CANCEL);
            drop(answer);
            sent += 1;
            if sent % 100 == 0 {
                tokio::task::yield_now().await;
            }
            if sent >= 100_000 {
                break;
            }
        }
        lost += usize::from(attacker.connection.is_finished());
    }
    assert!(resident() < before + GROWTH_MAX, "{sent} calls were kept");
    assert!(lost > 0 || refusals.of(Limit::Conduct) > 0, "{sent} resets went unnoticed");
    goes_on(&duel, &mut stream, 1).await;
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

#[tokio::test]
async fn headers_without_an_end_end_their_connection() {
    const HEADERS: u8 = 1;
    const CONTINUATION: u8 = 9;
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    let mut socket = TcpStream::connect(cluster.nodes[0].address).await.unwrap();
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    socket.write_all(&frame(4, 0, 0, &[])).await.unwrap();
    socket.write_all(&frame(HEADERS, 0, 1, &[])).await.unwrap();
    // A header that is not indexed, `a: bbbb…`, again and again: 256 MiB if nobody ended it.
    let mut header = vec![0, 1, b'a', 100];
    header.extend_from_slice(&[b'b'; 100]);
    let piece = frame(CONTINUATION, 0, 1, &header.repeat(150));
    let before = resident();
    let flooded = async {
        for _ in 0..16_384 {
            if socket.write_all(&piece).await.is_err() {
                return;
            }
        }
        panic!("everything was taken");
    };
    soon("the end of the connection", flooded).await;
    assert!(resident() < before + GROWTH_MAX);
    goes_on(&duel, &mut stream, 1).await;
}

#[tokio::test]
async fn credentials_that_are_not_valid_end_their_connection_after_some_hundred() {
    let config = NodeConfig { ..Setup::default().config };
    let refusals = std::sync::Arc::clone(&config.refusals);
    let cluster = Cluster::start(Setup { config, ..Setup::default() }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut attacker = Attacker::on(&cluster).await;
    let flooded = async {
        while let Ok(client) = attacker.client.clone().ready().await {
            attacker.client = client;
            let mut request = attacker.request("identity");
            request.headers_mut().insert("authorization", "Bearer a.b.c".parse().unwrap());
            let Ok((answer, _)) = attacker.client.send_request(request, true) else { return };
            if answer.await.is_err() {
                return;
            }
        }
    };
    soon("the end of the connection", flooded).await;
    assert_eq!(refusals.of(Limit::Conduct), 1);
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    goes_on(&duel, &mut stream, 1).await;
}

#[tokio::test]
async fn a_peer_has_no_more_connections_than_it_may_and_others_have_their_own() {
    let config = NodeConfig { connections_per_peer_max: 3, ..Setup::default().config };
    let refusals = std::sync::Arc::clone(&config.refusals);
    let cluster = Cluster::start(Setup { config, ..Setup::default() }).await;
    let address = cluster.nodes[0].address;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(TcpStream::connect(address).await.unwrap());
    }
    let mut one_more = TcpStream::connect(address).await.unwrap();
    let read = soon("the end of a connection", one_more.read(&mut [0])).await;
    assert_eq!(read.unwrap_or(0), 0, "it was served");
    assert_eq!(refusals.of(Limit::ConnectionsPerPeer), 1);

    // Another address of this machine.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let other = socket.connect(address).await.unwrap();
    let (_client, connection) = soon("a handshake", h2::client::handshake(other)).await.unwrap();
    let other = tokio::spawn(connection);

    // A client of the first one gets through as soon as a place is free.
    let client = whattheshell::Client::builder().deadline(Duration::from_secs(20));
    let client = client.connect_lazy(&format!("http://{address}")).unwrap();
    drop(held.pop());
    let asked = async { while client.server_info().await.is_err() {} };
    soon("an answer", asked).await;
    assert!(!other.is_finished());
}
