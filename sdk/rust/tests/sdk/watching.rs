//! Watching a match.

use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::timeout;
use tonic::Status;
use whattheshell::rules::Seat;
use whattheshell::sealing::{Claim as Chain, EndReason, MatchResult};
use whattheshell::v1::ErrorReason;
use whattheshell::{ApiError, Claim, Client, Error, MatchStream, Update, Violation, prost_types, v1};

use crate::fake::{Cable, Fake, OnWatch, Step, black};
use crate::history::{History, cell, open_turn, opening};
use crate::seals::{opening_in, receipt};
use crate::transcripts::lies;

/// The longest a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

fn at_the_start(on_watch: OnWatch) -> Fake {
    Fake { on_watch, ..Fake::new(&History::new()) }
}

/// The played match from a turn on, as a right server sends it.
fn rest(history: &History, after: u32) -> Vec<Step> {
    let mut steps = vec![history.snapshot(after).into()];
    steps.extend(history.turns[after as usize..].iter().cloned().map(Step::from));
    steps.extend(history.finish.clone().map(Step::from));
    steps
}

/// The updates up to the end or the error, in short.
async fn told(updates: &mut MatchStream) -> (Vec<String>, Option<Error>) {
    let mut told = Vec::new();
    let all = async {
        while let Some(update) = updates.next().await {
            match update {
                Ok(Update::Snapshot(_)) => told.push("snapshot".to_owned()),
                Ok(Update::Turn(turn)) => told.push(format!("turn {}", turn.turn)),
                Ok(Update::Status(status)) => told.push(format!("status {}", status.turn)),
                Ok(Update::Finished(_)) => told.push("finished".to_owned()),
                Ok(_) => told.push("?".to_owned()),
                Err(error) => return Some(error),
            }
        }
        None
    };
    let error = timeout(PATIENCE, all).await.expect("the stream goes on or ends");
    assert!(updates.next().await.is_none(), "nothing comes after the end");
    (told, error)
}

const WHOLE: [&str; 5] = ["snapshot", "turn 1", "turn 2", "turn 3", "finished"];

fn violation(error: Option<Error>) -> Violation {
    match error {
        Some(Error::Verification(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_match_comes_turn_by_turn_and_verified() {
    let (fake, game) = black(at_the_start(Box::new(|_, _, _| rest(&History::played(), 0)))).await;
    let (told, error) = told(&mut game.watch()).await;
    assert_eq!((told, error.is_none()), (WHOLE.map(str::to_owned).to_vec(), true));
    assert_eq!(game.turn(), 3);
    assert_eq!(game.position().eggs(), [cell("E5")]);
    assert_eq!(fake.watches()[0].after_turn, Some(0));
}

/// Streams that break after turn 1 in one way, then go on as they should.
async fn resumes_after(breaks: fn() -> Vec<Step>) {
    let (fake, game) = black(at_the_start(Box::new(move |_, nth, request| {
        let history = History::played();
        match nth {
            0 => {
                let mut steps = rest(&history, 0);
                steps.truncate(2);
                steps.extend(breaks());
                steps
            }
            _ => rest(&history, request.after_turn.unwrap()),
        }
    })))
    .await;
    let (told, error) = told(&mut game.watch()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(told, WHOLE);
    let resumed = &fake.watches()[1];
    assert_eq!(resumed.after_turn, Some(1));
    assert_eq!(resumed.after_hash, History::played().hash(1).as_bytes());
}

#[tokio::test]
async fn a_stream_that_is_sent_elsewhere_resumes() {
    resumes_after(|| vec![Step::Fail(ApiError::resume_after(ErrorReason::ResumeElsewhere, 1).into())]).await;
}

#[tokio::test]
async fn a_stream_that_becomes_unavailable_resumes() {
    resumes_after(|| vec![Step::Fail(Status::unavailable("a proxy"))]).await;
}

#[tokio::test]
async fn a_stream_that_ends_before_the_match_resumes() {
    resumes_after(Vec::new).await;
}

#[tokio::test]
async fn a_silent_stream_resumes() {
    resumes_after(|| vec![heartbeat(1).into(), Step::Hang]).await;
}

#[tokio::test]
async fn a_stream_that_misses_a_turn_resumes() {
    resumes_after(|| vec![heartbeat(2).into(), Step::Hang]).await;
}

fn heartbeat(head_turn: u32) -> v1::Heartbeat {
    let interval = Some(prost_types::Duration { seconds: 0, nanos: 50_000_000 });
    v1::Heartbeat { interval, head_turn, ..v1::Heartbeat::default() }
}

/// A stream that goes on after its line fails behind turn 1.
async fn survives(fail: fn(&Cable)) {
    let script: OnWatch = Box::new(|_, nth, request| {
        let mut steps = rest(&History::played(), request.after_turn.unwrap());
        if nth == 0 {
            steps.truncate(2);
            steps.extend([heartbeat(1).into(), Step::Hang]);
        }
        steps
    });
    let often = Duration::from_millis(50);
    let client = Client::builder().keep_alive(often, often);
    let (cable, fake, game) = Cable::to(at_the_start(script), &client).await;
    let mut updates = game.watch();
    for _ in 0..2 {
        timeout(PATIENCE, updates.next()).await.unwrap().unwrap().unwrap();
    }
    fail(&cable);
    let (told, error) = told(&mut updates).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(told, WHOLE[2..]);
    assert_eq!(fake.watches().len(), 2);
}

#[tokio::test]
async fn a_stream_over_a_broken_connection_resumes() {
    survives(Cable::cut).await;
}

#[tokio::test]
async fn a_stream_over_a_dead_network_resumes() {
    survives(Cable::fall_dead).await;
}

#[tokio::test]
async fn a_repeated_status_is_told_once() {
    let (_fake, game) = black(at_the_start(Box::new(|_, nth, request| {
        let history = History::played();
        let mut steps = rest(&history, request.after_turn.unwrap());
        if nth < 2 {
            steps.truncate(1);
        }
        steps.insert(1, open_turn(1).into());
        steps
    })))
    .await;
    let (told, error) = told(&mut game.watch()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(told, ["snapshot", "status 1", "turn 1", "turn 2", "turn 3", "finished"]);
}

#[tokio::test]
async fn an_error_that_repeating_does_not_mend_ends_the_stream() {
    for reason in [ErrorReason::TokenExpired, ErrorReason::HistoryRegressed, ErrorReason::NotFound] {
        let (fake, game) = black(at_the_start(Box::new(move |_, _, _| {
            vec![History::played().snapshot(0).into(), Step::Fail(ApiError::new(reason).into())]
        })))
        .await;
        let (told, error) = told(&mut game.watch()).await;
        assert_eq!(told, ["snapshot"]);
        assert_eq!(error.and_then(|error| error.reason()), Some(reason));
        assert_eq!(fake.watches().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_tells_whether_it_is_connected() {
    let expired = || Step::Fail(ApiError::new(ErrorReason::TokenExpired).into());
    let (_fake, game) = black(at_the_start(Box::new(move |_, _, _| {
        let mut steps = rest(&History::played(), 0);
        steps.truncate(2);
        steps.push(expired());
        steps
    })))
    .await;
    let mut updates = game.watch();
    assert!(!updates.is_connected(), "nothing has come yet");
    updates.next().await.unwrap().unwrap();
    assert!(updates.is_connected());
    told(&mut updates).await.1.unwrap();
    assert!(!updates.is_connected(), "it broke");
}

#[tokio::test]
async fn a_stream_that_never_opens_ends_with_why() {
    let (fake, game) =
        black(at_the_start(Box::new(|_, _, _| vec![Step::Fail(Status::unavailable("down"))]))).await;
    let (told, error) = told(&mut game.watch()).await;
    assert!(told.is_empty());
    assert!(matches!(error, Some(Error::Transport(_))), "{error:?}");
    assert_eq!(fake.watches().len(), 4);
}

#[tokio::test]
async fn a_lie_about_a_turn_ends_the_stream_before_the_turn() {
    for lie in lies() {
        let (_fake, game) = black(at_the_start(Box::new(move |_, _, _| {
            let mut history = History::played();
            (lie.tell)(&mut history.turns[1]);
            rest(&history, 0)
        })))
        .await;
        let (told, error) = told(&mut game.watch()).await;
        assert_eq!(told, ["snapshot", "turn 1"]);
        assert_eq!(violation(error), lie.violation);
    }
}

#[tokio::test]
async fn a_gap_or_a_repetition_is_an_error() {
    for (turns, wrong) in [([0, 2], 3), ([0, 0], 1)] {
        let (_fake, game) = black(at_the_start(Box::new(move |_, _, _| {
            let history = History::played();
            let turns = turns.map(|turn: usize| history.turns[turn].clone().into());
            [history.snapshot(0).into()].into_iter().chain(turns).collect()
        })))
        .await;
        let (told, error) = told(&mut game.watch()).await;
        assert_eq!(told, ["snapshot", "turn 1"]);
        assert_eq!(violation(error), Violation { turn: Some(wrong), seat: None, claim: Claim::Sequence });
    }
}

#[tokio::test]
async fn another_history_after_a_break_is_an_error() {
    let (_fake, game) = black(at_the_start(Box::new(|_, nth, _| {
        let mut history = History::new();
        history.play(opening(if nth == 0 { "A1" } else { "A2" }), opening("I9"));
        let mut steps = rest(&history, nth as u32);
        steps.push(Step::Fail(Status::unavailable("a node is lost")));
        steps
    })))
    .await;
    let (told, error) = told(&mut game.watch()).await;
    assert_eq!(told, ["snapshot", "turn 1"]);
    assert_eq!(violation(error), Violation { turn: None, seat: None, claim: Claim::History });
}

#[tokio::test]
async fn a_wrong_end_is_an_error() {
    let (_fake, game) = black(at_the_start(Box::new(|_, _, _| {
        let mut history = History::played();
        history.finish.as_mut().unwrap().end_hash[0] ^= 1;
        rest(&history, 0)
    })))
    .await;
    let (told, error) = told(&mut game.watch()).await;
    assert_eq!(told, WHOLE[..4]);
    let claim = Claim::Transcript(Chain::EndHash);
    assert_eq!(violation(error), Violation { turn: None, seat: None, claim });
}

/// A turn 1 in which white plays I9 and black what was sealed, or something else.
fn first_turn(fake: &Fake, instead: Option<&str>) -> History {
    let sealed = opening_in(&fake.seals()[0]);
    let mut history = History::new();
    history.play(instead.map_or(sealed, opening), opening("I9"));
    history
}

#[tokio::test]
async fn the_published_move_is_the_one_that_was_sealed() {
    for instead in [None, Some("A1"), Some("E5")] {
        let fake = Fake {
            on_seal: Box::new(|_, request| Some(Ok(receipt(request)))),
            on_watch: Box::new(move |fake, _, _| {
                let mut steps = rest(&first_turn(fake, instead), 0);
                steps.push(Step::Fail(ApiError::new(ErrorReason::TokenExpired).into()));
                steps
            }),
            ..Fake::new(&History::new())
        };
        let (_fake, game) = black(fake).await;
        game.seal(1, cell("E5")).await.unwrap();
        let (told, error) = told(&mut game.watch()).await;
        if instead.is_none() {
            assert_eq!(told, ["snapshot", "turn 1"]);
        } else {
            assert_eq!(told, ["snapshot"]);
            let own = Violation { turn: Some(1), seat: Some(Seat::Black), claim: Claim::OwnSeal };
            assert_eq!(violation(error), own);
        }
    }
}

#[tokio::test]
async fn a_sealed_move_is_still_there_when_the_match_ends_before_its_turn() {
    for is_right in [true, false] {
        let fake = Fake {
            on_seal: Box::new(|_, request| Some(Ok(receipt(request)))),
            on_watch: Box::new(move |fake, _, _| {
                let mut history = History::new();
                let sealed = if is_right { opening_in(&fake.seals()[0]) } else { opening("A1") };
                let held = history.commitment(1, Seat::Black, &sealed);
                history.finish(MatchResult::BlackWins, EndReason::Flag, [Some(held), None]);
                rest(&history, 0)
            }),
            ..Fake::new(&History::new())
        };
        let (_fake, game) = black(fake).await;
        game.seal(1, cell("E5")).await.unwrap();
        let (told, error) = told(&mut game.watch()).await;
        if is_right {
            assert_eq!(told, ["snapshot", "finished"]);
        } else {
            let own = Violation { turn: Some(1), seat: Some(Seat::Black), claim: Claim::OwnSeal };
            assert_eq!(violation(error), own);
        }
    }
}

#[tokio::test]
async fn a_player_is_due_until_he_has_sealed() {
    let fake =
        Fake { on_seal: Box::new(|_, request| Some(Ok(receipt(request)))), ..Fake::new(&History::new()) };
    let (_fake, game) = black(fake).await;
    assert!(game.is_due(&open_turn(1)));
    assert!(!game.is_due(&open_turn(2)), "the board before turn 2 is not known yet");
    assert!(!game.is_due(&v1::MatchStatus { state: v1::MatchState::Waiting.into(), ..open_turn(1) }));
    game.seal(1, cell("E5")).await.unwrap();
    assert!(!game.is_due(&open_turn(1)), "a status from before the seal changes nothing");
}

#[tokio::test]
async fn what_a_newer_server_says_is_kept_or_skipped() {
    let (_fake, game) = black(at_the_start(Box::new(|_, _, _| {
        let mut history = History::played();
        history.turns[0].events.push(v1::TurnEvent { event: None });
        history.finish.as_mut().unwrap().reason = 99;
        let mut steps = rest(&history, 0);
        steps.insert(1, Step::SendUnknown);
        steps.insert(2, v1::MatchStatus { state: 77, ..open_turn(1) }.into());
        steps
    })))
    .await;
    let mut updates = game.watch();
    let (mut states, mut finish) = (Vec::new(), None);
    while let Some(update) = timeout(PATIENCE, updates.next()).await.unwrap() {
        match update.unwrap() {
            Update::Status(status) => states.push(status.state),
            Update::Finished(end) => finish = Some(end),
            _ => {}
        }
    }
    assert_eq!(states, [77]);
    let finish = finish.unwrap();
    assert_eq!((finish.message.reason, finish.ending), (99, None));
}
