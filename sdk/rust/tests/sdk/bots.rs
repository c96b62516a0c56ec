//! Playing a bot, whose seal opens the turn.

use std::time::Duration;

use tonic::Status;
use whattheshell::v1::{self, ErrorReason, MatchState};
use whattheshell::{ApiError, Client};

use crate::fake::{Fake, OnSeal, OnWatch, Step, black, black_by};
use crate::history::{History, MATCH, cell, open_turn};
use crate::seals::receipt;

/// The turn that the bot is to open.
const TURN: u32 = 4;

/// A match of black's against a bot.
fn against_a_bot(on_seal: OnSeal, on_watch: OnWatch) -> Fake {
    let mut fake = Fake { on_seal, on_watch, ..Fake::new(&History::played()) };
    let (seat, level) = (v1::Seat::White.into(), v1::BotLevel::BotLevel0.into());
    // Another first hash, which only a turn later is not checked at joining.
    fake.game.settings.as_mut().unwrap().bot = Some(v1::BotSeat { seat, level });
    fake
}

fn bot_due() -> v1::MatchStatus {
    v1::MatchStatus { state: MatchState::BotDue.into(), turn: 0, ..open_turn(TURN) }
}

fn too_early() -> Option<Result<v1::SealReceipt, Status>> {
    Some(Err(ApiError::precondition(ErrorReason::TurnNotOpenYet, MATCH).into()))
}

/// Refuses the first seal, as the bot's is not there yet.
fn at_second_try() -> OnSeal {
    Box::new(|nth, request| if nth == 0 { too_early() } else { Some(Ok(receipt(request))) })
}

#[tokio::test]
async fn a_move_that_is_sealed_before_the_bots_goes_in_once_the_turn_is_open() {
    let on_watch: OnWatch = Box::new(|_, nth, _| match nth {
        // It breaks, and is opened again.
        0 => vec![bot_due().into(), Step::SendUnknown],
        _ => vec![bot_due().into(), open_turn(TURN).into(), Step::Hang],
    });
    let (fake, game) = black(against_a_bot(at_second_try(), on_watch)).await;
    game.seal(TURN, cell("C1")).await.unwrap();
    let seals = fake.seals();
    assert_eq!(seals.len(), 2);
    assert_eq!(seals[0], seals[1], "it is the same move");
    let watches = fake.watches();
    assert!(watches.len() == 2 && watches.iter().all(|watch| watch.after_turn == Some(TURN - 1)));
}

#[tokio::test]
async fn a_bot_that_is_late_leaves_a_move_that_can_be_sealed_again() {
    let on_seal: OnSeal = Box::new(|nth, request| match nth {
        0 => too_early(),
        _ => Some(Ok(receipt(request))),
    });
    let on_watch: OnWatch = Box::new(|_, _, _| vec![bot_due().into(), Step::Hang]);
    let impatient = Client::builder().deadline(Duration::from_millis(200));
    let (fake, game) = black_by(against_a_bot(on_seal, on_watch), &impatient).await;
    let error = game.seal(TURN, cell("C1")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::DeadlineExceeded));
    assert!(error.is_uncertain());
    game.seal(TURN, cell("C1")).await.unwrap();
    let seals = fake.seals();
    assert_eq!((seals.len(), &seals[0]), (2, &seals[1]));
}

#[tokio::test]
async fn a_match_that_ends_while_the_bot_is_awaited_ends_the_wait() {
    let finished = || ApiError::precondition(ErrorReason::MatchFinished, MATCH);
    let on_seal: OnSeal =
        Box::new(move |nth, _| if nth == 0 { too_early() } else { Some(Err(finished().into())) });
    let finish = || History::played().finish.unwrap();
    let on_watch: OnWatch = Box::new(move |_, _, _| vec![bot_due().into(), finish().into(), Step::Hang]);
    let (fake, game) = black(against_a_bot(on_seal, on_watch)).await;
    let error = game.seal(TURN, cell("C1")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::MatchFinished));
    assert_eq!(fake.seals().len(), 2);
}

#[tokio::test]
async fn against_a_person_a_turn_that_is_not_open_is_refused_at_once() {
    let fake = Fake { on_seal: Box::new(|_, _| too_early()), ..Fake::new(&History::played()) };
    let (fake, game) = black(fake).await;
    let error = game.seal(TURN, cell("C1")).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::TurnNotOpenYet));
    assert_eq!((fake.seals().len(), fake.watches().len()), (1, 0));
}

#[tokio::test]
async fn nothing_is_due_of_a_player_while_the_bot_is_awaited() {
    let (_fake, game) = black(against_a_bot(at_second_try(), Box::new(|_, _, _| Vec::new()))).await;
    assert!(game.is_bot_due(&bot_due()) && !game.is_due(&bot_due()));
    assert!(game.is_due(&open_turn(TURN)) && !game.is_bot_due(&open_turn(TURN)));
}
