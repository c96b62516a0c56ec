//! F4: a node that is told to stop says NOT_SERVING first, and serves all the same until balancers have seen it.

use std::time::Duration;

use service::NodeConfig;
use service_tests::{Cluster, Setup, connect, soon};
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use wire::ApiError;
use wire::v1::{self, ErrorReason};

/// Longer than a test.
const AN_HOUR: Duration = Duration::from_secs(3_600);

async fn node(drain_delay: Duration) -> Cluster {
    let config = NodeConfig { drain_delay, ..Setup::default().config };
    Cluster::start(Setup { config, ..Setup::default() }).await
}

/// A node that was told to stop and has said so.
async fn told(cluster: &mut Cluster) {
    let mut health = cluster.stranger(0).await.health();
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    let serving = soon("health", watch.message()).await.unwrap().unwrap();
    assert_eq!(serving.status, ServingStatus::Serving as i32);
    cluster.nodes[0].stop();
    let not_serving = soon("health", watch.message()).await.unwrap().unwrap();
    assert_eq!(not_serving.status, ServingStatus::NotServing as i32);
}

#[tokio::test]
async fn calls_streams_and_new_connections_are_served_until_balancers_have_seen_it() {
    let mut cluster = node(AN_HOUR).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    told(&mut cluster).await;
    duel.play(1, "A1", "I9").await;
    assert_eq!(stream.turn().await.turn, 1);
    let late = duel.white.through(cluster.nodes[0].address).await;
    let mut late_stream = late.watch(&duel.name).await.unwrap();
    duel.play(2, "C1", "G9").await;
    assert_eq!(late_stream.turn().await.turn, 2);
}

#[tokio::test]
async fn then_streams_are_sent_elsewhere_and_the_listener_is_closed_last() {
    let mut cluster = node(Duration::from_millis(100)).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    let gate = cluster.nodes[0].faults.hold(service_tests::Operation::Commit);
    let sealing = {
        let duel = duel.clone();
        tokio::spawn(async move { duel.seal(rules::Seat::White, 1, 81).await })
    };
    gate.reached().await;
    told(&mut cluster).await;
    let error = ApiError::from_status(&stream.rest().await.1.unwrap_err()).unwrap();
    assert_eq!(error.reason(), ErrorReason::ResumeElsewhere);
    // While a call is in flight somebody who comes is let in, and sent on.
    let address = cluster.nodes[0].address;
    let channel = connect(address).await;
    drop(channel);
    gate.open();
    sealing.await.unwrap().expect("it had begun");
    drop((stream, duel));
    cluster.nodes[0].stopped().await.unwrap();
    tokio::net::TcpStream::connect(address).await.expect_err("nobody listens any more");
}
