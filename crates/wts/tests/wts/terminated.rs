//! A3: SIGTERM ends the server within its grace, whoever is still connected.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Streaming};
use tonic_health::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use whattheshell::{ApiError, Client, v1};
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::watch_match_response::Update;

use super::server::Server;

/// How long calls may take to finish once the server is told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// What a busy machine may add to that.
const TOLERANCE: Duration = Duration::from_secs(1);

/// What a client sends first on an HTTP/2 connection, and an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A connection on which this is sent and then nothing.
fn silent(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut connection = TcpStream::connect(server.address()).expect("the server listens");
    connection.write_all(bytes).expect("it is connected");
    connection
}

async fn connect(server: &Server) -> Channel {
    let endpoint = Endpoint::from_shared(server.url()).expect("an address");
    endpoint.connect().await.expect("the server listens")
}

/// A stream of a health service's state that has said SERVING.
async fn health(server: &Server) -> Streaming<HealthCheckResponse> {
    let mut client = HealthClient::new(connect(server).await);
    let mut health = client.watch(HealthCheckRequest::default()).await.expect("it is served").into_inner();
    let first = health.message().await.expect("it goes on").expect("it goes on");
    assert_eq!(first.status, ServingStatus::Serving as i32);
    health
}

/// A match of two players in turn 2, and a stream that waits for it to resolve.
async fn turns(server: &Server) -> (String, Streaming<v1::WatchMatchResponse>) {
    let client = Client::connect(&server.url()).await.expect("the server listens");
    let [ann, bob] = ["players/ann", "players/bob"].map(|player| client.mint_token(player));
    let (ann_token, bob_token) = (ann.await.expect("a token").token, bob.await.expect("a token").token);
    let (ann, bob) =
        (client.player(&ann_token).expect("a token"), client.player(&bob_token).expect("a token"));
    let request = v1::CreateInviteRequest { invitee: "players/bob".to_owned(), ..Default::default() };
    let invite = ann.invite(request).await.expect("it is legal").invite.expect("an invite");
    let accepted = bob.accept_invite(&invite.name, None).await.expect("it is open");
    let (black, white) = (ann.join(&accepted.r#match).await, bob.join(&accepted.r#match).await);
    for (game, cell) in [(black, "E5"), (white, "D4")] {
        game.expect("a seat").seal(1, cell.parse().expect("a cell")).await.expect("it is legal");
    }

    let name = accepted.r#match;
    let mut request = Request::new(v1::WatchMatchRequest { name: name.clone(), ..Default::default() });
    let token = format!("Bearer {bob_token}").parse().expect("a token is ASCII");
    request.metadata_mut().insert("authorization", token);
    let mut client = MatchServiceClient::new(connect(server).await);
    let mut stream = client.watch_match(request).await.expect("it may be watched").into_inner();
    loop {
        let message = stream.message().await.expect("it goes on").expect("it goes on");
        if let Some(Update::Status(status)) = message.update
            && status.turn == 2
        {
            return (name, stream);
        }
    }
}

async fn is_sent_elsewhere(mut stream: Streaming<v1::WatchMatchResponse>) {
    let status = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the match is not over"),
            Err(status) => break status,
        }
    };
    let error = ApiError::from_status(&status).expect("it ends with a reason");
    assert_eq!((status.code(), error.reason()), (Code::Unavailable, v1::ErrorReason::ResumeElsewhere));
    assert_eq!(error.after_turn(), Some(1));
}

#[test]
fn it_ends_within_its_grace_although_everybody_stays_connected() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(directory.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let _silent = [b"".as_slice(), &PREFACE[..12], PREFACE].map(|bytes| silent(&server, bytes));
    let (mut health, (name, turns)) =
        runtime.block_on(async { (health(&server).await, turns(&server).await) });

    server.terminate();
    let told = Instant::now();
    runtime.block_on(async {
        let not_serving = health.message().await.expect("it goes on").expect("it goes on");
        assert_eq!(not_serving.status, ServingStatus::NotServing as i32);
        is_sent_elsewhere(turns).await;
    });
    assert!(told.elapsed() < GRACE, "streams are told at once, not when the grace is over");
    let (ended, _) = server.end();
    assert!(told.elapsed() < GRACE + TOLERANCE, "{:?}", told.elapsed());
    assert_eq!(ended.code(), Some(0));
    drop(health);

    // The directory is free, and the match goes on.
    let server = Server::start(directory.path());
    let game = runtime.block_on(async {
        let client = Client::connect(&server.url()).await?;
        client.player(&client.mint_token("players/ann").await?.token)?.get_match(&name).await
    });
    let game = game.expect("it is served");
    assert_eq!((game.turn, game.state()), (1, v1::MatchState::Open));
}

#[test]
fn it_ends_at_once_when_nobody_is_connected() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(directory.path());
    server.terminate();
    let (ended, took) = server.end();
    assert_eq!(ended.code(), Some(0));
    assert!(took < GRACE / 2, "{took:?}");
}
