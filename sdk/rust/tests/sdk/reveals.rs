//! Commit-reveal: what leaves the client, and when.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::timeout;
use tonic::Status;
use whattheshell::rules::{Cell, Seat};
use whattheshell::sealing::{EndReason, MatchResult, Opening};
use whattheshell::v1::seal_move_request::Move;
use whattheshell::v1::{ErrorReason, SealMode};
use whattheshell::{ApiError, Claim, Error, MatchHandle, Update, Violation, v1};

use crate::fake::{Fake, OnWatch, Step, black, black_again};
use crate::history::{History, MATCH, cell, open_turn, opening, revealing};

/// The longest a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What white has sealed.
const WHITE: &str = "I9";

fn history() -> History {
    History::sealed_by(SealMode::CommitReveal)
}

fn white_committed() -> Vec<u8> {
    history().commitment(1, Seat::White, &opening(WHITE))
}

/// The commitment in a request that has nothing else of the move.
fn committed(request: &v1::SealMoveRequest) -> Vec<u8> {
    let Some(Move::Commitment(commitment)) = &request.r#move else { panic!("only the commitment is sent") };
    commitment.clone()
}

fn receipt(request: &v1::SealMoveRequest) -> v1::SealReceipt {
    let (turn, commitment) = (request.turn, committed(request));
    let (r#match, seat) = (MATCH.to_owned(), v1::Seat::Black.into());
    v1::SealReceipt { r#match, turn, seat, commitment, ..v1::SealReceipt::default() }
}

/// A right server, before turn 1.
fn server(on_watch: OnWatch) -> Fake {
    Fake { on_seal: Box::new(|_, request| Some(Ok(receipt(request)))), on_watch, ..Fake::new(&history()) }
}

fn black_committed(fake: &Fake) -> Vec<u8> {
    committed(&fake.seals()[0])
}

fn revealed(fake: &Fake, nth: usize) -> Opening {
    let open = fake.reveals()[nth].open.clone().unwrap();
    Opening { cell: Cell::from_number(open.cell as u8).unwrap(), salt: open.salt[..].try_into().unwrap() }
}

/// Says that reveals are due, then hangs.
fn asks(fake: &Fake) -> Vec<Step> {
    let status = revealing(1, black_committed(fake), white_committed(), false);
    vec![history().snapshot(0).into(), status.into(), Step::Hang]
}

/// Says that reveals are due, then that neither came.
fn ends_unrevealed(fake: &Fake) -> Vec<Step> {
    let mut history = history();
    let unresolved = [Some(black_committed(fake)), Some(white_committed())];
    history.finish(MatchResult::Draw, EndReason::FailedReveal, unresolved);
    let mut steps = asks(fake);
    steps.pop();
    steps.push(history.finish.unwrap().into());
    steps
}

/// Takes all updates; fails with the stream.
async fn to_the_end(game: &MatchHandle) -> Result<(), Error> {
    let mut updates = game.watch();
    let mut is_finished = false;
    while let Some(update) = timeout(PATIENCE, updates.next()).await.unwrap() {
        is_finished = matches!(update?, Update::Finished(_));
    }
    assert!(is_finished, "a stream ends with the match");
    Ok(())
}

/// Takes updates until the reveals are due; fails with the stream.
async fn until_revealing(game: &MatchHandle) -> Result<(), Error> {
    let mut updates = game.watch();
    while let Some(update) = timeout(PATIENCE, updates.next()).await.unwrap() {
        match update? {
            Update::Status(status) if status.state() == v1::MatchState::Revealing => return Ok(()),
            _ => {}
        }
    }
    panic!("the stream ended")
}

fn violation(error: Error) -> Violation {
    match error {
        Error::Verification(violation) => violation,
        other => panic!("{other:?}"),
    }
}

fn of_seat(seat: Seat, claim: Claim) -> Violation {
    Violation { turn: Some(1), seat: Some(seat), claim }
}

#[tokio::test]
async fn a_seal_sends_the_commitment_and_a_stream_reveals_it_before_it_says_so() {
    let (fake, game) = black(server(Box::new(|fake, _, _| asks(fake)))).await;
    game.seal(1, cell("E5")).await.unwrap();
    assert!(fake.reveals().is_empty(), "nothing is revealed before it is asked for");
    until_revealing(&game).await.unwrap();
    let reveals = fake.reveals();
    assert_eq!((reveals.len(), reveals[0].turn), (1, 1));
    assert_ne!(reveals[0].request_id, fake.seals()[0].request_id);
    let opening = revealed(&fake, 0);
    assert_eq!(opening.cell, cell("E5"));
    assert_eq!(history().commitment(1, Seat::Black, &opening), black_committed(&fake));
}

#[tokio::test]
async fn nothing_is_revealed_while_the_turn_is_open() {
    let (fake, game) = black(server(Box::new(|fake, _, _| {
        let status = v1::MatchStatus {
            state: v1::MatchState::Open.into(),
            ..revealing(1, black_committed(fake), white_committed(), false)
        };
        let later = v1::MatchStatus { state: v1::MatchState::Revealing.into(), ..status.clone() };
        let done = v1::MatchStatus { black: Some(side_revealed(&later)), ..later };
        vec![history().snapshot(0).into(), status.into(), done.into(), Step::Hang]
    })))
    .await;
    game.seal(1, cell("E5")).await.unwrap();
    until_revealing(&game).await.unwrap();
    assert!(fake.reveals().is_empty());
}

/// Black's side of a status, with his reveal in.
fn side_revealed(status: &v1::MatchStatus) -> v1::SeatStatus {
    v1::SeatStatus { revealed: Some(true), ..status.black.clone().unwrap() }
}

#[tokio::test]
async fn nothing_is_revealed_before_the_opponent_is_bound() {
    let (fake, game) = black(server(Box::new(|fake, _, _| {
        let mut status = revealing(1, black_committed(fake), white_committed(), false);
        status.white.as_mut().unwrap().commitment = None;
        vec![history().snapshot(0).into(), status.into(), Step::Hang]
    })))
    .await;
    game.seal(1, cell("E5")).await.unwrap();
    let error = until_revealing(&game).await.unwrap_err();
    assert_eq!(violation(error), of_seat(Seat::White, Claim::Field("commitment")));
    assert!(fake.reveals().is_empty());
}

#[tokio::test]
async fn nothing_is_revealed_for_another_commitment_than_the_receipts() {
    let (fake, game) = black(server(Box::new(|_, _, _| {
        let other = history().commitment(1, Seat::Black, &opening("A1"));
        let status = revealing(1, other, white_committed(), false);
        vec![history().snapshot(0).into(), status.into(), Step::Hang]
    })))
    .await;
    game.seal(1, cell("E5")).await.unwrap();
    let error = until_revealing(&game).await.unwrap_err();
    assert_eq!(violation(error), of_seat(Seat::Black, Claim::OwnSeal));
    assert!(fake.reveals().is_empty());
}

/// A turn that asks for reveals and resolves with this move of white's; what the stream comes to.
async fn resolves_with(white: &'static str) -> Result<(), Error> {
    let (_fake, game) = black(server(Box::new(move |fake, _, _| {
        let mut steps = asks(fake);
        steps.pop();
        // What black reveals is only known once he has: the turn is played on the next stream.
        if !fake.reveals().is_empty() {
            let mut history = history();
            history.play(revealed(fake, 0), opening(white));
            history.finish(MatchResult::WhiteWins, EndReason::Resignation, [None, None]);
            steps.push(history.turns[0].clone().into());
            steps.push(history.finish.unwrap().into());
        }
        steps
    })))
    .await;
    game.seal(1, cell("E5")).await.unwrap();
    to_the_end(&game).await?;
    assert_eq!(game.turn(), 1);
    Ok(())
}

#[tokio::test]
async fn the_opponents_published_move_is_the_one_he_was_bound_to() {
    resolves_with(WHITE).await.unwrap();
    let error = resolves_with("A1").await.unwrap_err();
    assert_eq!(violation(error), of_seat(Seat::White, Claim::OpponentSeal));
}

#[tokio::test]
async fn the_end_still_has_what_the_opponent_was_bound_to() {
    for white in [WHITE, "A1"] {
        let (_fake, game) = black(server(Box::new(move |fake, _, _| {
            let mut history = history();
            let white = history.commitment(1, Seat::White, &opening(white));
            let unresolved = [Some(black_committed(fake)), Some(white)];
            history.finish(MatchResult::BlackWins, EndReason::FailedReveal, unresolved);
            let mut steps = asks(fake);
            steps.pop();
            steps.push(history.finish.unwrap().into());
            steps
        })))
        .await;
        game.seal(1, cell("E5")).await.unwrap();
        let end = to_the_end(&game).await;
        if white == WHITE {
            end.unwrap();
        } else {
            assert_eq!(violation(end.unwrap_err()), of_seat(Seat::White, Claim::OpponentSeal));
        }
    }
}

#[tokio::test]
async fn a_reveal_whose_answer_is_lost_is_repeated_with_the_same_request() {
    let fake = Fake {
        on_reveal: Box::new(|nth, _| match nth {
            0 => Err(Status::unavailable("the acknowledgement is lost")),
            1 => Err(ApiError::internal("0").into()),
            _ => Ok(()),
        }),
        ..server(Box::new(|fake, nth, _| if nth == 0 { asks(fake) } else { ends_unrevealed(fake) }))
    };
    let (fake, game) = black(fake).await;
    game.seal(1, cell("E5")).await.unwrap();
    to_the_end(&game).await.unwrap();
    let reveals = fake.reveals();
    assert_eq!(reveals.len(), 3);
    assert!(reveals.iter().all(|reveal| *reveal == reveals[0]), "one intent, one request");
}

#[tokio::test]
async fn a_reveal_that_comes_too_late_leaves_the_end_to_the_stream() {
    let too_late = || ApiError::precondition(ErrorReason::MatchFinished, MATCH);
    let fake = Fake {
        on_reveal: Box::new(move |_, _| Err(too_late().into())),
        ..server(Box::new(|fake, _, _| ends_unrevealed(fake)))
    };
    let (fake, game) = black(fake).await;
    game.seal(1, cell("E5")).await.unwrap();
    to_the_end(&game).await.unwrap();
    assert_eq!(fake.reveals().len(), 1);
}

/// A server whose match stands at this status.
fn standing_at(status: impl Fn(&v1::SealMoveRequest) -> v1::MatchStatus + Send + Sync + 'static) -> Fake {
    let mut fake = server(Box::new(|_, _, _| vec![Step::Hang]));
    // Commitments are drawn; the status is about one that is fixed here.
    let request = v1::SealMoveRequest {
        turn: 1,
        r#move: Some(Move::Commitment(history().commitment(1, Seat::Black, &opening("E5")))),
        ..v1::SealMoveRequest::default()
    };
    fake.game.status = Some(status(&request));
    fake
}

/// The opening of E5 whose commitment [`standing_at`] knows, as it was exported.
fn exported() -> String {
    use base64::Engine as _;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let (salt, previous) = (encode(opening("E5").salt.as_bytes()), encode(history().hash(0).as_bytes()));
    format!("whattheshell.opening.v1 {MATCH} 1 E5 {salt} {previous} seal-1")
}

#[tokio::test]
async fn a_client_that_does_not_watch_reveals_when_it_is_told_to() {
    let fake = standing_at(|seal| revealing(1, committed(seal), white_committed(), false));
    let (fake, game) = black(fake).await;
    let status = fake.game.status.clone().unwrap();
    assert!(game.is_to_reveal(&status) && !game.is_to_reveal(&open_turn(1)));
    assert!(!game.is_to_reveal(&v1::MatchStatus { black: Some(side_revealed(&status)), ..status }));
    assert_eq!(game.import_opening(&exported()).unwrap(), (1, cell("E5")));
    assert!(matches!(game.reveal(2).await, Err(Error::NothingToReveal)));
    assert!(fake.reveals().is_empty());
    game.reveal(1).await.unwrap();
    assert_eq!(revealed(&fake, 0), opening("E5"));
}

#[tokio::test]
async fn an_explicit_reveal_sends_nothing_before_it_is_due() {
    let (fake, game) = black(standing_at(|_| open_turn(1))).await;
    game.import_opening(&exported()).unwrap();
    assert!(matches!(game.reveal(1).await, Err(Error::NothingToReveal)));
    let fake_unbound = standing_at(|seal| {
        let mut status = revealing(1, committed(seal), Vec::new(), false);
        status.white.as_mut().unwrap().commitment = None;
        status
    });
    let (unbound, game) = black(fake_unbound).await;
    game.import_opening(&exported()).unwrap();
    let error = game.reveal(1).await.unwrap_err();
    assert_eq!(violation(error), of_seat(Seat::White, Claim::Field("commitment")));
    assert!(fake.reveals().is_empty() && unbound.reveals().is_empty());
}

#[tokio::test]
async fn a_client_that_starts_again_seals_by_the_same_request_and_reveals() {
    let (fake, game) = black(server(Box::new(|fake, _, _| asks(fake)))).await;
    let kept = game.export_opening(1, cell("E5")).await.unwrap();
    assert!(fake.seals().is_empty(), "exporting sends nothing");
    game.seal(1, cell("E5")).await.unwrap();
    assert_eq!(game.export_opening(1, cell("E5")).await.unwrap(), kept);
    drop(game);

    let game = black_again(&fake).await;
    game.import_opening(kept.as_str()).unwrap();
    game.import_opening(kept.as_str()).unwrap();
    game.seal(1, cell("E5")).await.unwrap();
    let seals = fake.seals();
    assert_eq!(seals[0], seals[1]);

    // One that does not even seal again.
    let game = black_again(&fake).await;
    game.import_opening(kept.as_str()).unwrap();
    until_revealing(&game).await.unwrap();
    let opening = revealed(&fake, 0);
    assert_eq!(history().commitment(1, Seat::Black, &opening), committed(&seals[0]));
}

#[tokio::test]
async fn a_client_without_the_opening_leaves_the_reveal_to_the_one_that_has_it() {
    let (fake, game) = black(server(Box::new(|fake, _, _| asks(fake)))).await;
    game.seal(1, cell("E5")).await.unwrap();
    until_revealing(&black_again(&fake).await).await.unwrap();
    assert!(fake.reveals().is_empty());
}

#[tokio::test]
async fn what_is_no_opening_of_this_match_is_refused() {
    let (_fake, game) = black(server(Box::new(|_, _, _| vec![Step::Hang]))).await;
    let good = exported();
    let other = "matches/0198c5a0-0000-7000-8000-00000000002b";
    for text in [
        String::new(),
        "x".repeat(10_000),
        good.replace("v1", "v2"),
        good.replace(MATCH, other),
        good.replace(" 1 E5", " 0 E5"),
        good.replace(" E5 ", " K5 "),
        good.replace(" E5 ", " E5 x"),
        format!("{good} more"),
    ] {
        assert!(matches!(game.import_opening(&text), Err(Error::Opening(_))), "{text}");
    }
}

#[tokio::test]
async fn an_occupied_cell_is_refused_here_because_nobody_else_can_see_it() {
    let mut played = history();
    played.play(opening("A1"), opening(WHITE));
    let fake = Fake { on_seal: Box::new(|_, request| Some(Ok(receipt(request)))), ..Fake::new(&played) };
    let (fake, game) = black(fake).await;
    let error = game.seal(2, cell("A1")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::CellOccupied));
    assert!(fake.seals().is_empty());
    game.seal(2, cell("B1")).await.unwrap();
}

#[tokio::test]
async fn nothing_of_a_committed_move_is_in_any_debug() {
    let (fake, game) = black(server(Box::new(|fake, _, _| asks(fake)))).await;
    let kept = game.export_opening(1, cell("H7")).await.unwrap();
    game.seal(1, cell("H7")).await.unwrap();
    until_revealing(&game).await.unwrap();
    let fake: &Arc<Fake> = &fake;
    let shown = format!("{game:?} {kept:?} {:?} {:?} {:?}", game.watch(), fake.seals(), fake.reveals());
    let salt = revealed(fake, 0).salt;
    for secret in [format!("{:?}", salt.as_bytes()), "H7".to_owned(), kept.as_str().to_owned()] {
        assert!(!shown.contains(&secret), "{secret} in {shown}");
    }
}
