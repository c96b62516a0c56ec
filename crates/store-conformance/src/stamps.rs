//! The store's clock decides which stamps hold.

use std::sync::Arc;

use referee::{Command, Now, Stamp};
use rules::Seat;
use sealing::{EndReason, MatchId, MatchResult};
use store::{Commit, CommitOutcome};

use crate::world::{World, committed, conflict, resign, seal};

/// Judges a seal of black at this moment and tries to store it.
async fn seal_stamped(world: &World, id: MatchId, judged: Now) -> CommitOutcome {
    let loaded = world.load(id).await;
    let commit = world.judge_at(&loaded, seal(Seat::Black, 1), judged);
    world.commit(commit).await
}

/// Checks that a seal stamped so is sent back to be judged at the shard's time, and changes nothing.
async fn is_restamped(world: &World, id: MatchId, judged: Now) {
    let before = world.load(id).await;
    assert_eq!(seal_stamped(world, id, judged).await, CommitOutcome::Restamp(before.now), "{judged:?}");
    world.sees(id, &before.stored).await;
}

fn stamped(now: Now, stamp: Stamp) -> Now {
    Now { stamp, ..now }
}

/// Time never runs back within a match; a stamp equal to the head's holds.
pub async fn a_stamp_before_the_heads_is_refused(world: Arc<World>) {
    let id = world.start().await;
    world.leap_ms(500).await;
    let head = world.act(id, seal(Seat::White, 1)).await.stamp;
    world.leap_ms(400).await;
    let now = world.now(id).await;
    is_restamped(&world, id, stamped(now, Stamp::from_ms(head.as_ms() - 1))).await;
    let stored = committed(seal_stamped(&world, id, stamped(now, head)).await);
    assert_eq!(stored.stamp, head);
}

/// A node whose clock runs ahead cannot write into the future; a stamp equal to the clock holds.
pub async fn a_stamp_ahead_of_the_stores_clock_is_refused(world: Arc<World>) {
    let id = world.start().await;
    let now = world.now(id).await;
    is_restamped(&world, id, stamped(now, now.stamp.plus_ms(1))).await;
    is_restamped(&world, id, stamped(now, now.stamp.plus_ms(10_000))).await;
    committed(seal_stamped(&world, id, now).await);
}

/// A node that was paused cannot write into the past; a stamp of exactly a second ago holds.
pub async fn a_stamp_older_than_a_second_is_refused(world: Arc<World>) {
    let id = world.start().await;
    world.leap_ms(2_000).await;
    let now = world.now(id).await;
    let ago = |ms: u64| stamped(now, Stamp::from_ms(now.stamp.as_ms() - ms));
    is_restamped(&world, id, ago(Commit::STAMP_AGE_MAX_MS + 1)).await;
    is_restamped(&world, id, ago(2_000)).await;
    let stored = committed(seal_stamped(&world, id, ago(Commit::STAMP_AGE_MAX_MS)).await);
    assert_eq!(stored.stamp, ago(Commit::STAMP_AGE_MAX_MS).stamp);
}

/// Deadlines judged under another sum are other deadlines.
pub async fn a_stamp_under_another_outage_sum_is_refused(world: Arc<World>) {
    let id = world.start().await;
    world.leap_ms(5_000).await;
    let now = world.now(id).await;
    assert_eq!(now.outage_ms, 5_000);
    for outage_ms in [0, 4_999, 5_001] {
        is_restamped(&world, id, Now { outage_ms, ..now }).await;
    }
    committed(seal_stamped(&world, id, now).await);
}

/// The refusal tells the time to judge at; the version is still the same.
pub async fn a_change_judged_again_at_the_time_of_the_refusal_is_stored(world: Arc<World>) {
    let id = world.start().await;
    let loaded = world.load(id).await;
    world.leap_ms(7_000).await;
    let old = world.judge_at(&loaded, seal(Seat::Black, 1), loaded.now);
    let CommitOutcome::Restamp(now) = world.commit(old).await else { panic!("an old stamp is refused") };
    let stored = committed(world.commit(world.judge_at(&loaded, seal(Seat::Black, 1), now)).await);
    assert_eq!((stored.stamp, stored.head.outage_ms), (now.stamp, 7_000));
}

/// On the store's clock, whenever it was judged: a seal on its way when the deadline passes is late.
pub async fn a_change_is_stored_until_its_last_moment_and_never_after(world: Arc<World>) {
    for (over_ms, in_time) in [(0, true), (1, false), (900, false)] {
        let id = world.start().await;
        let deadline = world.load(id).await.stored.head.deadline().expect("a live match has one");
        world.pass_until(id, deadline).await;
        let loaded = world.load(id).await;
        let commit = world.judge_at(&loaded, seal(Seat::Black, 1), loaded.now);
        assert_eq!(commit.change.not_after, Some(deadline));
        world.leap_ms(over_ms).await;
        let now = world.now(id).await;
        let outcome = world.commit(commit.clone()).await;
        if in_time {
            committed(outcome);
        } else {
            assert_eq!(outcome, CommitOutcome::TooLate(now));
            world.sees(id, &loaded.stored).await;
        }
    }
}

/// Judged again at the time it is told, the seal is refused and the flag falls.
pub async fn a_change_that_came_too_late_finds_the_deadline_passed(world: Arc<World>) {
    let id = world.start().await;
    world.act(id, seal(Seat::White, 1)).await;
    let deadline = world.load(id).await.stored.head.deadline().expect("a live match has one");
    world.pass_until(id, deadline).await;
    let loaded = world.load(id).await;
    let commit = world.judge_at(&loaded, seal(Seat::Black, 1), loaded.now);
    world.leap_ms(1).await;
    let CommitOutcome::TooLate(now) = world.commit(commit).await else { panic!("the deadline has passed") };
    let flag = world.judge_at(&loaded, seal(Seat::Black, 1), now);
    let stored = committed(world.commit(flag).await);
    let finish = stored.head.finish().expect("the flag has fallen");
    assert_eq!(
        (finish.result, finish.reason, finish.at),
        (MatchResult::WhiteWins, EndReason::Flag, deadline)
    );
    world.has_turns(id, &[]).await;
}

/// Whoever lost the race must read again before he is told of any time; only a stamp that holds can
/// come too late.
pub async fn a_conflict_comes_before_a_restamp_and_that_before_too_late(world: Arc<World>) {
    let id = world.start().await;
    let deadline = world.load(id).await.stored.head.deadline().expect("a live match has one");
    world.pass_until(id, deadline).await;
    let loaded = world.load(id).await;
    let late = world.judge_at(&loaded, resign(Seat::White), loaded.now);
    world.leap_ms(1_500).await;
    let now = world.now(id).await;
    assert_eq!(world.commit(late.clone()).await, CommitOutcome::Restamp(now), "old, and past not_after");
    let flag = world.act(id, Command::Tick).await;
    assert_eq!(conflict(world.commit(late).await).stored, flag, "stale, old, and past not_after");
}
