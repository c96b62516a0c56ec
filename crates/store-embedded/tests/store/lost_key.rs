//! A store whose keyring lacks a key.

use std::sync::Arc;

use referee::FollowUp;
use rules::Seat;
use sealing::{BoxKey, EndReason, MatchResult};
use store::codec::Keyring;
use store::{Clock, ScriptedClock};
use store_embedded::{Durability, EmbeddedStore, OpenError, Options, check};
use tempfile::TempDir;

use crate::game;
use crate::place;

fn other_keyring() -> Keyring {
    Keyring::new("box-2".parse().expect("a key id"), BoxKey::from_bytes(&[8; 32]))
}

/// A store with a match that waits with a sealed move, and one that does not.
async fn sealed(clock: &Arc<ScriptedClock>) -> TempDir {
    let directory = place::directory();
    let store = place::open(directory.path(), clock);
    game::played(&store, game::id(1), 3).await;
    game::act(&store, game::id(1), game::seal(Seat::Black, 4)).await;
    game::played(&store, game::id(2), 3).await;
    directory
}

fn open(
    directory: &TempDir,
    clock: &Arc<ScriptedClock>,
    options: Options,
) -> Result<EmbeddedStore, OpenError> {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    EmbeddedStore::open_with(directory.path(), clock, other_keyring(), options)
}

#[tokio::test]
async fn a_key_that_is_not_there_is_named_and_no_backup_is_advised() {
    let clock = place::clock();
    let directory = sealed(&clock).await;
    let error = open(&directory, &clock, Durability::Process.into()).expect_err("the key is not there");
    let OpenError::UnknownKey { match_id, ref key_id } = error else { panic!("{error}") };
    assert_eq!((match_id, key_id.as_str()), (game::id(1), "box-1"));
    assert!(!error.to_string().contains("backup"), "{error}");
    let store = place::open(directory.path(), &clock);
    game::act(&store, game::id(1), game::seal(Seat::White, 4)).await;
    assert_eq!(game::turns(&store, game::id(1)).await, game::all_turns(4));
}

#[tokio::test]
async fn a_match_whose_move_no_key_opens_is_void_if_that_is_asked_for_and_others_go_on() {
    let clock = place::clock();
    let directory = sealed(&clock).await;
    // Long enough for the turn to be over, had somebody been there.
    clock.advance_ms(3_600_000);
    let options = Options::from(Durability::Process).ending_unopenable();
    let store = open(&directory, &clock, options).expect("it opens without the key");
    let ended = game::load(&store, game::id(1)).await;
    let finish = ended.head.finish().expect("it is over");
    assert_eq!((finish.result, finish.reason), (MatchResult::Void, EndReason::Operator));
    assert!(finish.unresolved.black.is_some(), "its commitment stays");
    let expected = Seat::BOTH.map(FollowUp::Index);
    assert!(expected.iter().all(|follow_up| ended.follow_ups.contains(follow_up)), "{:?}", ended.follow_ups);
    assert!(game::due(&store).await.contains(&game::id(1)));
    let other = game::load(&store, game::id(2)).await;
    assert!(other.head.finish().is_none());
    drop(store);

    let store = open(&directory, &clock, Durability::Process.into()).expect("no move needs the lost key");
    assert_eq!(game::load(&store, game::id(1)).await, ended);
    game::settle(&store, game::id(1)).await;
    for seat in Seat::BOTH {
        game::act(&store, game::id(2), game::seal(seat, 4)).await;
    }
    assert_eq!(game::turns(&store, game::id(2)).await, game::all_turns(4));
    drop(store);
    let found = check(directory.path(), &other_keyring()).expect("it can be checked");
    assert_eq!((found.problems, found.live, found.finished), (Vec::new(), 1, 1));
}
