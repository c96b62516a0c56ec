//! What is due, and when: a live match always has a due time in a due set.

use std::sync::Arc;

use referee::{Command, Stamp};
use rules::Seat;
use sealing::{EndReason, MatchId};
use store::Version;

use crate::world::{TURN_MS, World, resign, seal};

/// Steps after which a match that only time moves must have ended.
const STEPS_MAX: u32 = 10;

async fn due_time(world: &World, id: MatchId) -> Stamp {
    world.load(id).await.stored.head.due().expect("a live match has a due time")
}

/// Lets time pass until just before `due`, then over it, and checks that the match is due only then.
async fn is_due_only_at(world: &World, id: MatchId, due: Stamp) {
    world.pass_until(id, Stamp::from_ms(due.as_ms() - 1)).await;
    assert!(!world.is_due(id).await, "not due before its time");
    world.leap_ms(1).await;
    assert!(world.is_due(id).await, "due at its time");
}

/// From its creation on.
pub async fn a_match_whose_follow_ups_wait_is_due_at_once(world: Arc<World>) {
    let id = world.id();
    world.create(id).await;
    assert!(world.is_due(id).await);
    world.settle_all(id).await;
    assert!(!world.is_due(id).await);
}

/// The deadline is inclusive, so the first moment after it is the due time.
pub async fn a_match_is_due_once_its_deadline_has_passed_and_not_before(world: Arc<World>) {
    let id = world.start().await;
    is_due_only_at(&world, id, due_time(&world, id).await).await;
}

/// Whoever works on some shards is not given the matches of others.
pub async fn a_match_is_due_in_its_own_shard_only(world: Arc<World>) {
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(world.id());
        world.create(ids[ids.len() - 1]).await;
    }
    let mut found = Vec::new();
    for shard in 0..world.store.shard_count() {
        let due = world.other.due(store::Shard(shard), usize::MAX).await.expect("what is due can be asked");
        assert!(due.matches.iter().all(|id| world.shard(*id) == store::Shard(shard)));
        found.extend(due.matches);
    }
    ids.sort();
    found.sort();
    assert_eq!(found, ids);
}

/// So that who is short of time does first what waits longest.
pub async fn due_matches_come_earliest_first(world: Arc<World>) {
    let shard = world.shard(world.id());
    let mut ids = Vec::new();
    for turn_ms in [7_000, 5_000, 9_000, 6_000] {
        ids.push(world.start_with(world.id_in(shard), turn_ms).await);
    }
    world.pass_ms(ids[0], 20_000).await;
    assert_eq!(world.due(ids[0]).await, [ids[1], ids[3], ids[0], ids[2]]);
    let first = world.store.due(shard, 2).await.expect("what is due can be asked");
    assert_eq!(first.matches, [ids[1], ids[3]]);
    assert_eq!(first.now, world.now(ids[0]).await);
}

/// Memory and time of a step are bounded whatever has piled up.
pub async fn due_matches_come_up_to_a_limit(world: Arc<World>) {
    let shard = world.shard(world.id());
    for _ in 0..5 {
        world.create(world.id_in(shard)).await;
    }
    for (limit, expected) in [(0, 0), (3, 3), (5, 5), (100, 5)] {
        let due = world.store.due(shard, limit).await.expect("what is due can be asked");
        assert_eq!(due.matches.len(), expected, "at most {limit}");
    }
}

/// The old entry is gone, the new one is there.
pub async fn an_entry_moves_with_every_commit(world: Arc<World>) {
    let id = world.start().await;
    world.pass_ms(id, 20_000).await;
    world.play(id).await;
    world.pass_ms(id, 20_000).await;
    assert!(!world.is_due(id).await, "the first turn's deadline counts no more");
    is_due_only_at(&world, id, due_time(&world, id).await).await;
}

/// Not even if somebody postpones it who has not heard of the end.
pub async fn a_finished_and_settled_match_is_never_due_again(world: Arc<World>) {
    let id = world.start().await;
    world.act(id, resign(Seat::Black)).await;
    assert!(world.is_due(id).await, "what follows from the end waits");
    world.settle_all(id).await;
    assert!(!world.is_due(id).await);
    let loaded = world.load(id).await;
    let postponed = world.store.postpone(id, loaded.stored.version, loaded.now.stamp).await;
    postponed.expect("a match can be postponed");
    assert!(!world.is_due(id).await);
}

/// At another version somebody else has given it its time.
pub async fn a_postponed_match_is_due_later_at_its_version_only(world: Arc<World>) {
    let id = world.start().await;
    let due = due_time(&world, id).await;
    world.pass_until(id, due).await;
    assert!(world.is_due(id).await);
    let loaded = world.load(id).await;
    let version = loaded.stored.version;
    let later = due.plus_ms(5_000);
    for stale in
        [Version { counter: version.counter - 1, ..version }, Version { nonce: [0xff; 8], ..version }]
    {
        world.store.postpone(id, stale, later).await.expect("a match can be postponed");
        assert!(world.is_due(id).await, "postponed at another version");
    }
    world.store.postpone(id, version, later).await.expect("a match can be postponed");
    world.sees(id, &loaded.stored).await;
    is_due_only_at(&world, id, later).await;
}

/// Nobody but time moves it; what is due is enough to bring it to its end.
pub async fn a_match_that_only_time_moves_comes_to_its_end_by_what_is_due(world: Arc<World>) {
    let id = world.start().await;
    world.act(id, seal(Seat::Black, 1)).await;
    for _ in 0..STEPS_MAX {
        if world.is_due(id).await {
            let loaded = world.load(id).await;
            if loaded.stored.head.apply(&Command::Tick, loaded.now).change.is_some() {
                world.act(id, Command::Tick).await;
            }
            world.settle_all(id).await;
        }
        world.pass_ms(id, TURN_MS).await;
    }
    let stored = world.load(id).await.stored;
    assert_eq!(stored.head.finish().map(|finish| finish.reason), Some(EndReason::Flag));
    assert!(!world.is_due(id).await);
}
