//! D8: seals at and after a deadline, through either node, before or after the tick that finds it passed:
//! the stamps decide, and everyone is told the same winner.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Gate, Operation, START_MS, cell, reason, stamp};
use tonic::Status;
use wire::v1::{self, EndReason, ErrorReason, MatchResult, MatchState};

/// The time of a turn where the settings do not say, ms.
const TURN_MS: u64 = 30_000;

/// Keeps every node from noticing by itself that something is due.
fn hold_clockwork(cluster: &Cluster) -> Gate {
    let gate = Gate::default();
    for node in &cluster.nodes {
        node.faults.always(Operation::Due, Fault::Held(gate.clone()));
    }
    gate
}

async fn white_at(cluster: &Cluster, duel: &Duel, node: usize) -> Caller {
    duel.white.through(cluster.nodes[node].address).await
}

async fn seal(player: &Caller, request: v1::SealMoveRequest) -> Result<v1::SealReceipt, Status> {
    Ok(player.matches().seal_move(request).await?.into_inner().receipt.unwrap())
}

/// Black flags nobody: white's time ran out at the deadline, whenever that was noticed.
async fn assert_white_flagged(cluster: &Cluster, duel: &Duel) {
    let seen = cluster.agreed_view(&duel.name).await.unwrap();
    let finish = seen.finish.expect("the match is over");
    assert_eq!((finish.result(), finish.reason()), (MatchResult::BlackWins, EndReason::Flag));
    assert_eq!(finish.finish_time, stamp(START_MS + TURN_MS));
    assert_eq!(seen.turn, 0);
    for player in [&duel.black, &duel.white] {
        assert_eq!(player.watch(&duel.name).await.unwrap().finished().await, finish);
        assert_eq!(player.transcript(&duel.name).await.unwrap().finish.as_ref(), Some(&finish));
    }
}

#[tokio::test]
async fn a_seal_at_the_deadline_counts() {
    for node in 0..2 {
        let cluster = Cluster::of_two().await;
        let duel = cluster.duel(Default::default()).await;
        duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
        cluster.advance_ms(TURN_MS).await;
        let white = white_at(&cluster, &duel, node).await;
        let receipt = seal(&white, duel.seal_request(Seat::White, 1, cell("I9"))).await.unwrap();
        assert_eq!(receipt.seal_time, stamp(START_MS + TURN_MS));
        cluster.advance_ms(1_000).await;
        let seen = cluster.agreed_view(&duel.name).await.unwrap();
        assert_eq!((seen.state(), seen.turn), (MatchState::Open, 1));
    }
}

#[tokio::test]
async fn a_seal_after_the_deadline_is_too_late_whoever_notices_first() {
    for node in 0..2 {
        for noticed_by_a_tick in [true, false] {
            let cluster = Cluster::of_two().await;
            let duel = cluster.duel(Default::default()).await;
            duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
            let white = white_at(&cluster, &duel, node).await;
            let gate = hold_clockwork(&cluster);
            cluster.advance_ms(TURN_MS + 1).await;
            if noticed_by_a_tick {
                gate.open();
                cluster.stored(&duel.name, |game| game.finish().is_some()).await;
            }
            let late = duel.seal_request(Seat::White, 1, cell("I9"));
            assert_eq!(reason(&seal(&white, late).await.unwrap_err()), ErrorReason::MatchFinished);
            assert_white_flagged(&cluster, &duel).await;
        }
    }
}

#[tokio::test]
async fn a_seal_whose_commit_is_held_up_past_the_deadline_is_too_late() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let _clockwork = hold_clockwork(&cluster);
    cluster.advance_ms(TURN_MS).await;
    let gate = cluster.nodes[1].faults.hold(Operation::Commit);
    let judged_in_time = tokio::spawn({
        let duel = duel.clone();
        async move { duel.seal(Seat::White, 1, cell("I9")).await }
    });
    gate.reached().await;
    cluster.advance_ms(1).await;
    gate.open();
    assert_eq!(reason(&judged_in_time.await.unwrap().unwrap_err()), ErrorReason::MatchFinished);
    assert_white_flagged(&cluster, &duel).await;
}

#[tokio::test]
async fn of_a_seal_and_its_repetition_across_the_deadline_the_stored_one_counts() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    cluster.advance_ms(TURN_MS).await;
    cluster.nodes[1].faults.at(Operation::Commit, 1, Fault::AnswerLost);
    let lost = duel.seal(Seat::White, 1, cell("I9")).await.unwrap_err();
    assert_eq!(reason(&lost), ErrorReason::StoreUnavailable);
    cluster.advance_ms(1).await;
    let other_node = white_at(&cluster, &duel, 0).await;
    let receipt = seal(&other_node, duel.seal_request(Seat::White, 1, cell("I9"))).await.unwrap();
    assert_eq!(receipt.seal_time, stamp(START_MS + TURN_MS));
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}

#[tokio::test]
async fn one_at_the_deadline_and_one_after_it_have_one_winner() {
    for (first, winner) in [(Seat::Black, MatchResult::BlackWins), (Seat::White, MatchResult::WhiteWins)] {
        let cluster = Cluster::of_two().await;
        let duel = cluster.duel(Default::default()).await;
        let _clockwork = hold_clockwork(&cluster);
        cluster.advance_ms(TURN_MS).await;
        duel.seal(first, 1, cell("A1")).await.unwrap();
        cluster.advance_ms(1).await;
        let late = duel.seal(first.opponent(), 1, cell("I9")).await.unwrap_err();
        assert_eq!(reason(&late), ErrorReason::MatchFinished);
        let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
        assert_eq!((finish.result(), finish.reason()), (winner, EndReason::Flag));
    }
}

#[tokio::test]
async fn two_after_the_deadline_draw_whichever_comes_first() {
    for first in Seat::BOTH {
        let cluster = Cluster::of_two().await;
        let duel = cluster.duel(Default::default()).await;
        let _clockwork = hold_clockwork(&cluster);
        cluster.advance_ms(TURN_MS + 1).await;
        for seat in [first, first.opponent()] {
            let late = duel.seal(seat, 1, cell("A1")).await.unwrap_err();
            assert_eq!(reason(&late), ErrorReason::MatchFinished);
        }
        let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
        assert_eq!((finish.result(), finish.reason()), (MatchResult::Draw, EndReason::BothFlagged));
        assert_eq!(finish.finish_time, stamp(START_MS + TURN_MS));
    }
}

#[tokio::test]
async fn both_at_the_deadline_through_two_nodes_resolve_the_turn() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    cluster.advance_ms(TURN_MS).await;
    let (black, white) =
        tokio::join!(duel.seal(Seat::Black, 1, cell("A1")), duel.seal(Seat::White, 1, cell("I9")));
    assert!(black.is_ok() && white.is_ok());
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}
