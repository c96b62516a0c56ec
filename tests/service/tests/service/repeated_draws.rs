//! E1 and D7 of draw offers: an offer or an answer that is sent again has one effect and the same answer,
//! on every node, also after its turn and after the match; a late one never counts for another turn.

use rules::Seat;
use service_tests::{Cluster, Duel, Fault, Operation, cell, soon};
use tonic::{Code, Status};
use wire::v1::{self, DrawOffer, EndReason, ErrorReason, MatchState};

use super::told::assert_is_in_the_table;

/// Matches in which both offer at once.
const OFFERS_AT_ONCE: usize = 40;

/// What a seat asks for in a turn; sent twice it is a repetition.
#[derive(Clone, Copy)]
enum Ask {
    Offer,
    Accept,
    Decline,
}

async fn ask(duel: &Duel, seat: Seat, turn: u32, what: Ask, request_id: &str) -> Result<v1::Match, Status> {
    let mut client = duel.player(seat).matches();
    let (name, player, request_id) = (duel.name.clone(), String::new(), request_id.to_owned());
    let answered = match what {
        Ask::Offer => {
            let request = v1::OfferDrawRequest { name, player, request_id, turn };
            soon("OfferDraw", client.offer_draw(request)).await?.into_inner().r#match
        }
        Ask::Accept | Ask::Decline => {
            let seat = i32::from(seat.opponent().number());
            let accept = matches!(what, Ask::Accept);
            let request = v1::AnswerDrawRequest { name, player, request_id, turn, seat, accept };
            soon("AnswerDraw", client.answer_draw(request)).await?.into_inner().r#match
        }
    };
    Ok(answered.expect("an answer has its match"))
}

/// A match of two nodes, and the same callers at the other node.
async fn duels(cluster: &Cluster) -> (Duel, Duel) {
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let black = duel.black.through(cluster.nodes[1].address).await;
    let white = duel.white.through(cluster.nodes[0].address).await;
    let crossed = Duel { black, white, name: duel.name.clone() };
    (duel, crossed)
}

fn reason(what: &str, refused: Result<v1::Match, Status>) -> ErrorReason {
    assert_is_in_the_table(what, &refused.expect_err(what)).reason()
}

/// White's offer as everybody sees it.
async fn whites_offer(cluster: &Cluster, duel: &Duel) -> DrawOffer {
    cluster.agreed_view(&duel.name).await.unwrap().status.unwrap().white.unwrap().draw_offer()
}

#[tokio::test]
async fn an_offer_and_an_answer_whose_answers_were_lost_are_done_when_they_come_again() {
    let cluster = Cluster::of_two().await;
    let (duel, crossed) = duels(&cluster).await;
    cluster.nodes[1].faults.at(Operation::Commit, 1, Fault::AnswerLost);
    let lost = ask(&duel, Seat::White, 1, Ask::Offer, "o").await.unwrap_err();
    assert_eq!(lost.code(), Code::Unavailable);
    ask(&crossed, Seat::White, 1, Ask::Offer, "o").await.unwrap();
    assert_eq!(whites_offer(&cluster, &duel).await, DrawOffer::Open);

    cluster.nodes[0].faults.at(Operation::Commit, 1, Fault::AnswerLost);
    let lost = ask(&duel, Seat::Black, 1, Ask::Accept, "a").await.unwrap_err();
    assert_eq!(lost.code(), Code::Unavailable);
    let before = cluster.agreed_view(&duel.name).await.unwrap();
    assert_eq!(before.finish.as_ref().unwrap().reason(), EndReason::AgreedDraw);
    for duel in [&duel, &crossed] {
        ask(duel, Seat::Black, 1, Ask::Accept, "a").await.unwrap();
        ask(duel, Seat::White, 1, Ask::Offer, "o").await.unwrap();
    }
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap(), before, "it ended once");
}

#[tokio::test]
async fn repetitions_are_answered_alike_after_their_turn_has_resolved() {
    let cluster = Cluster::of_two().await;
    let (duel, crossed) = duels(&cluster).await;
    ask(&duel, Seat::White, 1, Ask::Offer, "o").await.unwrap();
    ask(&duel, Seat::Black, 1, Ask::Decline, "d").await.unwrap();
    duel.play(1, "A1", "I9").await;
    ask(&duel, Seat::White, 2, Ask::Offer, "p").await.unwrap();
    let before = cluster.agreed_view(&duel.name).await.unwrap();
    for duel in [&duel, &crossed] {
        ask(duel, Seat::White, 1, Ask::Offer, "o").await.unwrap();
        ask(duel, Seat::Black, 1, Ask::Decline, "d").await.unwrap();
        let other = ask(duel, Seat::Black, 1, Ask::Accept, "d").await;
        assert_eq!(reason("another answer", other), ErrorReason::RequestIdReused);
        let late = ask(duel, Seat::Black, 1, Ask::Accept, "late").await;
        assert_eq!(reason("a late answer", late), ErrorReason::TurnClosed);
        let late = ask(duel, Seat::Black, 1, Ask::Offer, "late").await;
        assert_eq!(reason("a late offer", late), ErrorReason::TurnClosed);
    }
    assert_eq!(
        cluster.agreed_view(&duel.name).await.unwrap(),
        before,
        "turn 2 and its offer are as they were"
    );
}

#[tokio::test]
async fn an_answer_that_was_on_its_way_while_the_turn_resolved_agrees_to_nothing() {
    let cluster = Cluster::of_two().await;
    let (duel, crossed) = duels(&cluster).await;
    ask(&duel, Seat::White, 1, Ask::Offer, "o").await.unwrap();
    let gate = cluster.nodes[0].faults.hold(Operation::Commit);
    let delayed = tokio::spawn({
        let duel = duel.clone();
        async move { ask(&duel, Seat::Black, 1, Ask::Accept, "a").await }
    });
    gate.reached().await;
    crossed.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    ask(&duel, Seat::White, 2, Ask::Offer, "p").await.unwrap();
    gate.open();
    assert_eq!(reason("a late answer", delayed.await.unwrap()), ErrorReason::TurnClosed);
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().state(), MatchState::Open);
    assert_eq!(whites_offer(&cluster, &duel).await, DrawOffer::Open, "of turn 2");
}

#[tokio::test]
async fn two_offers_at_the_same_instant_are_an_agreement_and_both_are_told() {
    let cluster = Cluster::of_two().await;
    for _ in 0..OFFERS_AT_ONCE {
        let (duel, _) = duels(&cluster).await;
        let (black, white) = tokio::join!(
            ask(&duel, Seat::Black, 1, Ask::Offer, "o"),
            ask(&duel, Seat::White, 1, Ask::Offer, "o"),
        );
        black.unwrap();
        white.unwrap();
        let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
        assert_eq!(finish.reason(), EndReason::AgreedDraw);
    }
}

#[tokio::test]
async fn an_accept_and_a_seal_at_the_same_instant_come_to_one_end_or_one_turn() {
    let cluster = Cluster::of_two().await;
    for _ in 0..OFFERS_AT_ONCE {
        let (duel, _) = duels(&cluster).await;
        ask(&duel, Seat::White, 1, Ask::Offer, "o").await.unwrap();
        duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
        let (accepted, sealed) = tokio::join!(
            ask(&duel, Seat::Black, 1, Ask::Accept, "a"),
            duel.seal(Seat::White, 1, cell("I9")),
        );
        let seen = cluster.agreed_view(&duel.name).await.unwrap();
        match seen.turn {
            0 => {
                assert!(accepted.is_ok() && sealed.is_err());
                assert_eq!(seen.finish.unwrap().reason(), EndReason::AgreedDraw);
            }
            _ => {
                assert!(sealed.is_ok() && seen.finish.is_none());
                assert_eq!(reason("too late to accept", accepted), ErrorReason::TurnClosed);
            }
        }
    }
}

#[tokio::test]
async fn nobody_answers_for_the_opponent() {
    let cluster = Cluster::of_two().await;
    let (duel, _) = duels(&cluster).await;
    ask(&duel, Seat::White, 1, Ask::Offer, "o").await.unwrap();
    let own = v1::AnswerDrawRequest {
        name: duel.name.clone(),
        request_id: "a".to_owned(),
        turn: 1,
        seat: v1::Seat::White.into(),
        accept: true,
        ..Default::default()
    };
    let refused = duel.white.matches().answer_draw(own.clone()).await.unwrap_err();
    let error = assert_is_in_the_table("one's own offer", &refused);
    assert_eq!(error.reason(), ErrorReason::FieldInvalid);
    assert_eq!(error.fields()[0].field, "seat");
    let stranger = cluster.player(0, "stranger").await;
    let refused = stranger.matches().answer_draw(own.clone()).await.unwrap_err();
    assert_eq!(assert_is_in_the_table("a stranger", &refused).reason(), ErrorReason::NotFound);
    assert_eq!(whites_offer(&cluster, &duel).await, DrawOffer::Open);
    // A back end may, for the player it names.
    let backend = cluster.backend(0).await;
    let for_black = v1::AnswerDrawRequest { player: duel.black.name.clone(), ..own };
    let ended = backend.matches().answer_draw(for_black).await.unwrap().into_inner().r#match.unwrap();
    assert_eq!(ended.finish.unwrap().reason(), EndReason::AgreedDraw);
}
