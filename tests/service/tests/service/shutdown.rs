//! A node that is told to stop says so, finishes what it has begun, and sends its streams elsewhere.

use std::time::Duration;

use rules::Seat;
use service_tests::{Cluster, Operation, cell, soon};
use tonic::Code;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use wire::ApiError;
use wire::v1::ErrorReason;

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
