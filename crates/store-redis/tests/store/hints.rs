//! Hints that are lost on their way.

use std::time::Duration;

use redis_servers::{Flavor, Options as ServerOptions, Servers as _, Single};
use rules::Seat;
use store::{MatchStore as _, PlayerStore as _};

use crate::{game, place};

/// Within this time the last change is known everywhere, whatever was lost.
const REPAIRED_MAX: Duration = Duration::from_secs(5);

/// Everything is cut at the moment of the last change, and nothing follows it.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_change_comes_though_all_connections_were_cut() {
    for flavor in Flavor::ALL {
        let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
        let options = place::fresh(&server.url());
        let (store, other) = (place::node(&options).await, place::node(&options).await);
        let id = game::id();
        game::start(&store, id).await;
        let mut hints = other.watch(id).await.expect("a stored match can be watched");
        for turn in 1..=5 {
            game::act(&store, id, game::seal(Seat::Black, turn)).await;
            let commit = game::judge(&store, id, &game::seal(Seat::White, turn)).await;
            let commit = commit.expect("a stored match can be read");
            let expected = commit.expected.next(commit.nonce);
            let (cut, committed) = tokio::join!(server.client_kill_all(), store.commit(commit));
            cut.expect("connections can be cut");
            committed.expect("a commit outlives its connection");
            game::come_to(&mut hints, expected, REPAIRED_MAX).await;
        }
    }
}

/// The change is hinted at while the watcher's node does not hear.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_comes_though_its_hint_was_not_heard() {
    for flavor in Flavor::ALL {
        let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
        let options = place::fresh(&server.url());
        let (store, other) = (place::node(&options).await, place::node(&options).await);
        let id = game::id();
        game::start(&store, id).await;
        let mut hints = other.watch(id).await.expect("a stored match can be watched");
        for turn in 1..=3 {
            game::act(&store, id, game::seal(Seat::Black, turn)).await;
            let seal = game::judge(&store, id, &game::seal(Seat::White, turn)).await;
            let seal = seal.expect("a stored match can be read");
            let last = seal.expected.next(seal.nonce);
            server.server().ask(&["CLIENT", "KILL", "TYPE", "pubsub"]).await.expect("it can be cut");
            store.commit(seal).await.expect("a commit is answered");
            game::come_to(&mut hints, last, REPAIRED_MAX).await;
        }
    }
}

/// A hint that nobody sends, as by a node that died before it could.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_nobody_hinted_at_is_found() {
    let server = place::single(Flavor::Redis).await;
    let options = place::fresh(&server.url());
    let store = place::node(&options).await;
    let (id, other) = (game::id(), game::id());
    game::start(&store, id).await;
    game::start(&store, other).await;
    let mut hints = store.watch(id).await.expect("a stored match can be watched");
    let shard = store::Shard::of(id, store.shard_count());
    let key = format!("{}:{{s{:03}}}:m:{id}", options.namespace, shard.0);
    // The version's counter, in the first bytes of what is stored.
    server.server().ask(&["SETRANGE", &key, "6", "\u{7f}"]).await.expect("a value can be changed");
    let look = hints.changed();
    let hint = tokio::time::timeout(Duration::from_secs(20), look).await.expect("it is looked at in time");
    let hint = hint.expect("the match is still stored");
    assert_eq!(hint.version.counter >> 8, 0x7f);
    assert!(hint.is_repair);
}

/// A hint carries the head: the second sealer's node needs no read.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_hinted_at_commits_without_a_read() {
    for flavor in Flavor::ALL {
        let options = place::fresh(&place::single(flavor).await.url());
        let (store, other) = (place::node(&options).await, place::node(&options).await);
        let id = game::id();
        game::start(&store, id).await;
        assert_eq!(other.recent(id), None, "what was not seen is not remembered");
        let mut hints = other.watch(id).await.expect("a stored match can be watched");
        let sealed = game::act(&store, id, game::seal(Seat::Black, 1)).await;
        game::come_to(&mut hints, sealed.version, REPAIRED_MAX).await;
        let recent = other.recent(id).expect("the hint brought the head");
        assert_eq!(recent.stored, sealed);
        let seal = recent.stored.head.apply(&game::seal(Seat::White, 1), recent.now);
        let change = seal.change.expect("a seal changes the match");
        let (expected, judged) = (recent.stored.version, recent.now);
        let commit = store::Commit { expected, nonce: [1; 8], judged, change, trace: None };
        let outcome = other.commit(commit).await.expect("a commit is answered");
        assert!(matches!(outcome, store::CommitOutcome::Committed(_)), "{outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_of_a_player_are_told_on_every_node() {
    let cluster = place::cluster(Flavor::Redis).await;
    let options = place::fresh(&cluster.url());
    let (store, other) = (place::node(&options).await, place::node(&options).await);
    let mut hints = other.watch_player("players/ann").await.expect("a player can be watched");
    for finished in [false, true] {
        let entry =
            store::Indexed { match_id: game::id(), finished, created: referee::Stamp::from_ms(1_000) };
        store.index_match("players/ann", entry).await.expect("a match can be indexed");
        let told = tokio::time::timeout(REPAIRED_MAX, hints.changed()).await;
        told.expect("in time").expect("the store is there");
        let listed = other.matches_of("players/ann", None, None, 10).await.expect("a list can be read");
        assert!(listed.contains(&entry));
    }
}
