//! Time in which nobody was there is counted, and costs no player anything.

use std::sync::Arc;

use referee::{Answer, Command, Stamp};
use rules::Seat;
use sealing::{EndReason, MatchId};
use store::{Shard, Version};

use crate::world::{TURN_MS, World, committed, seal};

/// The longest gap between two operations that is no outage, ms.
const GAP_MAX_MS: u64 = 3_000;

async fn sum_ms(world: &World, id: MatchId) -> u64 {
    world.now(id).await.outage_ms
}

/// The whole gap, not only what is above the bound.
pub async fn a_gap_of_3_s_is_no_outage_and_a_longer_one_is_added_whole(world: Arc<World>) {
    let id = world.id();
    assert_eq!(sum_ms(&world, id).await, 0);
    for (gap_ms, expected_ms) in [(1, 0), (GAP_MAX_MS, 0), (GAP_MAX_MS, 0), (GAP_MAX_MS + 1, 3_001)] {
        world.leap_ms(gap_ms).await;
        assert_eq!(sum_ms(&world, id).await, expected_ms, "after a gap of {gap_ms} ms");
    }
}

/// Between two of them the store was not out.
pub async fn every_operation_on_a_match_shows_that_somebody_is_there(world: Arc<World>) {
    let id = world.start().await;
    let nobody = Version { counter: u64::MAX, nonce: [0; 8] };
    for operation in 0..5 {
        world.leap_ms(GAP_MAX_MS / 2 + 1).await;
        match operation {
            0 => drop(world.now(id).await),
            1 => drop(world.load(id).await),
            2 => drop(world.create(world.id_in(world.shard(id))).await),
            3 => drop(world.due(id).await),
            _ => {
                let mut commit = world.judge(id, seal(Seat::Black, 1)).await;
                commit.expected = nobody;
                world.leap_ms(GAP_MAX_MS).await;
                world.commit(commit).await;
            }
        }
        world.leap_ms(GAP_MAX_MS / 2 + 1).await;
        assert_eq!(sum_ms(&world, id).await, 0, "operation {operation}");
    }
}

/// Whatever else is going on, or not.
pub async fn asking_what_is_due_every_second_keeps_the_outage_sum_at_zero(world: Arc<World>) {
    let id = world.start().await;
    world.pass_ms(id, 10 * 60 * 1_000).await;
    assert_eq!(sum_ms(&world, id).await, 0);
}

/// Nothing else is needed for it.
pub async fn touching_a_shard_keeps_its_outage_sum_at_zero(world: Arc<World>) {
    let id = world.start().await;
    for _ in 0..20 {
        world.leap_ms(GAP_MAX_MS).await;
        let touched = world.other.touch(world.shard(id)).await.expect("a shard can be touched");
        assert_eq!(touched.outage_ms, 0);
    }
    assert_eq!(sum_ms(&world, id).await, 0);
}

/// Each gap counts once, whoever comes first after it.
pub async fn outages_add_up_and_every_node_sees_the_same_sum(world: Arc<World>) {
    let id = world.start().await;
    let mut sum_ms = 0;
    for (gap_ms, first) in [(4_000, 0), (100_000, 1), (3_001, 0)] {
        world.leap_ms(gap_ms).await;
        sum_ms += gap_ms;
        let nodes = world.nodes();
        for node in [nodes[first], nodes[1 - first], nodes[first]] {
            let loaded = node.load(id).await.expect("a stored match can be read");
            assert_eq!(loaded.now.outage_ms, sum_ms);
        }
    }
}

/// A shard that somebody keeps is not out because another is.
pub async fn each_shard_has_an_outage_sum_of_its_own(world: Arc<World>) {
    if world.store.shard_count() < 2 {
        return;
    }
    let (kept, left) = (world.id_in(Shard(0)), world.id_in(Shard(1)));
    assert_eq!((sum_ms(&world, kept).await, sum_ms(&world, left).await), (0, 0));
    world.pass_ms(kept, 10_000).await;
    assert_eq!((sum_ms(&world, kept).await, sum_ms(&world, left).await), (0, 10_000));
}

/// Nobody flags for it, and nobody has a millisecond more than that.
pub async fn the_deadlines_of_a_live_match_move_by_an_outage(world: Arc<World>) {
    let id = world.start().await;
    let deadline = world.load(id).await.stored.head.deadline().expect("a live match has one");
    world.pass_ms(id, 10_000).await;
    world.leap_ms(10 * TURN_MS).await;
    let loaded = world.load(id).await;
    assert_eq!(loaded.stored.head.apply(&Command::Tick, loaded.now).change, None, "nobody has flagged");
    world.act(id, seal(Seat::Black, 1)).await;
    let moved = deadline.plus_ms(10 * TURN_MS);
    world.pass_until(id, moved).await;
    let loaded = world.load(id).await;
    assert_eq!(loaded.stored.head.apply(&Command::Tick, loaded.now).change, None);
    world.leap_ms(1).await;
    let stored = world.act(id, Command::Tick).await;
    let finish = stored.head.finish().expect("white has flagged");
    assert_eq!((finish.reason, finish.at), (EndReason::Flag, moved));
}

/// A tick that was on its way when the service went down flags nobody when it arrives.
pub async fn a_match_judged_before_an_outage_is_judged_again_after_it(world: Arc<World>) {
    let id = world.start().await;
    let before = world.load(id).await;
    let commit = world.judge_at(&before, seal(Seat::Black, 1), before.now);
    world.leap_ms(2 * TURN_MS).await;
    let store::CommitOutcome::Restamp(now) = world.commit(commit).await else {
        panic!("the outage sum is another one");
    };
    assert_eq!(now.outage_ms, 2 * TURN_MS);
    let judged = before.stored.head.apply(&seal(Seat::Black, 1), now);
    assert!(matches!(judged.answer, Ok(Answer::Sealed(_))));
    committed(world.commit(world.judge_at(&before, seal(Seat::Black, 1), now)).await);
}

/// Its entry comes up at the old time, is moved, and comes up again at the new one.
pub async fn a_match_whose_deadline_an_outage_moved_is_postponed_and_still_ends(world: Arc<World>) {
    let id = world.start().await;
    world.leap_ms(2 * TURN_MS).await;
    assert!(world.is_due(id).await);
    let loaded = world.load(id).await;
    assert_eq!(loaded.stored.head.apply(&Command::Tick, loaded.now).change, None);
    let moved = loaded.stored.head.under_outage(loaded.now.outage_ms).due().expect("it is live");
    let postponed = world.store.postpone(id, loaded.stored.version, moved).await;
    postponed.expect("a match can be postponed");
    world.pass_until(id, Stamp::from_ms(moved.as_ms() - 1)).await;
    assert!(!world.is_due(id).await);
    world.leap_ms(1).await;
    assert!(world.is_due(id).await);
    let stored = world.act(id, Command::Tick).await;
    assert_eq!(stored.head.finish().map(|finish| finish.reason), Some(EndReason::BothFlagged));
}
