//! E1 and D7 of reveals: whatever becomes of an answer, a reveal that is sent again has one effect and the
//! same answer, on every node, also after its turn and after the match.

use rules::Seat;
use service_tests::{Cluster, Duel, Fault, Operation, cell, salt, soon};
use tonic::{Code, Status};
use wire::v1::{self, EndReason, ErrorReason, MatchResult, MatchState};

use super::reveals::{commit, commit_in, settings};
use super::told::assert_is_in_the_table;

/// Turns that both reveal at once.
const TURNS_AT_ONCE: u32 = 40;

fn open(seat: Seat) -> v1::OpenMove {
    let name = if seat == Seat::Black { "A1" } else { "I9" };
    v1::OpenMove { cell: cell(name), salt: salt(1, seat) }
}

/// The request by which a seat reveals turn 1; sent twice it is a repetition.
fn request(duel: &Duel, seat: Seat) -> v1::RevealMoveRequest {
    v1::RevealMoveRequest {
        name: duel.name.clone(),
        request_id: format!("reveal-{}", seat.number()),
        turn: 1,
        open: Some(open(seat)),
        ..Default::default()
    }
}

async fn send(duel: &Duel, seat: Seat, request: v1::RevealMoveRequest) -> Result<(), Status> {
    soon("RevealMove", duel.player(seat).matches().reveal_move(request)).await.map(drop)
}

/// A match that waits for reveals of turn 1, and the same callers at the other node.
async fn revealing(cluster: &Cluster) -> (Duel, Duel) {
    let duel = cluster.duel(settings()).await;
    for seat in Seat::BOTH {
        commit(&duel, seat, &open(seat)).await;
    }
    let black = duel.black.through(cluster.nodes[1].address).await;
    let white = duel.white.through(cluster.nodes[0].address).await;
    let crossed = Duel { black, white, name: duel.name.clone() };
    (duel, crossed)
}

#[tokio::test]
async fn a_reveal_whose_answer_was_lost_is_done_when_it_comes_again_elsewhere() {
    let cluster = Cluster::of_two().await;
    let (duel, crossed) = revealing(&cluster).await;
    cluster.nodes[0].faults.at(Operation::Commit, 1, Fault::AnswerLost);
    let lost = send(&duel, Seat::Black, request(&duel, Seat::Black)).await.unwrap_err();
    assert_eq!(lost.code(), Code::Unavailable);
    let before = duel.seen_by(Seat::White).await;
    for _ in 0..2 {
        send(&crossed, Seat::Black, request(&duel, Seat::Black)).await.unwrap();
    }
    assert_eq!(duel.seen_by(Seat::White).await, before, "one effect");
    send(&duel, Seat::White, request(&duel, Seat::White)).await.unwrap();
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}

#[tokio::test]
async fn the_second_reveal_whose_answer_was_lost_has_resolved_the_turn_once() {
    let cluster = Cluster::of_two().await;
    let (duel, crossed) = revealing(&cluster).await;
    send(&duel, Seat::White, request(&duel, Seat::White)).await.unwrap();
    cluster.nodes[0].faults.at(Operation::Commit, 1, Fault::AnswerLost);
    send(&duel, Seat::Black, request(&duel, Seat::Black)).await.unwrap_err();
    let before = cluster.agreed_view(&duel.name).await.unwrap();
    assert_eq!((before.turn, before.state()), (1, MatchState::Open));
    for duel in [&duel, &crossed] {
        for seat in Seat::BOTH {
            send(duel, seat, request(duel, seat)).await.unwrap();
        }
    }
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap(), before);
}

#[tokio::test]
async fn a_repetition_after_the_match_is_over_is_answered_as_it_first_was() {
    let cluster = Cluster::of_two().await;
    // Turn 1 is resolved; of another match it never was.
    let (resolved, crossed) = revealing(&cluster).await;
    for seat in Seat::BOTH {
        send(&resolved, seat, request(&resolved, seat)).await.unwrap();
    }
    resolved.resign(Seat::White).await.unwrap();
    for seat in Seat::BOTH {
        send(&crossed, seat, request(&resolved, seat)).await.unwrap();
    }
    let (cut_off, crossed) = revealing(&cluster).await;
    send(&cut_off, Seat::Black, request(&cut_off, Seat::Black)).await.unwrap();
    cut_off.resign(Seat::White).await.unwrap();
    send(&crossed, Seat::Black, request(&cut_off, Seat::Black)).await.unwrap();
    let refused = send(&crossed, Seat::White, request(&cut_off, Seat::White)).await.unwrap_err();
    assert_eq!(assert_is_in_the_table("a reveal", &refused).reason(), ErrorReason::MatchFinished);
}

#[tokio::test]
async fn the_same_request_with_another_opening_is_refused_and_changes_nothing() {
    let cluster = Cluster::of_two().await;
    let (duel, crossed) = revealing(&cluster).await;
    send(&duel, Seat::Black, request(&duel, Seat::Black)).await.unwrap();
    let other = v1::RevealMoveRequest {
        open: Some(v1::OpenMove { salt: vec![7; 32], ..open(Seat::Black) }),
        ..request(&duel, Seat::Black)
    };
    for resolves in [true, false] {
        let before = duel.seen_by(Seat::Black).await;
        let refused = send(&crossed, Seat::Black, other.clone()).await.unwrap_err();
        let error = assert_is_in_the_table("another opening", &refused);
        assert_eq!(error.reason(), ErrorReason::RequestIdReused);
        assert_eq!(duel.seen_by(Seat::Black).await, before);
        if resolves {
            send(&duel, Seat::White, request(&duel, Seat::White)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_reveal_that_was_on_its_way_while_its_retry_won_finds_it_done() {
    let cluster = Cluster::of_two().await;
    let (duel, crossed) = revealing(&cluster).await;
    let gate = cluster.nodes[0].faults.hold(Operation::Commit);
    let delayed = tokio::spawn({
        let duel = duel.clone();
        async move { send(&duel, Seat::Black, request(&duel, Seat::Black)).await }
    });
    gate.reached().await;
    send(&crossed, Seat::Black, request(&duel, Seat::Black)).await.unwrap();
    send(&duel, Seat::White, request(&duel, Seat::White)).await.unwrap();
    duel.resign(Seat::White).await.unwrap();
    let before = cluster.agreed_view(&duel.name).await.unwrap();
    gate.open();
    delayed.await.unwrap().unwrap();
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap(), before);
}

#[tokio::test]
async fn a_reveal_that_was_on_its_way_at_the_deadline_comes_too_late() {
    let cluster = Cluster::of_two().await;
    let (duel, _) = revealing(&cluster).await;
    send(&duel, Seat::White, request(&duel, Seat::White)).await.unwrap();
    let gate = cluster.nodes[0].faults.hold(Operation::Commit);
    let delayed = tokio::spawn({
        let duel = duel.clone();
        async move { send(&duel, Seat::Black, request(&duel, Seat::Black)).await }
    });
    gate.reached().await;
    cluster.advance_ms(11_000).await;
    cluster.stored(&duel.name, |game| game.finish().is_some()).await;
    gate.open();
    let refused = delayed.await.unwrap().unwrap_err();
    assert_eq!(assert_is_in_the_table("a late reveal", &refused).reason(), ErrorReason::MatchFinished);
    let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
    assert_eq!((finish.result(), finish.reason()), (MatchResult::WhiteWins, EndReason::FailedReveal));
}

#[tokio::test]
async fn two_reveals_at_the_same_instant_both_count_and_the_turn_resolves_once() {
    let cluster = Cluster::of_two().await;
    for _ in 0..TURNS_AT_ONCE {
        let (duel, _) = revealing(&cluster).await;
        let mut watching = duel.white.watch(&duel.name).await.unwrap();
        let (black, white) = tokio::join!(
            send(&duel, Seat::Black, request(&duel, Seat::Black)),
            send(&duel, Seat::White, request(&duel, Seat::White)),
        );
        black.unwrap();
        white.unwrap();
        assert_eq!(watching.turn().await.turn, 1);
        assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
    }
}

#[tokio::test]
async fn a_reveal_of_an_occupied_cell_loses_once_the_other_is_in() {
    let cluster = Cluster::of_two().await;
    let (duel, _) = revealing(&cluster).await;
    for seat in Seat::BOTH {
        send(&duel, seat, request(&duel, seat)).await.unwrap();
    }
    let lost = commit_in(&duel, Seat::Black, 2, &open(Seat::White)).await;
    assert_eq!(lost.turn, 2, "a commitment hides that its cell is occupied");
    let good = v1::OpenMove { cell: cell("E5"), salt: salt(2, Seat::White) };
    commit_in(&duel, Seat::White, 2, &good).await;
    for (seat, open) in [(Seat::Black, open(Seat::White)), (Seat::White, good)] {
        let request = v1::RevealMoveRequest {
            turn: 2,
            request_id: "second".to_owned(),
            open: Some(open),
            ..request(&duel, seat)
        };
        send(&duel, seat, request).await.unwrap();
    }
    let ended = cluster.agreed_view(&duel.name).await.unwrap();
    let finish = ended.finish.unwrap();
    assert_eq!((finish.result(), finish.reason()), (MatchResult::WhiteWins, EndReason::FailedReveal));
    assert_eq!((ended.turn, finish.white_unresolved_commitment.len()), (1, 32));
}
