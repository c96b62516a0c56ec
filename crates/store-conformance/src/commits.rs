//! The compare-and-set that everything rests on.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee::{Answer, Refusal};
use rules::Seat;
use sealing::MatchId;
use store::{Commit, CommitOutcome, Stored};

use crate::world::{World, committed, conflict, resign, seal, seal_as};

/// Turns that racing players play out.
const RACED_TURNS: u32 = 40;

/// Players a seat that race each other, each on a task of its own.
const RACERS_A_SEAT: u32 = 3;

/// The version counts one more, with the committer's bytes; the stamp is that of the judgement.
pub async fn a_commit_on_the_current_version_is_stored(world: Arc<World>) {
    let id = world.start().await;
    let commit = world.judge(id, seal(Seat::Black, 1)).await;
    let stored = committed(world.commit(commit.clone()).await);
    assert_eq!(stored.version.counter, commit.expected.counter + 1);
    assert_eq!(stored.version.nonce, commit.nonce);
    assert_eq!(stored.stamp, commit.judged.stamp);
    assert_eq!(stored.head, commit.change.next);
    world.sees(id, &stored).await;
}

/// The loser is given what the winner stored, and the history has no trace of him.
pub async fn a_commit_on_a_stale_version_conflicts_and_changes_nothing(world: Arc<World>) {
    let id = world.start().await;
    let late = world.judge(id, resign(Seat::White)).await;
    world.act(id, seal(Seat::Black, 1)).await;
    let resolving = world.judge(id, seal(Seat::White, 1)).await;
    let winner = committed(world.commit(resolving.clone()).await);
    for stale in [late, resolving] {
        for node in world.nodes() {
            let outcome = node.commit(stale.clone()).await.expect("a commit is answered");
            assert_eq!(conflict(outcome).stored, winner);
            world.sees(id, &winner).await;
            world.has_turns(id, &[1]).await;
        }
    }
}

/// Two nodes can have written the same counter if a store lost a write in between.
pub async fn the_same_counter_with_other_random_bytes_conflicts(world: Arc<World>) {
    let id = world.start().await;
    let mut commit = world.judge(id, seal(Seat::Black, 1)).await;
    let before = world.load(id).await.stored;
    commit.expected.nonce[7] ^= 1;
    assert_eq!(conflict(world.commit(commit.clone()).await).stored, before);
    world.sees(id, &before).await;
    commit.expected.nonce[7] ^= 1;
    commit.expected.counter += 1;
    assert_eq!(conflict(world.commit(commit).await).stored, before);
    world.sees(id, &before).await;
}

/// A caller whose acknowledgement was lost finds his own commit stored, once.
pub async fn a_commit_sent_again_conflicts_with_itself(world: Arc<World>) {
    let id = world.start().await;
    world.act(id, seal(Seat::Black, 1)).await;
    let commit = world.judge(id, seal(Seat::White, 1)).await;
    let stored = committed(world.commit(commit.clone()).await);
    let again = world.other.commit(commit).await.expect("a commit is answered");
    assert_eq!(conflict(again).stored, stored);
    world.has_turns(id, &[1]).await;
}

/// Both players seal at once through two nodes: no second read is needed, and the turn resolves once.
pub async fn a_loser_wins_with_the_head_that_the_conflict_gave_him(world: Arc<World>) {
    let id = world.start().await;
    let black = world.judge(id, seal(Seat::Black, 1)).await;
    let white = world.judge(id, seal(Seat::White, 1)).await;
    committed(world.store.commit(black).await.expect("a commit is answered"));
    let current = conflict(world.other.commit(white).await.expect("a commit is answered"));
    let again = world.judge_at(&current, seal(Seat::White, 1), current.now);
    let stored = committed(world.other.commit(again).await.expect("a commit is answered"));
    assert_eq!(stored.head.resolved, 1);
    world.sees(id, &stored).await;
    world.has_turns(id, &[1]).await;
}

/// Tasks on several threads and both nodes play one match against each other, each turn several times.
pub async fn of_many_commits_on_one_version_exactly_one_wins(world: Arc<World>) {
    let id = world.start().await;
    let first = world.load(id).await.stored.version.counter;
    let mut racers = Vec::new();
    for racer in 0..2 * RACERS_A_SEAT {
        let world = Arc::clone(&world);
        racers.push(tokio::spawn(async move { race(&world, id, racer).await }));
    }
    let mut won = BTreeMap::new();
    for racer in racers {
        for stored in racer.await.expect("a racer does not panic") {
            let earlier = won.insert(stored.version.counter, stored);
            assert_eq!(earlier.map(|stored| stored.version), None, "one commit a version");
        }
    }
    let counters: Vec<u64> = won.keys().copied().collect();
    let last = first + 2 * u64::from(RACED_TURNS);
    assert_eq!(counters, (first + 1..=last).collect::<Vec<u64>>(), "no version is skipped");
    world.sees(id, &won[&last]).await;
    world.has_turns(id, &(1..=RACED_TURNS).collect::<Vec<u32>>()).await;
}

/// Seals every turn for one seat, as fast as it can. Returns what it stored.
async fn race(world: &World, id: MatchId, racer: u32) -> Vec<Stored> {
    let seat = Seat::BOTH[usize::from(racer % 2 == 1)];
    let node = world.nodes()[usize::from(racer % 4 >= 2)];
    let mut won = Vec::new();
    let mut loaded = node.load(id).await.expect("a stored match can be read");
    loop {
        let turn = loaded.stored.head.resolved + 1;
        if turn > RACED_TURNS {
            return won;
        }
        let command = seal_as(seat, turn, &format!("racer-{racer}"));
        let judged = loaded.stored.head.apply(&command, loaded.now);
        let Some(change) = judged.change else {
            let sealed = matches!(judged.answer, Ok(Answer::Sealed(_)) | Err(Refusal::AlreadySealed { .. }));
            assert!(sealed, "{:?}", judged.answer);
            tokio::task::yield_now().await;
            loaded = node.load(id).await.expect("a stored match can be read");
            continue;
        };
        let commit = Commit {
            expected: loaded.stored.version,
            nonce: world.nonce(),
            judged: loaded.now,
            change,
            trace: None,
        };
        loaded = match node.commit(commit).await.expect("a commit is answered") {
            CommitOutcome::Conflict(current) => current,
            CommitOutcome::Committed(stored) => {
                won.push(stored);
                node.load(id).await.expect("a stored match can be read")
            }
            CommitOutcome::Restamp(now) => store::Loaded { now, ..loaded },
            CommitOutcome::TooLate(now) => panic!("nobody is late at {now:?}"),
        };
    }
}

/// Only a change in which a turn resolved appends one.
pub async fn turns_are_appended_once_and_in_order(world: Arc<World>) {
    let id = world.start().await;
    let mut records = Vec::new();
    for turn in 1..=5 {
        world.act(id, seal(Seat::White, turn)).await;
        world.has_turns(id, &(1..turn).collect::<Vec<u32>>()).await;
        let commit = world.judge(id, seal(Seat::Black, turn)).await;
        records.extend(commit.change.turn().cloned());
        committed(world.commit(commit).await);
    }
    world.act(id, resign(Seat::White)).await;
    let turns = world.other.turns(id, 1, usize::MAX).await.expect("turns can be read");
    assert_eq!(turns, records);
}

/// Counted from 1; beyond the last there are none.
pub async fn turns_are_read_from_any_turn_on_up_to_a_limit(world: Arc<World>) {
    let id = world.start().await;
    for _ in 0..5 {
        world.play(id).await;
    }
    for (from, limit, expected) in [
        (1, 10, &[1, 2, 3, 4, 5][..]),
        (1, 2, &[1, 2]),
        (3, 2, &[3, 4]),
        (4, 10, &[4, 5]),
        (5, 1, &[5]),
        (6, 10, &[]),
        (u32::MAX, 10, &[]),
        (2, 0, &[]),
    ] {
        let turns = world.other.turns(id, from, limit).await.expect("turns can be read");
        let numbers: Vec<u32> = turns.iter().map(|record| record.turn).collect();
        assert_eq!(numbers, expected, "from {from}, at most {limit}");
    }
}

/// Two matches, even of the same players, share nothing.
pub async fn a_commit_touches_no_other_match(world: Arc<World>) {
    let (one, other) = (world.start().await, world.start().await);
    world.play(other).await;
    let before = world.load(other).await.stored;
    world.play(one).await;
    world.act(one, resign(Seat::Black)).await;
    world.sees(other, &before).await;
    world.has_turns(other, &[1]).await;
    world.act(other, seal(Seat::Black, 2)).await;
}
