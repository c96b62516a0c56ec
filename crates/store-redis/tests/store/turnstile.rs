//! Changes of one match on one node wait for each other, and for nobody who is stuck.

use futures::poll;
use redis_servers::Flavor;
use store::MatchStore as _;

use crate::{game, place};

/// Matches that go by one turnstile with another one by chance, at most.
const CHANCE_MAX: usize = 4;

#[tokio::test]
async fn whoever_changes_a_match_waits_for_the_one_before_him() {
    let store = place::node(&place::fresh(&place::single(Flavor::Redis).await.url())).await;
    let id = game::id();
    let first = store.pass(id).await;
    let mut second = Box::pin(store.pass(id));
    assert!(poll!(&mut second).is_pending());
    let mut third = Box::pin(store.pass(id));
    assert!(poll!(&mut third).is_pending());
    // One who gives up keeps nobody waiting.
    drop(second);
    drop(first);
    assert!(poll!(&mut third).is_ready());
}

#[tokio::test]
async fn other_matches_do_not_wait() {
    let store = place::node(&place::fresh(&place::single(Flavor::Redis).await.url())).await;
    let _passing = store.pass(game::id()).await;
    let mut waits = 0;
    for _ in 0..1_000 {
        waits += usize::from(poll!(Box::pin(store.pass(game::id()))).is_pending());
    }
    assert!(waits <= CHANCE_MAX, "{waits} of 1,000 wait");
}

#[tokio::test]
async fn one_who_is_stuck_does_not_hold_up_a_match() {
    let store = place::node(&place::fresh(&place::single(Flavor::Redis).await.url())).await;
    let id = game::id();
    game::start(&store, id).await;
    let stuck = store.pass(id).await;
    // Three wait in a row; each is let in by the bound, not by whoever is before him.
    let all = futures::future::join_all((0..3).map(|_| store.pass(id)));
    let all = tokio::time::timeout(std::time::Duration::from_secs(10), all).await;
    assert_eq!(all.expect("they are let in").len(), 3);
    drop(stuck);
}
