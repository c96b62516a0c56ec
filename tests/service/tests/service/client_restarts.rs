//! D10 through the Rust client: nodes restart one after the other under a live clock; its players keep
//! their deadline, their streams and their result.

use futures::StreamExt as _;
use rules::Seat;
use sealing::{EndReason, MatchResult};
use service_tests::{Cluster, seconds, soon};
use tokio::task::JoinHandle;
use whattheshell::{Client, Finish, MatchHandle, MatchStream, Update, v1};
use wire::v1::match_settings::TimeControl;

use super::rust_client::{at, cell};

/// Longer than the drains of two nodes take, in time of the store.
const TURN_S: i64 = 120;

/// Reads a stream to its end: its turns and the finish.
fn followed(mut stream: MatchStream) -> JoinHandle<(Vec<u32>, Finish)> {
    tokio::spawn(async move {
        let mut turns = Vec::new();
        loop {
            match stream.next().await.expect("an end comes before the end").expect("it goes on") {
                Update::Turn(turn) => turns.push(turn.turn),
                Update::Finished(finish) => return (turns, finish),
                _ => {}
            }
        }
    })
}

/// The match's open turn and each player's deadline, as one of them is told.
async fn deadlines(game: &MatchHandle) -> (u32, [Option<prost_types::Timestamp>; 2]) {
    let status = soon("the match", game.refresh()).await.unwrap().status.unwrap();
    let of = |side: Option<v1::SeatStatus>| side.and_then(|side| side.deadline);
    (status.turn, [of(status.black), of(status.white)])
}

#[tokio::test]
async fn a_restart_node_by_node_changes_neither_deadline_nor_result() {
    let mut cluster = Cluster::of_two().await;
    let time_control = Some(TimeControl::TurnTime(seconds(TURN_S)));
    let duel = cluster.duel(v1::MatchSettings { time_control, ..Default::default() }).await;
    let [near, far] = [0, 1].map(|node| cluster.nodes[node].address);
    let black = at(&cluster, &duel, &duel.black, near, &Client::builder()).await;
    let white = at(&cluster, &duel, &duel.white, far, &Client::builder()).await;
    let followers = [followed(black.watch()), followed(white.watch())];
    black.seal(1, cell("A1")).await.unwrap();
    white.seal(1, cell("I9")).await.unwrap();
    let receipt = black.seal(2, cell("C1")).await.unwrap();
    let before = deadlines(&white).await;
    assert!(before.0 == 2 && before.1[1].is_some());
    assert_eq!(deadlines(&black).await, before);

    for node in 0..cluster.nodes.len() {
        cluster.restart_node(node).await;
        for game in [&black, &white] {
            assert_eq!(deadlines(game).await, before, "node {node}");
        }
        let again = soon("the receipt", black.seal(2, cell("C1"))).await.unwrap();
        assert_eq!(again, receipt, "the seal is the same on a node that has restarted");
        cluster.advance_ms(1_000).await;
    }
    cluster.ended(&duel.name).await;

    let transcript = white.transcript().await.unwrap();
    let verified = white.verify_signed(&transcript).await.unwrap();
    assert_eq!((verified.result(), verified.reason()), (Some(MatchResult::BlackWins), Some(EndReason::Flag)));
    let finish = verified.finish.unwrap();
    assert_eq!(finish.message.finish_time, before.1[Seat::White as usize]);
    for follower in followers {
        let (turns, told) = soon("the end of a stream", follower).await.unwrap();
        assert_eq!((turns, &told), (vec![1], &finish), "each turn once, and the same end");
    }
}
