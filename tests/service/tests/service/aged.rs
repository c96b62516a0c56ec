//! A11: a connection that has come of age goes, and what was on it goes on over another one without a gap.

use std::net::SocketAddr;
use std::time::Duration;

use futures::StreamExt as _;
use service::NodeConfig;
use service_tests::{Cluster, Cut, Setup, soon};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use whattheshell::{Client, Update, v1};
use wire::ApiError;
use wire::v1::ErrorReason;

use super::rust_client::{at, cell, turn};
use super::slow_reader::long_game;

/// How old connections get here: they go within the last fifth of it.
const AGE: Duration = Duration::from_millis(400);

async fn node(nodes: usize) -> Cluster {
    let config = NodeConfig { connection_age_max: AGE, ..Setup::default().config };
    Cluster::start(Setup { nodes, config, ..Setup::default() }).await
}

#[tokio::test]
async fn a_stream_of_an_aged_connection_is_told_from_which_turn_to_go_on() {
    let cluster = node(1).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.play(1, "A1", "I9").await;
    let white = duel.white.through(cluster.nodes[0].address).await;
    let mut stream = white.watch_after(&duel.name, 0, &[]).await.unwrap();
    let (_, ended) = stream.rest().await;
    let error = ApiError::from_status(&ended.unwrap_err()).unwrap();
    assert_eq!((error.reason(), error.after_turn()), (ErrorReason::ResumeElsewhere, Some(1)));
}

#[tokio::test]
async fn a_client_moves_to_another_connection_again_and_again_and_loses_no_turn() {
    let cluster = node(1).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let black = at(&cluster, &duel, &duel.black, line.address, &Client::builder()).await;
    let mut stream = black.watch();
    // Every call finds a connection, whichever is going at that moment.
    for (number, cells) in (1..).zip(long_game()) {
        soon("a receipt", black.seal(number, cells.black)).await.unwrap();
        let white = duel.white.through(cluster.nodes[0].address).await;
        let duel = service_tests::Duel { white, ..duel.clone() };
        let sealed = duel.seal(rules::Seat::White, number, cells.white.number().into()).await;
        sealed.expect("a new connection takes calls");
        assert_eq!(turn(&mut stream).await.turn, number);
        if line.connections() >= 4 {
            return;
        }
    }
    panic!("connections do not age");
}

#[tokio::test]
async fn idle_streams_move_and_a_call_in_flight_is_finished() {
    let cluster = node(1).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let black = at(&cluster, &duel, &duel.black, line.address, &Client::builder()).await;
    let mut states = black.watch();
    soon("a snapshot", states.next()).await.unwrap().unwrap();
    let watching = tokio::spawn(async move {
        while let Some(update) = states.next().await {
            assert!(!matches!(update.expect("it is verified"), Update::Finished(_)));
        }
    });
    let gate = cluster.nodes[0].faults.hold(service_tests::Operation::Commit);
    let sealing = black.seal(1, cell("A1"));
    let aged = async {
        gate.reached().await;
        // The stream goes on over a second connection while the call is still on the first one.
        while line.connections() < 2 {
            tokio::task::yield_now().await;
        }
        gate.open();
    };
    let (sealed, ()) = soon("both", async { tokio::join!(sealing, aged) }).await;
    sealed.expect("a call in flight is finished");
    assert!(!watching.is_finished(), "the stream goes on");
    watching.abort();
}

/// A balancer of connections: each goes to where the newest are to go.
async fn balancer(to: watch::Receiver<SocketAddr>) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        let mut lines = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let node = *to.borrow();
            lines.spawn(async move {
                let mut server = TcpStream::connect(node).await.unwrap();
                // It ends when either side does.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, accepting)
}

#[tokio::test]
async fn what_is_on_one_node_moves_to_one_that_joins_and_no_turn_is_lost() {
    let cluster = node(2).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let (newest, to) = watch::channel(cluster.nodes[0].address);
    let (address, _lines) = balancer(to).await;
    let black = at(&cluster, &duel, &duel.black, address, &Client::builder()).await;
    let mut stream = black.watch();
    black.seal(1, cell("A1")).await.unwrap();
    let white = |cluster: &Cluster| duel.white.through(cluster.nodes[1].address);
    service_tests::Duel { white: white(&cluster).await, ..duel.clone() }
        .seal(rules::Seat::White, 1, 81)
        .await
        .unwrap();
    assert_eq!(turn(&mut stream).await.turn, 1);
    newest.send_replace(cluster.nodes[1].address);
    let watching = tokio::spawn(async move { turn(&mut stream).await });
    cluster.nodes[1].subscriptions.become_exactly(1).await;
    cluster.nodes[0].subscriptions.become_exactly(0).await;
    // What the player asks goes there as well.
    black.seal(2, cell("C1")).await.unwrap();
    service_tests::Duel { white: white(&cluster).await, ..duel.clone() }
        .seal(rules::Seat::White, 2, 79)
        .await
        .unwrap();
    assert_eq!(soon("the turn", watching).await.unwrap().turn, 2);
}
