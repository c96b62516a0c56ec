//! What one player may use of a node, and what a node takes: beyond it calls are refused with their reason and told
//! when to come again, and others notice nothing.

use std::time::Duration;

use middleware::{Allowance, Allowances, Limit};
use rules::Seat;
use service::NodeConfig;
use service_tests::{Caller, Cluster, Operation, Setup, connect, soon};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use whattheshell::Client;
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use super::rust_client::{cell, of, turn};
use super::told::assert_is_in_the_table;

/// A node on which a player may do no more than this.
async fn node(player: Allowance) -> Cluster {
    let allowances = Allowances { player, ..Allowances::UNBOUNDED };
    with(NodeConfig { allowances, ..NodeConfig::default() }).await
}

async fn with(config: NodeConfig) -> Cluster {
    Cluster::start(Setup { config, ..Setup::default() }).await
}

/// Checks a refusal, and says when to come again.
fn refused(status: &Status, reason: ErrorReason) -> Duration {
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    let error: ApiError = assert_is_in_the_table("a call beyond a limit", status);
    assert_eq!(error.reason(), reason);
    let wait = error.retry_delay().expect("it says when to come again");
    assert!(!wait.is_zero());
    wait
}

async fn list(caller: &Caller) -> Result<(), Status> {
    soon("an answer", caller.matches().list_matches(v1::ListMatchesRequest::default())).await.map(drop)
}

#[tokio::test]
async fn who_calls_too_often_is_told_when_to_come_again_and_nobody_else_is() {
    let cluster = node(Allowance { calls_per_s: 5, ..Allowance::UNBOUNDED }).await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    // Over another connection he is the same.
    let again = ada.through(cluster.nodes[0].address).await;
    let mut status = None;
    // Twice a second's at once, and what comes back meanwhile on a busy machine.
    for _ in 0..10_000 {
        if let Err(refusal) = list(&ada).await.and(list(&again).await) {
            status = Some(refusal);
            break;
        }
    }
    let wait = refused(&status.expect("there is a limit"), ErrorReason::RateLimited);
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
    list(&bo).await.expect("it is his own doing");
    cluster.backend(0).await.players().get_server_info(v1::GetServerInfoRequest {}).await.unwrap();
}

#[tokio::test]
async fn a_client_that_is_too_fast_plays_on_at_the_pace_that_is_allowed() {
    let cluster = node(Allowance { calls_per_s: 20, ..Allowance::UNBOUNDED }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let client = Client::builder().over(connect(cluster.nodes[0].address).await);
    let black = of(&cluster, &duel, &duel.black, &client).await;
    for _ in 0..60 {
        soon("an answer", black.refresh()).await.expect("it waits and asks again");
    }
    let mut stream = black.watch();
    black.seal(1, cell("A1")).await.unwrap();
    duel.seal(Seat::White, 1, 81).await.unwrap();
    assert_eq!(turn(&mut stream).await.turn, 1);
}

#[tokio::test]
async fn a_stream_too_many_is_refused_until_one_is_closed() {
    let cluster = node(Allowance { streams_max: 2, ..Allowance::UNBOUNDED }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    // Over connections of their own: they are the player's, not the connection's.
    let second = duel.black.through(cluster.nodes[0].address).await;
    let first = duel.black.watch(&duel.name).await.unwrap();
    let _home = second.watch_home().await.unwrap();
    refused(&duel.black.watch(&duel.name).await.unwrap_err(), ErrorReason::StreamLimit);
    duel.white.watch(&duel.name).await.expect("another player has his own");
    list(&duel.black).await.expect("calls are no streams");
    drop(first);
    let opened = async {
        while let Err(status) = duel.black.watch(&duel.name).await {
            refused(&status, ErrorReason::StreamLimit);
        }
    };
    soon("the place of a closed stream", opened).await;
}

#[tokio::test]
async fn a_client_whose_stream_is_one_too_many_gets_it_once_there_is_room() {
    let cluster = node(Allowance { streams_max: 1, ..Allowance::UNBOUNDED }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let client = Client::builder().over(connect(cluster.nodes[0].address).await);
    let black = of(&cluster, &duel, &duel.black, &client).await;
    let mut stream = black.watch();
    duel.play(1, "A1", "I9").await;
    assert_eq!(turn(&mut stream).await.turn, 1);
    // Another device of his takes the only place while the first one is out of sight.
    let error = black.watch();
    let mut error = Box::pin(error);
    let refusal = soon("a refusal", futures::StreamExt::next(&mut error)).await.unwrap().unwrap_err();
    assert_eq!(refusal.reason(), Some(ErrorReason::StreamLimit), "a stream that never came up is a call");
    drop(stream);
    let seen = async {
        loop {
            let mut again = black.watch();
            if let Some(Ok(_)) = futures::StreamExt::next(&mut again).await {
                return again;
            }
        }
    };
    let mut again = soon("the stream", seen).await;
    assert_eq!(turn(&mut again).await.turn, 1);
}

#[tokio::test]
async fn calls_in_flight_have_a_bound_for_each_player_and_for_the_node() {
    let player = Allowance { calls_max: 1, ..Allowance::UNBOUNDED };
    let allowances = Allowances { player, ..Allowances::UNBOUNDED };
    let config = NodeConfig { allowances, calls_in_flight_max: 2, ..NodeConfig::default() };
    let cluster = Cluster::start(Setup { config, ..Setup::default() }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let other = cluster.player(0, "somebody").await;
    let stream = duel.white.watch(&duel.name).await.unwrap();
    let gate = cluster.nodes[0].faults.hold(Operation::Commit);
    let sealing = |seat| {
        let duel = duel.clone();
        tokio::spawn(async move { duel.seal(seat, 1, 40 + u32::from(seat == Seat::White)).await })
    };
    let first = sealing(Seat::Black);
    gate.reached().await;
    refused(&list(&duel.black).await.unwrap_err(), ErrorReason::RateLimited);
    list(&other).await.expect("the node takes another one");
    let second_gate = cluster.nodes[0].faults.hold(Operation::Commit);
    let second = sealing(Seat::White);
    second_gate.reached().await;
    refused(&list(&other).await.unwrap_err(), ErrorReason::Overloaded);
    // Whoever looks after the node gets through, and streams go on.
    let health = cluster.stranger(0).await;
    soon("health", health.health().check(HealthCheckRequest::default())).await.unwrap();
    let operator = cluster.operator(0).await;
    let answer = operator.matches().list_matches(v1::ListMatchesRequest::default()).await.unwrap_err();
    assert_eq!(answer.code(), Code::PermissionDenied, "it is judged, not turned away");
    second_gate.open();
    gate.open();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    list(&duel.black).await.expect("there is room again");
    drop(stream);
}

#[tokio::test]
async fn history_is_sent_again_up_to_a_bound_and_live_turns_beyond_it() {
    let cluster = node(Allowance { resumed_kib_per_min: 2, ..Allowance::UNBOUNDED }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.play(1, "A1", "I9").await;
    duel.play(2, "C1", "G9").await;
    let mut live = duel.black.watch(&duel.name).await.unwrap();
    let mut opened = 0;
    let status = loop {
        match duel.black.watch_after(&duel.name, 0, &[]).await {
            Ok(_) => opened += 1,
            Err(status) => break status,
        }
        assert!(opened < 100, "there is a bound");
    };
    assert!(opened >= 1, "a little is always sent");
    refused(&status, ErrorReason::RateLimited);
    duel.black.watch(&duel.name).await.expect("from the last turn on");
    duel.white.watch_after(&duel.name, 0, &[]).await.expect("another player has his own");
    duel.play(3, "E1", "E9").await;
    assert_eq!(live.turn().await.turn, 3);
}

#[tokio::test]
async fn what_was_refused_is_counted() {
    let config = NodeConfig {
        allowances: Allowances {
            player: Allowance { streams_max: 1, ..Allowance::UNBOUNDED },
            ..Allowances::UNBOUNDED
        },
        ..NodeConfig::default()
    };
    let refusals = std::sync::Arc::clone(&config.refusals);
    let cluster = with(config).await;
    let ada = cluster.player(0, "ada").await;
    let _home = ada.watch_home().await.unwrap();
    ada.watch_home().await.unwrap_err();
    assert_eq!(refusals.of(Limit::StreamsPerPrincipal), 1);
    assert_eq!(refusals.of(Limit::CallRate), 0);
}

#[tokio::test]
async fn everyone_is_told_the_limits_that_he_has_to_know() {
    let cluster = with(NodeConfig::default()).await;
    let stranger = cluster.stranger(0).await;
    let info = stranger.players().get_server_info(v1::GetServerInfoRequest {}).await.unwrap().into_inner();
    let limits = info.limits.unwrap();
    let player = Allowances::default().player;
    assert_eq!(limits.player_calls_per_second, player.calls_per_s);
    assert_eq!(limits.player_calls_max, player.calls_max);
    assert_eq!(limits.player_streams_max, player.streams_max);
    assert_eq!((limits.header_bytes_max, limits.streams_per_connection_max), (16 * 1024, 4_096));
}
