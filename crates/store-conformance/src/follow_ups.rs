//! What a commit causes elsewhere waits with the match until it is done.

use std::sync::Arc;

use referee::{Command, FollowUp};
use rules::Seat;
use store::Version;

use crate::world::{World, committed, resign, seal};

const BLACK: FollowUp = FollowUp::Index(Seat::Black);
const WHITE: FollowUp = FollowUp::Index(Seat::White);

/// What the end of a match causes that was played.
const AT_THE_END: [FollowUp; 4] =
    [BLACK, WHITE, FollowUp::Record(Seat::Black), FollowUp::Record(Seat::White)];

async fn waiting(world: &World, id: sealing::MatchId) -> Vec<FollowUp> {
    let mut waiting = world.load(id).await.stored.follow_ups;
    waiting.sort_by_key(|follow_up| format!("{follow_up:?}"));
    waiting
}

/// Through every commit, and due all the while.
pub async fn follow_ups_wait_until_they_are_settled(world: Arc<World>) {
    let id = world.id();
    world.create(id).await;
    for seat in Seat::BOTH {
        world.act(id, Command::Join { seat }).await;
        assert_eq!(waiting(&world, id).await, [BLACK, WHITE]);
        assert!(world.is_due(id).await);
    }
    world.settle_all(id).await;
    assert_eq!(waiting(&world, id).await, []);
    assert!(!world.is_due(id).await);
    world.act(id, resign(Seat::Black)).await;
    assert_eq!(waiting(&world, id).await, AT_THE_END);
    assert!(world.is_due(id).await);
}

/// The rest waits on, and settling again what is done is harmless.
pub async fn settling_takes_off_only_what_is_done(world: Arc<World>) {
    let id = world.id();
    let version = world.create(id).await.version;
    for _ in 0..2 {
        world.store.settle(id, version, &[WHITE]).await.expect("follow-ups can be settled");
        assert_eq!(waiting(&world, id).await, [BLACK]);
        assert!(world.is_due(id).await);
    }
    world.other.settle(id, version, &[BLACK, WHITE]).await.expect("follow-ups can be settled");
    assert_eq!(waiting(&world, id).await, []);
    assert!(!world.is_due(id).await);
}

/// A commit came in between: what it caused may be the same follow-up again, not yet done.
pub async fn settling_at_another_version_does_nothing(world: Arc<World>) {
    let id = world.id();
    let version = world.create(id).await.version;
    let joined = world.act(id, Command::Join { seat: Seat::Black }).await;
    let other_bytes = Version { nonce: version.nonce, ..joined.version };
    for stale in [version, other_bytes] {
        world.store.settle(id, stale, &[BLACK, WHITE]).await.expect("follow-ups can be settled");
        assert_eq!(waiting(&world, id).await, [BLACK, WHITE]);
        assert!(world.is_due(id).await);
    }
    world.sees(id, &joined).await;
}

/// A node that read the match before can still commit on it.
pub async fn settling_makes_no_new_version(world: Arc<World>) {
    let id = world.id();
    world.create(id).await;
    let joining = world.judge(id, Command::Join { seat: Seat::Black }).await;
    world.settle_all(id).await;
    let stored = committed(world.commit(joining).await);
    assert_eq!(stored.follow_ups, [], "what was settled does not come back");
}

/// Each once.
pub async fn new_follow_ups_are_added_to_those_that_wait(world: Arc<World>) {
    let id = world.id();
    world.create(id).await;
    for seat in Seat::BOTH {
        world.act(id, Command::Join { seat }).await;
    }
    world.act(id, seal(Seat::Black, 1)).await;
    let version = world.load(id).await.stored.version;
    world.store.settle(id, version, &[BLACK]).await.expect("follow-ups can be settled");
    let commit = world.judge(id, resign(Seat::White)).await;
    assert_eq!(commit.change.follow_ups.len(), AT_THE_END.len());
    committed(world.commit(commit).await);
    assert_eq!(waiting(&world, id).await, AT_THE_END);
}
