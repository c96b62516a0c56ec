//! Hints that a match has changed.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use rules::Seat;
use sealing::MatchId;
use store::{CommitOutcome, Hints, Store, TraceContext, Version};

use crate::world::{World, seal};

/// Turns that are played while somebody watches.
const WATCHED_TURNS: u32 = 40;

async fn watch(node: &Arc<dyn Store>, id: MatchId) -> Hints {
    node.watch(id).await.expect("a stored match can be watched")
}

async fn version(node: &Arc<dyn Store>, id: MatchId) -> Version {
    node.load(id).await.expect("a stored match can be read").stored.version
}

/// Waits until the hints have come to this version.
async fn come_to(hints: &mut Hints, last: Version) {
    while hints.changed().await.expect("the match is still stored").version != last {}
}

/// Begins to wait for a hint, and gives up at once.
fn give_up(hints: &mut Hints) -> Option<Version> {
    match pin!(hints.changed()).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        std::task::Poll::Ready(hint) => hint.ok().map(|hint| hint.version),
        std::task::Poll::Pending => None,
    }
}

/// Wherever between two steps the commit comes.
pub async fn whoever_subscribes_and_then_reads_misses_nothing(world: Arc<World>) {
    for step in 0..3 {
        for node in world.nodes() {
            let id = world.start().await;
            let commit_at = |now: u32| {
                let world = &world;
                async move {
                    if now == step {
                        world.act(id, seal(Seat::Black, 1)).await;
                    }
                }
            };
            commit_at(0).await;
            let mut hints = watch(node, id).await;
            commit_at(1).await;
            let mut seen = version(node, id).await;
            commit_at(2).await;
            let last = version(&world.store, id).await;
            while seen != last {
                seen = hints.changed().await.expect("the match is still stored").version;
            }
        }
    }
}

/// A slow reader is told the last, however many he slept through.
pub async fn hints_that_come_as_one_end_with_the_last_version(world: Arc<World>) {
    let id = world.start().await;
    let mut hints = watch(&world.other, id).await;
    for _ in 0..10 {
        world.play(id).await;
    }
    let last = version(&world.store, id).await;
    come_to(&mut hints, last).await;
    let next = world.act(id, seal(Seat::White, 11)).await.version;
    come_to(&mut hints, next).await;
}

/// On whatever node, and whenever he came.
pub async fn every_watcher_is_told(world: Arc<World>) {
    let id = world.start().await;
    let mut watchers = Vec::new();
    for turn in 1..=3 {
        for node in world.nodes() {
            watchers.push(watch(node, id).await);
        }
        world.act(id, seal(Seat::Black, turn)).await;
        let last = world.act(id, seal(Seat::White, turn)).await.version;
        for hints in &mut watchers {
            come_to(hints, last).await;
        }
    }
    let gone = watchers.split_off(2);
    drop(gone);
    let last = world.act(id, seal(Seat::Black, 4)).await.version;
    for hints in &mut watchers {
        come_to(hints, last).await;
    }
}

/// Before the commit, or after it and before it was looked at.
pub async fn a_wait_that_is_given_up_loses_nothing(world: Arc<World>) {
    let id = world.start().await;
    let mut hints = watch(&world.other, id).await;
    give_up(&mut hints);
    let last = world.act(id, seal(Seat::Black, 1)).await.version;
    come_to(&mut hints, last).await;

    let mut wait = Box::pin(hints.changed());
    let pending = wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
    let last = world.act(id, seal(Seat::White, 1)).await.version;
    drop(wait);
    if pending {
        come_to(&mut hints, last).await;
    }
}

/// A hint of another match would cost every watcher a read.
pub async fn hints_are_of_the_watched_match_only(world: Arc<World>) {
    let (watched, other) = (world.start().await, world.start().await);
    let mut hints = watch(&world.other, watched).await;
    let mut own = BTreeSet::new();
    for turn in 1..=5 {
        for seat in Seat::BOTH {
            world.act(other, seal(seat, turn)).await;
            own.insert(world.act(watched, seal(seat, turn)).await.version.nonce);
            own.extend(give_up(&mut hints).map(|version| version.nonce));
        }
    }
    assert_eq!(own.len(), 10, "every hint is a version of the watched match");
}

/// On whichever node: it says where the change was made, and a change that nobody traces says nothing.
pub async fn a_hint_carries_the_trace_of_its_commit(world: Arc<World>) {
    let id = world.start().await;
    let mut hints = watch(&world.other, id).await;
    let traced = Some(TraceContext { trace_id: [0xfa; 16], span_id: [0x0f; 8] });
    for (seat, trace) in [(Seat::Black, traced), (Seat::White, None)] {
        let commit = store::Commit { trace, ..world.judge(id, seal(seat, 1)).await };
        let committed = world.store.commit(commit).await.expect("the store is there");
        let CommitOutcome::Committed(stored) = committed else {
            panic!("nobody else commits: {committed:?}")
        };
        let hint = hints.changed().await.expect("the match is still stored");
        assert_eq!((hint.version, hint.trace), (stored.version, trace));
    }
    assert_eq!(world.other.load(id).await.expect("it is stored").stored.head.resolved, 1);
}

/// He sees every turn, though he never asks unless he is hinted to.
pub async fn a_watcher_follows_a_match_that_is_played_beside_him(world: Arc<World>) {
    let id = world.start().await;
    let mut watchers = Vec::new();
    for watcher in 0..4 {
        let world = Arc::clone(&world);
        watchers.push(tokio::spawn(async move {
            let node = world.nodes()[watcher % 2];
            let mut hints = watch(node, id).await;
            let mut turns = Vec::new();
            loop {
                let head = node.load(id).await.expect("a stored match can be read").stored.head;
                let from = u32::try_from(turns.len()).expect("few turns") + 1;
                let more = node.turns(id, from, usize::MAX).await.expect("turns can be read");
                assert!(turns.len() + more.len() >= head.resolved as usize, "turns come with their head");
                turns.extend(more.iter().map(|record| record.turn));
                if turns.len() >= WATCHED_TURNS as usize {
                    return turns;
                }
                hints.changed().await.expect("the match is still stored");
            }
        }));
    }
    for _ in 0..WATCHED_TURNS {
        world.play(id).await;
    }
    for watcher in watchers {
        let turns = watcher.await.expect("a watcher does not panic");
        assert_eq!(turns, (1..=WATCHED_TURNS).collect::<Vec<u32>>());
    }
}
