//! A node whose connections are served by threads of their own is one node all the same.

use futures::future::join_all;
use rules::Seat;
use service_tests::{Cluster, Duel, Setup, cell};
use tonic::Code;

const WORKERS: usize = 3;

/// More than threads, so that each thread has some.
const CONNECTIONS: usize = 8;

async fn node() -> Cluster {
    Cluster::start(Setup { workers: WORKERS, ..Setup::default() }).await
}

#[tokio::test]
async fn a_turn_is_told_at_once_on_every_connection_of_a_node() {
    let cluster = node().await;
    let duel = cluster.duel(Default::default()).await;
    let mut watching = Vec::new();
    for _ in 0..CONNECTIONS {
        let watcher = duel.white.through(cluster.nodes[0].address).await;
        watching.push(watcher.watch_after(&duel.name, 0, &[]).await.unwrap());
    }
    let black = duel.black.through(cluster.nodes[0].address).await;
    let white = duel.white.through(cluster.nodes[0].address).await;
    let elsewhere = Duel { black, white, ..duel.clone() };
    for (turn, black, white) in [(1, "A1", "I9"), (2, "C1", "G9"), (3, "E1", "E9")] {
        elsewhere.play(turn, black, white).await;
        let told = join_all(watching.iter_mut().map(async |watching| watching.turn().await)).await;
        assert!(told.iter().all(|one| one.turn == turn && *one == told[0]));
    }
}

#[tokio::test]
async fn a_request_repeated_on_another_connection_has_the_same_answer() {
    let cluster = node().await;
    let duel = cluster.duel(Default::default()).await;
    let receipt = duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    for _ in 0..CONNECTIONS {
        let black = duel.black.through(cluster.nodes[0].address).await;
        let again = Duel { black, ..duel.clone() }.seal(Seat::Black, 1, cell("A1")).await.unwrap();
        assert_eq!(again, receipt);
    }
}

#[tokio::test]
async fn a_node_that_is_told_to_stop_sends_the_streams_of_all_its_threads_elsewhere_and_ends_them() {
    let mut cluster = node().await;
    let duel = cluster.duel(Default::default()).await;
    let mut watching = Vec::new();
    for _ in 0..CONNECTIONS {
        let watcher = duel.white.through(cluster.nodes[0].address).await;
        watching.push(watcher.watch_after(&duel.name, 0, &[]).await.unwrap());
    }
    cluster.nodes[0].stop();
    for mut watching in watching {
        let (_, ended) = watching.rest().await;
        assert_eq!(ended.unwrap_err().code(), Code::Unavailable);
    }
    cluster.nodes[0].stopped().await.unwrap();
}
