//! What the next process finds.

use referee::Command;
use rules::Seat;
use sealing::EndReason;
use store::{CommitOutcome, MatchStore as _, StoreError};
use store_embedded::{Durability, Options};

use crate::game;
use crate::place;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const WEEK_MS: u64 = 7 * DAY_MS;

/// More than are kept in memory.
const LONG: u32 = 40;

#[tokio::test]
async fn a_match_goes_on_where_it_was() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = place::open(directory.path(), &clock);
    game::played(&store, id, LONG).await;
    let before = game::act(&store, id, game::seal(Seat::Black, LONG + 1)).await;
    drop(store);

    let store = place::open(directory.path(), &clock);
    assert_eq!(game::load(&store, id).await, before, "the sealed move included");
    assert_eq!(game::turns(&store, id).await, game::all_turns(LONG));
    game::act(&store, id, game::seal(Seat::White, LONG + 1)).await;
    assert_eq!(game::turns(&store, id).await, game::all_turns(LONG + 1));
}

#[tokio::test]
async fn turns_that_left_memory_are_read_in_one_order_with_those_that_did_not() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = place::open(directory.path(), &clock);
    game::played(&store, id, LONG).await;
    for from in 1..=LONG + 1 {
        for limit in [1, 7, 100] {
            let turns = store.turns(id, from, limit).await.expect("turns can be read");
            let turns: Vec<u32> = turns.iter().map(|record| record.turn).collect();
            let expected: Vec<u32> = (from..=LONG).take(limit).collect();
            assert_eq!(turns, expected, "from {from}, at most {limit}");
        }
    }
}

#[tokio::test]
async fn follow_ups_that_waited_are_due_in_the_next_process() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = place::open(directory.path(), &clock);
    let created = game::create(&store, id).await;
    drop(store);
    let store = place::open(directory.path(), &clock);
    assert_eq!(game::due(&store).await, [id]);
    assert_eq!(game::load(&store, id).await.follow_ups, created.follow_ups);
    game::settle(&store, id).await;
    drop(store);
    let store = place::open(directory.path(), &clock);
    assert_eq!(game::due(&store).await, []);
    assert_eq!(game::lists(&store).await.len(), 2);
}

#[tokio::test]
async fn nobody_flags_while_no_process_is_there() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = place::open(directory.path(), &clock);
    let deadline = game::start(&store, id).await.head.deadline().expect("a live match has one");
    drop(store);
    clock.advance_ms(DAY_MS);

    let store = place::open(directory.path(), &clock);
    let loaded = store.load(id).await.expect("a stored match can be read");
    assert_eq!(loaded.now.outage_ms, DAY_MS);
    assert_eq!(loaded.stored.head.apply(&Command::Tick, loaded.now).change, None);
    game::act(&store, id, game::seal(Seat::Black, 1)).await;
    let moved = game::load(&store, id).await.head.deadline().expect("a live match has one");
    assert_eq!(moved, deadline.plus_ms(DAY_MS));
}

#[tokio::test]
async fn a_commit_judged_before_a_restart_is_judged_again_after_an_outage() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = place::open(directory.path(), &clock);
    game::start(&store, id).await;
    let commit = game::judge(&store, id, game::seal(Seat::Black, 1)).await;
    drop(store);
    clock.advance_ms(DAY_MS);
    let store = place::open(directory.path(), &clock);
    let outcome = store.commit(commit).await.expect("a commit is answered");
    assert!(matches!(outcome, CommitOutcome::Restamp(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_finished_match_is_read_until_its_retention_ends_and_then_gone_with_all_of_it() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = place::open(directory.path(), &clock);
    let before = game::finished(&store, id, LONG).await;
    assert_eq!(before.head.finish().map(|finish| finish.reason), Some(EndReason::Resignation));
    for _ in 0..2 {
        clock.advance_ms(WEEK_MS / 2);
        game::due(&store).await;
        assert_eq!(game::load(&store, id).await, before);
        assert_eq!(game::turns(&store, id).await, game::all_turns(LONG));
        assert_eq!(game::lists(&store).await.len(), 2);
    }
    drop(store);
    let store = place::open(directory.path(), &clock);
    assert_eq!(game::load(&store, id).await, before);
    clock.advance_ms(1);
    game::due(&store).await;
    assert_eq!(store.load(id).await, Err(StoreError::NotFound));
    assert_eq!(store.turns(id, 1, 1).await, Err(StoreError::NotFound));
    assert_eq!(game::lists(&store).await, []);
    drop(store);
    let checked = store_embedded::check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!(checked, store_embedded::Checked::default(), "nothing of it is left");
}

#[tokio::test]
async fn a_match_is_kept_as_long_as_was_said_when_it_ended() {
    let (clock, directory) = (place::clock(), place::directory());
    let days = |days| Options::from(Durability::Process).with_retention_days(days);
    let store = place::open_with(directory.path(), &clock, days(2));
    let (one, other) = (game::id(1), game::id(2));
    game::finished(&store, one, 3).await;
    drop(store);
    let store = place::open_with(directory.path(), &clock, days(0));
    game::finished(&store, other, 3).await;
    let before = game::load(&store, one).await;
    clock.advance_ms(DAY_MS);
    game::due(&store).await;
    assert_eq!(game::load(&store, other).await.head.resolved, 3);
    clock.advance_ms(DAY_MS);
    game::due(&store).await;
    assert_eq!(store.load(other).await, Err(StoreError::NotFound), "a day is the least");
    assert_eq!(game::load(&store, one).await, before);
    drop(store);
    let checked = store_embedded::check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!((checked.finished, checked.problems), (1, Vec::new()));
    let store = place::open_with(directory.path(), &clock, days(2));
    clock.advance_ms(20_000);
    game::due(&store).await;
    assert_eq!(store.load(one).await, Err(StoreError::NotFound));
}

#[tokio::test]
async fn many_changes_of_one_match_at_once_have_one_winner_and_the_others_meet_it() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = game::shared(place::open(directory.path(), &clock));
    game::start(&store, id).await;
    let mut racers = Vec::new();
    for racer in 0..32 {
        let store = std::sync::Arc::clone(&store);
        let mut commit = game::judge(&store, id, game::seal(Seat::Black, 1)).await;
        commit.nonce = [racer; 8];
        racers.push(tokio::spawn(async move { store.commit(commit).await.expect("a commit is answered") }));
    }
    let (mut won, mut met) = (Vec::new(), Vec::new());
    for racer in racers {
        match racer.await.expect("a racer does not panic") {
            CommitOutcome::Committed(stored) => won.push(stored),
            CommitOutcome::Conflict(loaded) => met.push(loaded.stored),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(won.len(), 1);
    assert!(met.iter().all(|stored| *stored == won[0]));
    drop(store);
    assert_eq!(game::load(&place::open(directory.path(), &clock), id).await, won[0]);
}

#[tokio::test]
async fn a_change_whose_caller_is_gone_is_made_as_a_whole_or_not_at_all() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let store = place::open(directory.path(), &clock);
    let before = game::start(&store, id).await;
    let commit = game::judge(&store, id, game::seal(Seat::Black, 1)).await;
    let expected = commit.change.next.clone();
    let mut call = Box::pin(store.commit(commit));
    let waker = std::task::Waker::noop();
    let _ = call.as_mut().poll(&mut std::task::Context::from_waker(waker));
    drop(call);
    // The next change of the match waits for the one in flight, if there is one.
    store.settle(id, before.version, &[]).await.expect("follow-ups can be settled");
    drop(store);
    let stored = game::load(&place::open(directory.path(), &clock), id).await;
    assert_eq!(stored.head, expected);
    assert_eq!(stored.version.counter, before.version.counter + 1);
}

#[test]
fn a_change_whose_runtime_ends_is_written_when_the_store_is_closed() {
    let (clock, directory) = (place::clock(), place::directory());
    let id = game::id(1);
    let runtime = || tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    let store = place::open(directory.path(), &clock);
    let first = runtime();
    let expected = first.block_on(async {
        game::start(&store, id).await;
        let commit = game::judge(&store, id, game::seal(Seat::Black, 1)).await;
        let expected = commit.change.next.clone();
        let mut call = Box::pin(store.commit(commit));
        let _ = call.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        expected
    });
    drop(first);
    drop(store);
    let store = place::open(directory.path(), &clock);
    assert_eq!(runtime().block_on(game::load(&store, id)).head, expected);
}
