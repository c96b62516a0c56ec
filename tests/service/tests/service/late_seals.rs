//! D7: a seal that arrives late or twice is answered as it first was, or refused, and the turn that is open
//! by then is untouched.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Operation, cell};
use tonic::Code;
use wire::ApiError;
use wire::v1::{self, ErrorReason};

/// Turn 1 is played and black has sealed turn 2.
async fn in_turn_two(cluster: &Cluster) -> (Duel, v1::SealReceipt) {
    let duel = cluster.duel(Default::default()).await;
    let first = duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    duel.seal(Seat::Black, 2, cell("B2")).await.unwrap();
    (duel, first)
}

/// Black at each node.
async fn black_everywhere(cluster: &Cluster, duel: &Duel) -> Vec<Caller> {
    let mut callers = Vec::new();
    for node in &cluster.nodes {
        callers.push(duel.black.through(node.address).await);
    }
    callers
}

async fn views(duel: &Duel) -> [v1::Match; 2] {
    [duel.seen_by(Seat::Black).await, duel.seen_by(Seat::White).await]
}

#[tokio::test]
async fn a_repetition_gets_the_first_receipt_and_changes_nothing() {
    let cluster = Cluster::of_two().await;
    let (duel, first) = in_turn_two(&cluster).await;
    cluster.advance_ms(500).await;
    let before = views(&duel).await;
    for black in black_everywhere(&cluster, &duel).await {
        let again = duel.seal_request(Seat::Black, 1, cell("A1"));
        for _ in 0..2 {
            let receipt = black.matches().seal_move(again.clone()).await.unwrap().into_inner().receipt;
            assert_eq!(receipt.as_ref(), Some(&first), "stamp and all");
        }
    }
    assert_eq!(views(&duel).await, before);
}

#[tokio::test]
async fn a_late_seal_of_another_intent_is_refused_and_changes_nothing() {
    let cluster = Cluster::of_two().await;
    let (duel, _) = in_turn_two(&cluster).await;
    let before = views(&duel).await;
    let sealed = duel.seal_request(Seat::Black, 1, cell("A1"));
    let anew = v1::SealMoveRequest { request_id: "anew".to_owned(), ..sealed.clone() };
    let elsewhere = duel.seal_request(Seat::Black, 1, cell("C3"));
    for black in black_everywhere(&cluster, &duel).await {
        for (request, reason, code) in [
            (anew.clone(), ErrorReason::AlreadySealed, Code::FailedPrecondition),
            (elsewhere.clone(), ErrorReason::RequestIdReused, Code::InvalidArgument),
        ] {
            let refused = black.matches().seal_move(request).await.unwrap_err();
            assert_eq!(refused.code(), code);
            assert_eq!(ApiError::from_status(&refused).unwrap().reason(), reason);
        }
    }
    assert_eq!(views(&duel).await, before);
}

#[tokio::test]
async fn a_seal_that_was_on_its_way_while_its_retry_won_finds_it_done() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let elsewhere = Duel { black: duel.black.through(cluster.nodes[1].address).await, ..duel.clone() };
    let gate = cluster.nodes[0].faults.hold(Operation::Commit);

    let delayed = tokio::spawn({
        let duel = duel.clone();
        async move { duel.seal(Seat::Black, 1, cell("A1")).await }
    });
    gate.reached().await;
    let retried = elsewhere.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    elsewhere.seal(Seat::Black, 2, cell("B2")).await.unwrap();
    let before = views(&duel).await;

    gate.open();
    assert_eq!(delayed.await.unwrap().unwrap(), retried);
    assert_eq!(views(&duel).await, before, "turn 2 is as it was");
    duel.seal(Seat::White, 2, cell("H8")).await.unwrap();
    let transcript = duel.white.transcript(&duel.name).await.unwrap();
    let cells: Vec<_> = transcript.turns.iter().map(|turn| turn.black.as_ref().unwrap().cell).collect();
    assert_eq!(cells, [cell("A1"), cell("B2")]);
}

#[tokio::test]
async fn a_receipt_can_be_had_again_after_the_match_is_over() {
    let cluster = Cluster::of_two().await;
    let (duel, first) = in_turn_two(&cluster).await;
    let second = duel.seal(Seat::Black, 2, cell("B2")).await.unwrap();
    duel.resign(Seat::White).await.unwrap();
    assert_eq!(duel.seal(Seat::Black, 1, cell("A1")).await.unwrap(), first);
    assert_eq!(duel.seal(Seat::Black, 2, cell("B2")).await.unwrap(), second, "of the turn that was cut off");
    let refused = duel.seal(Seat::White, 2, cell("H8")).await.unwrap_err();
    assert_eq!(ApiError::from_status(&refused).unwrap().reason(), ErrorReason::MatchFinished);
}
