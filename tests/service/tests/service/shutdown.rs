//! A node that is told to stop says so, finishes what it has begun, and sends its streams elsewhere.

use std::time::Duration;

use rules::Seat;
use service_tests::{Cluster, Cut, Operation, cell, soon};
use tonic::Code;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use wire::ApiError;
use wire::v1::ErrorReason;

use super::told::assert_is_in_the_table;

#[tokio::test]
async fn a_stream_is_told_to_resume_elsewhere_and_goes_on_there_without_a_gap() {
    let mut cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let white = duel.white.through(cluster.nodes[0].address).await;
    let mut watching = white.watch_after(&duel.name, 0, &[]).await.unwrap();
    duel.play(1, "A1", "I9").await;
    duel.play(2, "C1", "G9").await;
    watching.turn().await;
    let hash = watching.turn().await.hash;

    cluster.nodes[0].stop();
    let (_, ended) = watching.rest().await;
    let status = ended.unwrap_err();
    let error = ApiError::from_status(&status).unwrap();
    assert_eq!((status.code(), error.reason()), (Code::Unavailable, ErrorReason::ResumeElsewhere));
    assert_eq!(error.after_turn(), Some(2));
    assert_eq!(error.retry_delay(), Some(Duration::from_millis(100)));
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "100");

    let black = duel.black.through(cluster.nodes[1].address).await;
    let elsewhere = service_tests::Duel { black, ..duel.clone() };
    elsewhere.play(3, "E1", "E9").await;
    let mut resumed = duel.white.watch_after(&duel.name, 2, &hash).await.unwrap();
    assert_eq!(resumed.turn().await.turn, 3);
}

#[tokio::test]
async fn a_player_s_stream_is_told_to_resume_elsewhere_and_shows_there_what_waits() {
    let mut cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    cluster.settled(&duel.name).await;
    let mut home = duel.black.watch_home().await.unwrap();
    let shown = home.state(|_| true).await;

    cluster.nodes[0].stop();
    let (_, status) = home.rest().await;
    let error = ApiError::from_status(&status).unwrap();
    assert_eq!((status.code(), error.reason()), (Code::Unavailable, ErrorReason::ResumeElsewhere));
    assert_eq!(error.retry_delay(), Some(Duration::from_millis(100)));
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "100");
    cluster.nodes[0].stopped().await.unwrap();

    let black = duel.black.through(cluster.nodes[1].address).await;
    assert_eq!(black.watch_home().await.unwrap().state(|_| true).await, shown);
}

#[tokio::test]
async fn calls_that_arrive_while_a_node_goes_down_are_sent_elsewhere_before_they_begin() {
    let mut cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    // Black's line is so slow that he does not hear that the node goes down before he calls.
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let black = duel.black.through(line.address).await;
    let slow = service_tests::Duel { black, ..duel.clone() };
    slow.seen_by(Seat::Black).await;
    line.hold_back_answers();
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    cluster.nodes[0].stop();
    stream.rest().await.1.expect_err("the node goes down");

    let (sealing, watching, sent) = (slow.clone(), slow.clone(), line.sent());
    let sealed = tokio::spawn(async move { sealing.seal(Seat::Black, 1, cell("A1")).await });
    line.passes_more_than(sent).await;
    let sent = line.sent();
    let opened = tokio::spawn(async move { watching.black.watch(&watching.name).await });
    line.passes_more_than(sent).await;
    line.let_go();
    for status in [sealed.await.unwrap().unwrap_err(), opened.await.unwrap().unwrap_err()] {
        let error = assert_is_in_the_table("a call at a node that goes down", &status);
        assert_eq!(error.reason(), ErrorReason::ShuttingDown);
        assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "100");
    }
    // It has not begun: its id is free for another move elsewhere.
    let black = duel.black.through(cluster.nodes[1].address).await;
    service_tests::Duel { black, ..duel }.seal(Seat::Black, 1, cell("B1")).await.unwrap();
}

#[tokio::test]
async fn health_says_not_serving_first_and_calls_in_flight_still_finish() {
    let mut cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let stranger = cluster.stranger(0).await;
    let services = ["", "whattheshell.v1.MatchService", "whattheshell.v1.PlayerService"];
    let mut watches = Vec::new();
    for service in services {
        let request = HealthCheckRequest { service: service.to_owned() };
        let mut watch = stranger.health().watch(request).await.unwrap().into_inner();
        let first = soon("health", watch.message()).await.unwrap().unwrap();
        assert_eq!(first.status, ServingStatus::Serving as i32);
        watches.push(watch);
    }
    let gate = cluster.nodes[0].faults.hold(Operation::Commit);
    let sealing = tokio::spawn({
        let duel = duel.clone();
        async move { duel.seal(Seat::Black, 1, cell("A1")).await }
    });
    gate.reached().await;

    cluster.nodes[0].stop();
    for mut watch in watches {
        let told = soon("health", watch.message()).await.unwrap().unwrap();
        assert_eq!(told.status, ServingStatus::NotServing as i32);
    }
    gate.open();
    sealing.await.unwrap().expect("a call that has begun is finished");
    drop((stranger, duel));
    cluster.nodes[0].stopped().await.unwrap();
}
