//! A10: a client that asks whether the server is still there is answered, and never cut off for asking.

use bytes::{Bytes, BytesMut};
use h2::Ping;
use prost::Message as _;
use service_tests::{Cluster, soon};
use tokio::net::TcpStream;
use wire::v1;

use super::rust_client::token;

/// Pings of ten minutes, one every 10 s: twice as many as the Rust client's, whose interval is 20 s.
const PINGS: usize = 10 * 60 / 10;

/// A gRPC message on the wire.
fn framed(message: &impl prost::Message) -> Bytes {
    let encoded = message.encode_to_vec();
    let mut framed = BytesMut::from(&[0][..]);
    framed.extend_from_slice(&u32::try_from(encoded.len()).unwrap().to_be_bytes());
    framed.extend_from_slice(&encoded);
    framed.freeze()
}

fn call(method: &str, token: &str) -> http::Request<()> {
    let request = http::Request::post(format!("http://wts.test/whattheshell.v1.{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {token}"));
    request.body(()).unwrap()
}

/// The next bytes of a stream that goes on.
async fn next(body: &mut h2::RecvStream) -> Bytes {
    let bytes = soon("a message", body.data()).await.expect("the stream goes on").expect("it is not reset");
    body.flow_control().release_capacity(bytes.len()).unwrap();
    bytes
}

#[tokio::test]
async fn ten_minutes_of_pings_are_answered_with_a_stream_open_and_without() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let token = token(&cluster, &duel.black.name).await;
    let socket = TcpStream::connect(cluster.nodes[0].address).await.unwrap();
    let (mut client, mut connection) = h2::client::handshake(socket).await.unwrap();
    let mut pings = connection.ping_pong().unwrap();
    let connection = tokio::spawn(connection);

    // With nothing open, which gRPC's own servers punish soonest. All at once is harder on the server than
    // any interval: whoever counts pings against time counts these.
    for _ in 0..PINGS {
        soon("the answer to a ping", pings.ping(Ping::opaque())).await.unwrap();
    }
    let (answer, mut request) = client.send_request(call("MatchService/WatchMatch", &token), false).unwrap();
    let watch = v1::WatchMatchRequest { name: duel.name.clone(), after_turn: Some(0), ..Default::default() };
    request.send_data(framed(&watch), true).unwrap();
    let mut stream = soon("the stream", answer).await.unwrap().into_body();
    next(&mut stream).await;
    for _ in 0..PINGS {
        soon("the answer to a ping", pings.ping(Ping::opaque())).await.unwrap();
    }

    // The connection lives: the stream goes on, and a new call is answered.
    duel.play(1, "A1", "I9").await;
    let salt = service_tests::salt(1, rules::Seat::White);
    let mut received = BytesMut::new();
    while !received.windows(salt.len()).any(|window| window == salt) {
        received.extend_from_slice(&next(&mut stream).await);
    }
    client = soon("a free stream", client.ready()).await.expect("no GOAWAY has come");
    let (answer, mut request) =
        client.send_request(call("PlayerService/GetServerInfo", &token), false).unwrap();
    request.send_data(framed(&v1::GetServerInfoRequest {}), true).unwrap();
    let mut body = soon("the answer", answer).await.unwrap().into_body();
    let info = v1::GetServerInfoResponse::decode(next(&mut body).await.slice(5..)).unwrap();
    assert!(!info.server_version.is_empty());
    assert!(!connection.is_finished());
}
