//! A9: a connection with as many streams as the server allows does not swallow a call: it completes or
//! fails by its deadline, and has its effect at most once.

use std::time::{Duration, Instant};

use rules::Seat;
use service_tests::{Caller, Cluster, connect, soon};
use tokio::sync::watch::Sender;
use tokio::task::JoinSet;
use whattheshell::{Client, v1};
use wire::v1::ErrorReason;

use super::rust_client::{cell, of};

/// Calls and streams that the server allows at once on one connection.
const STREAMS_MAX: usize = 4_096;

const DEADLINE: Duration = Duration::from_secs(1);

/// What a deadline may be missed by on a busy machine.
const TOLERANCE: Duration = Duration::from_secs(5);

/// Reads a stream of the match to its end and counts what comes.
async fn watch(caller: Caller, name: String, received: Sender<usize>) {
    let request = v1::WatchMatchRequest { name, ..Default::default() };
    let mut stream =
        caller.matches().watch_match(request).await.expect("the limit is not reached yet").into_inner();
    while let Ok(Some(_)) = stream.message().await {
        received.send_modify(|count| *count += 1);
    }
}

#[tokio::test]
async fn a_seal_beyond_the_limit_completes_or_fails_by_its_deadline() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let channel = connect(cluster.nodes[0].address).await;
    let client = Client::builder().deadline(DEADLINE).over(channel.clone());
    let black = of(&cluster, &duel, &duel.black, &client).await;

    let watcher = Caller::new(&duel.black.name, duel.black.credential.clone(), channel);
    let mut streams = JoinSet::new();
    let received = Sender::new(0);
    let mut last = None;
    for _ in 0..STREAMS_MAX {
        last = Some(streams.spawn(watch(watcher.clone(), duel.name.clone(), received.clone())));
    }
    // A snapshot and a status each.
    let mut count = received.subscribe();
    soon("every stream", count.wait_for(|count| *count == 2 * STREAMS_MAX)).await.unwrap();
    cluster.nodes[0].subscriptions.become_exactly(STREAMS_MAX).await;

    let started = Instant::now();
    let error = soon("an answer", black.seal(1, cell("A1"))).await.expect_err("nothing is free");
    assert!(started.elapsed() < DEADLINE + TOLERANCE, "{:?}", started.elapsed());
    assert_eq!(error.reason(), Some(ErrorReason::DeadlineExceeded));
    assert!(error.is_uncertain(), "the player may try again");
    assert_eq!(duel.seen_by(Seat::Black).await.status.unwrap().own_seal, None, "it did not get through");

    last.unwrap().abort();
    // A busy machine may take longer than the deadline; whoever tries again gets the one seal there is.
    let receipt = loop {
        match soon("an answer", black.seal(1, cell("A1"))).await {
            Ok(receipt) => break receipt,
            Err(error) => assert!(error.is_uncertain(), "{error}"),
        }
    };
    let own = duel.seen_by(Seat::Black).await.status.unwrap().own_seal.unwrap();
    assert_eq!(own.commitment, receipt.commitment);
}
