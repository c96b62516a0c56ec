//! Creating a match.

use std::sync::Arc;

use referee::{Command, TimeControl};
use rules::Seat;
use store::{StoreError, Version};

use crate::world::{TURN_MS, World, resign};

/// Creators that race each other.
const CREATORS: u64 = 8;

/// What is created is what every node reads.
pub async fn creating_a_match_stores_it_at_version_1(world: Arc<World>) {
    let id = world.id();
    let (change, nonce) = (world.new_match(id, TURN_MS).await, world.nonce());
    let created = world.store.create(change.clone(), nonce).await.expect("a match can be created");
    assert_eq!(created.stored.head, change.next);
    assert_eq!(created.stored.version, Version { counter: 1, nonce });
    assert_eq!(created.stored.follow_ups, change.follow_ups);
    assert!(created.stored.stamp >= change.next.created);
    assert!(created.now.stamp >= created.stored.stamp);
    world.sees(id, &created.stored).await;
    world.has_turns(id, &[]).await;
}

/// Whatever has become of the match by then.
pub async fn creating_again_changes_nothing_and_answers_what_is_stored(world: Arc<World>) {
    let id = world.id();
    let first = world.create(id).await;
    for node in world.nodes() {
        let again = world.new_match(id, 2 * TURN_MS).await;
        let answer = node.create(again, world.nonce()).await.expect("creating again is answered");
        assert_eq!(answer.stored, first);
    }
    let joined = world.act(id, Command::Join { seat: Seat::White }).await;
    let again = world.new_match(id, TURN_MS).await;
    let answer = world.other.create(again, world.nonce()).await.expect("creating again is answered");
    assert_eq!(answer.stored, joined);
    world.sees(id, &joined).await;
}

/// However different what they want to create.
pub async fn of_many_who_create_a_match_at_once_all_get_the_same(world: Arc<World>) {
    let id = world.id();
    let mut creators = Vec::new();
    for creator in 0..CREATORS {
        let world = Arc::clone(&world);
        creators.push(tokio::spawn(async move {
            let change = world.new_match(id, TURN_MS + creator).await;
            let node = world.nodes()[usize::from(creator % 2 == 1)];
            node.create(change, world.nonce()).await.expect("a match can be created").stored
        }));
    }
    let mut answers = Vec::new();
    for creator in creators {
        answers.push(creator.await.expect("a creator does not panic"));
    }
    for answer in &answers {
        assert_eq!(answer, &answers[0]);
    }
    assert!(matches!(answers[0].head.settings.time, TimeControl::PerTurn { turn_ms } if turn_ms >= TURN_MS));
    world.sees(id, &answers[0]).await;
}

/// Nothing can be read of it, changed or watched.
pub async fn a_match_that_was_never_created_is_not_found(world: Arc<World>) {
    let (id, stored) = (world.id(), world.start().await);
    let mut commit = world.judge(stored, resign(Seat::Black)).await;
    Arc::make_mut(&mut commit.change.next).id = id;
    assert_eq!(world.store.load(id).await, Err(StoreError::NotFound));
    assert_eq!(world.store.commit(commit).await, Err(StoreError::NotFound));
    assert_eq!(world.store.turns(id, 1, 10).await, Err(StoreError::NotFound));
    assert_eq!(world.store.watch(id).await.map(|_| ()), Err(StoreError::NotFound));
    assert_eq!(world.store.load(id).await, Err(StoreError::NotFound), "asking creates nothing");
}

/// A match is stamped with the store's time before it exists.
pub async fn the_time_can_be_asked_before_a_match_exists(world: Arc<World>) {
    let id = world.id();
    let before = world.now(id).await;
    let created = world.create(id).await;
    assert!(created.head.created >= before.stamp);
    assert!(world.now(id).await.stamp >= created.stamp);
}
