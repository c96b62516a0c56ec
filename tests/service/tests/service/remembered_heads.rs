//! A node that remembers heads saves reads by it, and is never wrong by it: what it remembers may be as old as
//! can be, since here it hears nothing of what the other node does.

use rules::Seat;
use service_tests::{Cluster, Duel, Operation, cell, reason, seconds};
use wire::v1::{self, EndReason, ErrorReason, match_settings};

/// Ada at the first node and Bo at the second, both in turn 1, and both nodes remember.
async fn duel(settings: v1::MatchSettings) -> (Cluster, Duel) {
    let cluster = Cluster::of_two().await;
    cluster.nodes.iter().for_each(|node| node.faults.remember_heads());
    let duel = cluster.duel(settings).await;
    for seat in Seat::BOTH {
        duel.seen_by(seat).await;
    }
    (cluster, duel)
}

fn recorded(cluster: &Cluster, node: usize, wanted: &[Operation]) -> Vec<Operation> {
    let recorded = cluster.nodes[node].faults.recorded();
    recorded.into_iter().filter(|operation| wanted.contains(operation)).collect()
}

const STEPS: [Operation; 3] = [Operation::Load, Operation::Commit, Operation::Turns];

#[tokio::test]
async fn a_seal_is_one_step_of_the_store() {
    let (cluster, mut duel) = duel(Default::default()).await;
    duel.white = duel.white.through(cluster.nodes[0].address).await;
    duel.seen_by(Seat::White).await;
    cluster.nodes[0].faults.record();
    duel.play(1, "A1", "I9").await;
    duel.play(2, "B1", "H9").await;
    assert_eq!(recorded(&cluster, 0, &STEPS), [Operation::Commit; 4]);
}

#[tokio::test]
async fn a_seal_on_an_old_head_counts_after_one_more_try() {
    let (cluster, duel) = duel(Default::default()).await;
    cluster.nodes[1].faults.record();
    // Each node remembers the match as it was before the other's seal.
    duel.play(1, "A1", "I9").await;
    assert_eq!(recorded(&cluster, 1, &STEPS), [Operation::Commit; 2]);
    duel.play(2, "B1", "H9").await;
    assert_eq!(duel.seen_by(Seat::Black).await.turn, 2);
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 2);
}

#[tokio::test]
async fn no_refusal_rests_on_what_is_remembered() {
    let (cluster, duel) = duel(Default::default()).await;
    let elsewhere = duel.white.through(cluster.nodes[0].address).await;
    let elsewhere = Duel { white: elsewhere, ..duel.clone() };
    // The second node remembers turn 1; turn 2 is open.
    elsewhere.play(1, "A1", "I9").await;
    duel.seal(Seat::White, 2, cell("H9")).await.expect("turn 2 is open");
    // It remembers turn 2; a cell that was empty then is refused, one that was not is not.
    elsewhere.seal(Seat::Black, 2, cell("B1")).await.expect("turn 2 is open");
    let occupied = duel.seal(Seat::White, 3, cell("B1")).await.unwrap_err();
    assert_eq!(reason(&occupied), ErrorReason::CellOccupied);
    // A repetition whose turn has resolved elsewhere has its receipt.
    let first = elsewhere.seal(Seat::White, 3, cell("G9")).await.expect("turn 3 is open");
    elsewhere.seal(Seat::Black, 3, cell("C1")).await.expect("turn 3 is open");
    let again = duel.seal(Seat::White, 3, cell("G9")).await.expect("it is a repetition");
    assert_eq!(again, first);
    // The end is told though an open turn is remembered.
    elsewhere.resign(Seat::Black).await.unwrap();
    let over = duel.seal(Seat::White, 4, cell("F9")).await.unwrap_err();
    assert_eq!(reason(&over), ErrorReason::MatchFinished);
}

#[tokio::test]
async fn a_match_is_shown_as_it_is() {
    let (cluster, duel) = duel(Default::default()).await;
    let elsewhere = duel.white.through(cluster.nodes[0].address).await;
    Duel { white: elsewhere, ..duel.clone() }.play(1, "A1", "I9").await;
    assert_eq!(duel.seen_by(Seat::White).await.turn, 1);
    assert_eq!(duel.white.transcript(&duel.name).await.unwrap().turns.len(), 1);
    let snapshot = duel.white.watch(&duel.name).await.unwrap().snapshot().await;
    assert_eq!(snapshot.turn, 1);
}

#[tokio::test]
async fn a_deadline_that_has_passed_counts_whatever_is_remembered() {
    let turn_time = match_settings::TimeControl::TurnTime(seconds(5));
    let settings = v1::MatchSettings { time_control: Some(turn_time), ..Default::default() };
    let (cluster, duel) = duel(settings).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    cluster.ended(&duel.name).await;
    let late = duel.seal(Seat::White, 1, cell("I9")).await.unwrap_err();
    assert_eq!(reason(&late), ErrorReason::MatchFinished);
    assert_eq!(duel.seen_by(Seat::White).await.finish.unwrap().reason(), EndReason::Flag);
}

#[tokio::test]
async fn a_stream_goes_on_by_what_was_read_with_its_hints() {
    let (cluster, duel) = duel(Default::default()).await;
    let mut streams =
        [duel.black.watch(&duel.name).await.unwrap(), duel.white.watch(&duel.name).await.unwrap()];
    for turn in 1..=3 {
        let (black, white) = [("A1", "I9"), ("B1", "H9"), ("C1", "G9")][turn as usize - 1];
        duel.play(turn, black, white).await;
        for stream in &mut streams {
            assert_eq!(stream.turn().await.turn, turn);
        }
    }
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 3);
}
