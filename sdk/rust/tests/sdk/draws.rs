//! Offering and answering draws.

use whattheshell::v1;

use crate::fake::{Fake, black};
use crate::history::{History, open_turn};

#[tokio::test]
async fn an_offer_and_an_answer_name_turn_and_seat_and_are_intents_of_their_own() {
    let (fake, game) = black(Fake::new(&History::new())).await;
    game.offer_draw(1).await.unwrap();
    game.offer_draw(2).await.unwrap();
    game.answer_draw(1, false).await.unwrap();
    game.answer_draw(2, true).await.unwrap();
    let [first, second] = &fake.offers()[..] else { panic!("two offers") };
    assert_eq!((first.turn, second.turn), (1, 2));
    assert_ne!(first.request_id, second.request_id);
    let answers = fake.answers();
    let said: Vec<_> = answers.iter().map(|answer| (answer.turn, answer.seat(), answer.accept)).collect();
    assert_eq!(said, [(1, v1::Seat::White, false), (2, v1::Seat::White, true)]);
}

#[tokio::test]
async fn only_the_opponents_open_offer_waits_for_an_answer() {
    let (_fake, game) = black(Fake::new(&History::new())).await;
    let status = |black: v1::DrawOffer, white: v1::DrawOffer| {
        let mut status = open_turn(1);
        status.black.as_mut().unwrap().draw_offer = black.into();
        status.white.as_mut().unwrap().draw_offer = white.into();
        status
    };
    use v1::DrawOffer::{Declined, Open, Unspecified};
    assert!(game.is_offered_draw(&status(Unspecified, Open)));
    assert!(!game.is_offered_draw(&status(Open, Unspecified)));
    assert!(!game.is_offered_draw(&status(Unspecified, Declined)));
}
