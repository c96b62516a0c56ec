//! Sealing a move.

use std::time::Duration;

use tonic::Status;
use tonic::metadata::MetadataValue;
use whattheshell::rules::Seat;
use whattheshell::sealing::Opening;
use whattheshell::v1::ErrorReason;
use whattheshell::v1::seal_move_request::Move;
use whattheshell::{ApiError, Client, Error, ReceiptMismatch, v1};

use crate::fake::{Fake, OnSeal, black, black_by};
use crate::history::{History, MATCH, cell, stamp, token};

/// The cell and salt that a request carries.
pub(crate) fn opening_in(request: &v1::SealMoveRequest) -> Opening {
    let Some(Move::Open(open)) = &request.r#move else { panic!("the move is sent in the open") };
    let cell = whattheshell::rules::Cell::from_number(open.cell as u8).unwrap();
    Opening { cell, salt: open.salt[..].try_into().unwrap() }
}

/// The receipt of a right server.
pub(crate) fn receipt(request: &v1::SealMoveRequest) -> v1::SealReceipt {
    let commitment = History::played().commitment(request.turn, Seat::Black, &opening_in(request));
    v1::SealReceipt {
        r#match: MATCH.to_owned(),
        turn: request.turn,
        seat: v1::Seat::Black.into(),
        commitment,
        ..v1::SealReceipt::default()
    }
}

fn before_turn_1(on_seal: OnSeal) -> Fake {
    Fake { on_seal, ..Fake::new(&History::new()) }
}

fn refuse(error: ApiError) -> Option<Result<v1::SealReceipt, Status>> {
    Some(Err(error.into()))
}

#[tokio::test]
async fn a_seal_is_bound_to_the_history_and_a1_is_cell_1() {
    let (fake, game) = black(before_turn_1(Box::new(|_, request| Some(Ok(receipt(request)))))).await;
    let got = game.seal(1, cell("A1")).await.unwrap();
    let sent = &fake.seals()[0];
    assert_eq!(got, receipt(sent));
    assert_eq!(sent.previous_hash, History::new().hash(0).as_bytes());
    assert!(matches!(&sent.r#move, Some(Move::Open(open)) if open.cell == 1 && open.salt.len() == 32));
}

#[tokio::test]
async fn every_turn_has_a_salt_of_its_own() {
    let history = History::played();
    let fake = Fake { on_seal: Box::new(|_, request| Some(Ok(receipt(request)))), ..Fake::new(&history) };
    let (fake, game) = black(fake).await;
    game.seal(4, cell("C1")).await.unwrap();
    game.seal(4, cell("D1")).await.unwrap();
    let [first, second] = &fake.seals()[..] else { panic!("two seals") };
    assert_ne!(opening_in(first).salt, opening_in(second).salt);
    assert_ne!(first.request_id, second.request_id);
}

#[tokio::test]
async fn a_receipt_for_anything_else_is_refused() {
    type Corruption = fn(&mut v1::SealReceipt);
    let cases: [(Corruption, ReceiptMismatch); 4] = [
        (|receipt| receipt.r#match.push('0'), ReceiptMismatch::Match),
        (|receipt| receipt.turn += 1, ReceiptMismatch::Turn),
        (|receipt| receipt.seat = v1::Seat::White.into(), ReceiptMismatch::Seat),
        (|receipt| receipt.commitment[0] ^= 1, ReceiptMismatch::Commitment),
    ];
    for (corrupt, expected) in cases {
        let (_fake, game) = black(before_turn_1(Box::new(move |_, request| {
            let mut receipt = receipt(request);
            corrupt(&mut receipt);
            Some(Ok(receipt))
        })))
        .await;
        let error = game.seal(1, cell("E5")).await.unwrap_err();
        assert!(matches!(error, Error::Receipt(mismatch) if mismatch == expected), "{error}");
    }
}

#[tokio::test]
async fn a_receipt_is_asked_for_signed_in_ranked_matches_and_where_it_is_wanted() {
    let asks = async |mode: v1::MatchMode, wanted: Option<bool>| {
        let mut fake = Fake::new(&History::played());
        fake.game.settings.as_mut().unwrap().mode = mode.into();
        let (fake, game) = black(fake).await;
        let game = match wanted {
            Some(are_signed) => game.with_signed_receipts(are_signed),
            None => game,
        };
        let sealing = tokio::spawn(async move { game.seal(4, cell("C1")).await });
        let asked = async {
            while fake.seals().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), asked).await.expect("the seal arrives");
        sealing.abort();
        fake.seals()[0].sign_receipt
    };
    assert!(!asks(v1::MatchMode::Casual, None).await);
    assert!(asks(v1::MatchMode::Casual, Some(true)).await);
    assert!(asks(v1::MatchMode::Ranked, None).await);
    assert!(!asks(v1::MatchMode::Ranked, Some(false)).await);
}

#[tokio::test]
async fn a_signed_receipt_of_a_server_that_does_not_tell_its_keys_leaves_the_seal_uncertain() {
    let (_fake, game) = black(before_turn_1(Box::new(|_, request| {
        let key_id = "k1".to_owned();
        Some(Ok(v1::SealReceipt { key_id, signature: vec![1; 64], seal_time: stamp(1), ..receipt(request) }))
    })))
    .await;
    let error = game.with_signed_receipts(true).seal(1, cell("E5")).await.unwrap_err();
    assert!(matches!(error, Error::ServerKeys(_)) && error.is_uncertain(), "{error}");
}

#[tokio::test]
async fn a_lost_acknowledgement_is_repeated_with_the_same_request() {
    let (fake, game) = black(before_turn_1(Box::new(|nth, request| match nth {
        0 => Some(Err(Status::unavailable("the acknowledgement is lost"))),
        1 => refuse(ApiError::new(ErrorReason::StoreUnavailable).with_retry_delay(Duration::from_millis(1))),
        _ => Some(Ok(receipt(request))),
    })))
    .await;
    game.seal(1, cell("E5")).await.unwrap();
    let seals = fake.seals();
    assert_eq!(seals.len(), 3);
    assert!(seals.iter().all(|seal| *seal == seals[0]));
}

#[tokio::test]
async fn a_seal_without_an_answer_is_the_same_when_it_is_sealed_again() {
    let fake = before_turn_1(Box::new(|nth, request| (nth > 0).then(|| Ok(receipt(request)))));
    let (fake, game) = black_by(fake, &Client::builder().deadline(Duration::from_millis(200))).await;
    let error = game.seal(1, cell("E5")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::DeadlineExceeded));
    assert!(error.is_uncertain());
    game.seal(1, cell("E5")).await.unwrap();
    let seals = fake.seals();
    assert_eq!(seals[0], seals[1]);
}

#[tokio::test]
async fn a_refused_seal_is_not_repeated_and_the_next_one_is_new() {
    let occupied = || ApiError::precondition(ErrorReason::CellOccupied, MATCH);
    let (fake, game) = black(before_turn_1(Box::new(move |_, _| refuse(occupied())))).await;
    for _ in 0..2 {
        let error = game.seal(1, cell("E5")).await.unwrap_err();
        assert_eq!(error.reason(), Some(ErrorReason::CellOccupied));
    }
    let seals = fake.seals();
    assert_eq!(seals.len(), 2);
    assert_ne!(seals[0].request_id, seals[1].request_id);
}

#[tokio::test]
async fn a_seal_that_may_be_in_keeps_its_salt_when_its_retry_is_turned_away_unread() {
    for reason in [ErrorReason::TokenExpired, ErrorReason::ScopeMissing, ErrorReason::PlayerBanned] {
        let on_seal: OnSeal = Box::new(move |nth, request| match nth {
            0 => Some(Err(Status::unavailable("the acknowledgement is lost"))),
            1 => refuse(ApiError::new(reason)),
            _ => Some(Ok(receipt(request))),
        });
        let (fake, game) = black(before_turn_1(on_seal)).await;
        assert_eq!(game.seal(1, cell("E5")).await.unwrap_err().reason(), Some(reason));
        game.seal(1, cell("E5")).await.unwrap();
        let seals = fake.seals();
        assert!(seals.len() == 3 && seals.iter().all(|seal| *seal == seals[0]), "{reason:?}");
    }
}

#[tokio::test]
async fn a_seal_that_a_busy_server_turns_away_is_repeated_when_the_server_says() {
    for reason in [ErrorReason::RateLimited, ErrorReason::Overloaded] {
        let wait = Duration::from_millis(20);
        let on_seal: OnSeal = Box::new(move |nth, request| match nth {
            0 => refuse(ApiError::new(reason).with_retry_delay(wait)),
            _ => Some(Ok(receipt(request))),
        });
        let (fake, game) = black(before_turn_1(on_seal)).await;
        let begun = std::time::Instant::now();
        game.seal(1, cell("E5")).await.unwrap();
        assert!(begun.elapsed() >= wait, "{reason:?}: it came back too early");
        let seals = fake.seals();
        assert!(seals.len() == 2 && seals[0] == seals[1], "{reason:?}");
    }
}

#[tokio::test]
async fn a_call_is_not_repeated_where_its_deadline_comes_before_the_server_will_look_at_it() {
    let busy = || ApiError::new(ErrorReason::RateLimited).with_retry_delay(Duration::from_secs(60));
    let (fake, game) = black(before_turn_1(Box::new(move |_, _| refuse(busy())))).await;
    let error = game.seal(1, cell("E5")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::RateLimited));
    assert_eq!(fake.seals().len(), 1);
}

#[tokio::test]
async fn a_call_is_tried_four_times_at_most() {
    let contended = || ApiError::new(ErrorReason::Contended).with_retry_delay(Duration::from_millis(1));
    let (fake, game) = black(before_turn_1(Box::new(move |_, _| refuse(contended())))).await;
    let error = game.seal(1, cell("E5")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::Contended));
    assert_eq!(fake.seals().len(), 4);
}

#[tokio::test]
async fn a_server_that_wants_no_retry_gets_none() {
    let (fake, game) = black(before_turn_1(Box::new(|_, _| {
        let mut status = Status::unavailable("not again");
        status.metadata_mut().insert("grpc-retry-pushback-ms", MetadataValue::from(-1));
        Some(Err(status))
    })))
    .await;
    let error = game.seal(1, cell("E5")).await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error}");
    assert_eq!(fake.seals().len(), 1);
}

#[tokio::test]
async fn a_turn_that_is_not_open_is_refused_without_a_commitment() {
    let (fake, game) = black(before_turn_1(Box::new(|_, _| None))).await;
    let error = game.seal(7, cell("E5")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::TurnNotOpenYet));
    assert!(fake.seals().is_empty());
}

#[tokio::test]
async fn a_way_of_sealing_that_only_a_newer_client_knows_is_sent_nothing() {
    let mut fake = before_turn_1(Box::new(|_, request| Some(Ok(receipt(request)))));
    // Another seal mode is another first hash, which only a turn later is not checked at joining.
    fake.game = History::played().game();
    fake.game.settings.as_mut().unwrap().seal_mode = 77;
    let (fake, game) = black(fake).await;
    assert!(matches!(game.seal(4, cell("C1")).await, Err(Error::SealMode)));
    assert!(fake.seals().is_empty());
}

#[tokio::test]
async fn nothing_of_a_seal_or_a_token_is_in_any_debug() {
    let (fake, game) = black(before_turn_1(Box::new(|_, request| Some(Ok(receipt(request)))))).await;
    game.seal(1, cell("H7")).await.unwrap();
    let sent = &fake.seals()[0];
    let shown = format!("{game:?} {:#?} {:?} {sent:?}", game, game.watch());
    assert!(shown.contains("OpenMove(..)"), "{shown}");
    let salt = opening_in(sent).salt;
    for secret in [format!("{:?}", salt.as_bytes()), "H7".to_owned(), token("ann")] {
        assert!(!shown.contains(&secret), "{secret} in {shown}");
    }
}
