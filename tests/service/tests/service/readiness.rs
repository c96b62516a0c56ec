//! A node is taken out of balance only by a store that has not been writable for long, and comes back by itself.

use service_tests::{Caller, Cluster, Fault, Operation, soon};
use tonic::Streaming;
use tonic_health::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Names that are ready together: the server and two of its services.
const READY_TOGETHER: [&str; 3] = ["", "whattheshell.v1.MatchService", "whattheshell.v1.FeedService"];

fn of(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

async fn check(caller: &Caller, service: &str) -> i32 {
    soon("health", caller.health().check(of(service))).await.unwrap().into_inner().status
}

async fn told(watch: &mut Streaming<HealthCheckResponse>) -> i32 {
    soon("health", watch.message()).await.unwrap().unwrap().status
}

#[tokio::test]
async fn a_store_that_nobody_can_write_to_ends_readiness_after_15_s_and_no_liveness() {
    let (serving, not_serving) = (ServingStatus::Serving as i32, ServingStatus::NotServing as i32);
    let cluster = Cluster::of_two().await;
    let stranger = cluster.stranger(0).await;
    let mut watches = Vec::new();
    for service in READY_TOGETHER {
        let mut watch = stranger.health().watch(of(service)).await.unwrap().into_inner();
        assert_eq!(told(&mut watch).await, serving);
        watches.push(watch);
    }
    let faults = &cluster.nodes[0].faults;
    for fault in [Fault::Refused, Fault::Panic, Fault::AnswerLost] {
        faults.always(Operation::Touch, fault);
        // A failover and more. It is over before anybody has to notice.
        cluster.advance_ms(14_000).await;
        assert_eq!(check(&stranger, "").await, serving);
        cluster.advance_ms(5_000).await;
        for watch in &mut watches {
            assert_eq!(told(watch).await, not_serving);
        }
        assert_eq!(check(&stranger, "liveness").await, serving);
        assert_eq!(check(&cluster.stranger(1).await, "").await, serving, "the other node reaches the store");
        // However long it takes, it lives, and says nothing new.
        cluster.advance_ms(60_000).await;
        assert_eq!(check(&stranger, "liveness").await, serving);

        faults.clear();
        cluster.advance_ms(1_000).await;
        for watch in &mut watches {
            assert_eq!(told(watch).await, serving);
        }
    }
}

#[tokio::test]
async fn failures_that_end_in_time_are_not_added_up() {
    let cluster = Cluster::of_one().await;
    let stranger = cluster.stranger(0).await;
    let faults = &cluster.nodes[0].faults;
    for _ in 0..3 {
        faults.always(Operation::Touch, Fault::Refused);
        cluster.advance_ms(10_000).await;
        faults.clear();
        // The clock touches again once its pause is over; the call shows that it has had its turn.
        faults.record();
        while !faults.recorded().contains(&Operation::Touch) {
            cluster.advance_ms(100).await;
        }
        assert_eq!(check(&stranger, "").await, ServingStatus::Serving as i32);
    }
}

#[tokio::test]
async fn one_shard_that_can_be_written_to_is_enough() {
    let cluster = Cluster::of_one().await;
    let stranger = cluster.stranger(0).await;
    let faults = &cluster.nodes[0].faults;
    let shards = usize::from(cluster.store.shard_count());
    faults.always(Operation::Touch, Fault::Refused);
    for turn in 1..=20 {
        // One of the attempts that come, another each time, and no other.
        faults.at(Operation::Touch, 1 + turn % shards, Fault::Overtaken);
        cluster.advance_ms(1_000).await;
        assert_eq!(check(&stranger, "").await, ServingStatus::Serving as i32);
    }
}
