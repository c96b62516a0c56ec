//! Draw offers: one a seat a turn, seen by the opponent, gone with the turn, and never without his consent.

use rules::Seat;
use service_tests::{Cluster, Duel, reason};
use tonic::Status;
use wire::v1::{self, DrawOffer, EndReason, ErrorReason, MatchResult, MatchState};

pub(crate) async fn offer(duel: &Duel, seat: Seat, turn: u32) -> Result<v1::Match, Status> {
    let request = v1::OfferDrawRequest {
        name: duel.name.clone(),
        request_id: format!("offer-{turn}"),
        turn,
        ..Default::default()
    };
    Ok(duel.player(seat).matches().offer_draw(request).await?.into_inner().r#match.unwrap())
}

pub(crate) async fn answer(duel: &Duel, seat: Seat, turn: u32, accept: bool) -> Result<v1::Match, Status> {
    let offerer = if seat == Seat::Black { v1::Seat::White } else { v1::Seat::Black };
    let request = v1::AnswerDrawRequest {
        name: duel.name.clone(),
        request_id: format!("answer-{turn}"),
        turn,
        seat: offerer.into(),
        accept,
        ..Default::default()
    };
    Ok(duel.player(seat).matches().answer_draw(request).await?.into_inner().r#match.unwrap())
}

#[tokio::test]
async fn an_accepted_offer_ends_the_match_for_both() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let mut watching = duel.white.watch(&duel.name).await.unwrap();
    offer(&duel, Seat::Black, 1).await.unwrap();
    let offered = |status: &v1::MatchStatus| status.black.as_ref().unwrap().draw_offer() == DrawOffer::Open;
    watching.status(offered).await;
    let ended = answer(&duel, Seat::White, 1, true).await.unwrap();
    let finish = watching.finished().await;
    assert_eq!(ended.finish.as_ref(), Some(&finish));
    assert_eq!((finish.result(), finish.reason()), (MatchResult::Draw, EndReason::AgreedDraw));
    assert_eq!(answer(&duel, Seat::White, 1, true).await.unwrap(), ended, "repeated, it is the same answer");
}

#[tokio::test]
async fn a_declined_offer_changes_nothing_but_itself() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    offer(&duel, Seat::Black, 1).await.unwrap();
    let seen = answer(&duel, Seat::White, 1, false).await.unwrap();
    assert_eq!(seen.state(), MatchState::Open);
    assert_eq!(seen.status.unwrap().black.unwrap().draw_offer(), DrawOffer::Declined);
    let too_late = v1::AnswerDrawRequest {
        name: duel.name.clone(),
        request_id: "changed-my-mind".to_owned(),
        turn: 1,
        seat: v1::Seat::Black.into(),
        accept: true,
        ..Default::default()
    };
    let refused = duel.white.matches().answer_draw(too_late).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::NoOpenOffer);
}

#[tokio::test]
async fn an_offer_lapses_with_its_turn() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    offer(&duel, Seat::Black, 1).await.unwrap();
    duel.play(1, "A1", "I9").await;
    assert!(answer(&duel, Seat::White, 1, true).await.is_err(), "of a turn that is over");
    let refused = answer(&duel, Seat::White, 2, true).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::NoOpenOffer);
    assert_eq!(offer(&duel, Seat::Black, 2).await.unwrap().state(), MatchState::Open, "he may offer again");
}

#[tokio::test]
async fn two_offers_in_one_turn_through_two_nodes_are_an_agreement() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let (black, white) = tokio::join!(offer(&duel, Seat::Black, 1), offer(&duel, Seat::White, 1));
    black.unwrap();
    white.unwrap();
    let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
    assert_eq!((finish.result(), finish.reason()), (MatchResult::Draw, EndReason::AgreedDraw));
}
