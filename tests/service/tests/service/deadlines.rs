//! A5: what a caller does not wait for any longer, the server does not keep.

use std::time::Duration;

use rules::Seat;
use service_tests::{Caller, Cluster, Cut, Duel, Operation, Watching, cell, soon};
use tonic::{Request, Status};
use wire::v1::{self, ErrorReason};

use super::told::assert_is_in_the_table;

/// The deadline of a stream here: long enough to open it on a busy machine.
const DEADLINE: Duration = Duration::from_millis(500);

async fn watch_until_deadline(caller: &Caller, duel: &Duel) -> Watching {
    let message = v1::WatchMatchRequest { name: duel.name.clone(), ..Default::default() };
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    let mut stream = caller.watch_with(request).await.unwrap();
    stream.snapshot().await;
    stream.status(|_| true).await;
    stream
}

fn assert_deadline_exceeded(status: &Status) {
    let error = assert_is_in_the_table("a stream past its deadline", status);
    assert_eq!(error.reason(), ErrorReason::DeadlineExceeded);
}

#[tokio::test]
async fn a_quiet_stream_ends_at_its_deadline_and_its_subscription_with_it() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let subscriptions = &cluster.nodes[0].subscriptions;
    // Another stream on the same connection, without a deadline.
    let mut patient = duel.black.watch(&duel.name).await.unwrap();
    let mut hasty = watch_until_deadline(&duel.black, &duel).await;
    subscriptions.become_exactly(2).await;

    let (updates, end) = hasty.rest().await;
    assert_eq!(updates, [], "nothing happened");
    assert_deadline_exceeded(&end.unwrap_err());
    subscriptions.become_exactly(1).await;

    duel.play(1, "A1", "I9").await;
    assert_eq!(patient.turn().await.turn, 1);
}

#[tokio::test]
async fn a_quiet_player_s_stream_ends_at_its_deadline_and_its_subscriptions_with_it() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    cluster.settled(&duel.name).await;
    let subscriptions = &cluster.nodes[0].subscriptions;
    let mut patient = duel.black.watch_home().await.unwrap();
    patient.state(|_| true).await;
    let mut request = Request::new(v1::WatchPlayerRequest::default());
    request.set_timeout(DEADLINE);
    let mut hasty = duel.black.watch_home_with(request).await.unwrap();
    hasty.state(|_| true).await;
    // One for the live match that each shows.
    subscriptions.become_exactly(2).await;

    let (updates, end) = hasty.rest().await;
    assert_eq!(updates, [], "nothing happened");
    assert_deadline_exceeded(&end);
    subscriptions.become_exactly(1).await;

    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    patient.state(|state| !state.matches[0].move_due).await;
    drop(patient);
    subscriptions.become_exactly(0).await;
}

#[tokio::test]
async fn a_stream_that_is_held_by_the_store_ends_at_its_deadline() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut stream = watch_until_deadline(&duel.black, &duel).await;
    let gate = cluster.nodes[0].faults.hold(Operation::Load);
    duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    gate.reached().await;
    assert_deadline_exceeded(&stream.rest().await.1.unwrap_err());
    gate.given_up().await;
    cluster.nodes[0].subscriptions.become_exactly(0).await;
}

#[tokio::test]
async fn a_stream_is_held_no_longer_than_its_reader() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let subscriptions = &cluster.nodes[0].subscriptions;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let white = duel.white.through(line.address).await;
    let cancelled = duel.black.watch(&duel.name).await.unwrap();
    let mut broken = white.watch(&duel.name).await.unwrap();
    broken.snapshot().await;
    subscriptions.become_exactly(2).await;

    drop(cancelled);
    subscriptions.become_exactly(1).await;
    line.cut();
    subscriptions.become_exactly(0).await;
    broken.rest().await.1.expect_err("a connection that breaks is no end");
}

#[tokio::test]
async fn a_call_that_the_store_does_not_answer_ends_at_its_deadline() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let gate = cluster.nodes[0].faults.hold(Operation::Load);
    let mut request = Request::new(v1::GetMatchRequest { name: duel.name.clone(), ..Default::default() });
    request.set_timeout(DEADLINE);
    let answer = soon("an answer", duel.black.matches().get_match(request)).await;
    answer.expect_err("the store does not answer");
    gate.given_up().await;
    duel.black.get(&duel.name).await.expect("the connection goes on");
}

#[tokio::test]
async fn a_stream_that_nobody_reads_is_freed_at_its_deadline() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let endpoint =
        tonic::transport::Endpoint::from_shared(format!("http://{}", cluster.nodes[0].address)).unwrap();
    let channel = endpoint.initial_stream_window_size(256).connect().await.unwrap();
    let reader = Caller::new(&duel.black.name, duel.black.credential.clone(), channel);
    let message = v1::WatchMatchRequest { name: duel.name.clone(), ..Default::default() };
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    let mut stream = reader.watch_with(request).await.unwrap();
    cluster.nodes[0].subscriptions.become_exactly(1).await;
    duel.play(1, "A1", "I9").await;
    duel.play(2, "A2", "I8").await;
    cluster.nodes[0].subscriptions.become_exactly(0).await;
    assert_deadline_exceeded(&stream.rest().await.1.unwrap_err());
}
