//! Nodes that know of each other, and see at a glance what is due.

use std::time::Duration;

use redis_servers::{Flavor, Options as ServerOptions, Single};
use referee::Stamp;
use store::{Glance, MatchStore as _, NodeId, NodeReport, NodeStore, Shard};
use store_redis::{OpenError, Options};

use crate::{game, place};

/// Within this time a node sees what another one has made due.
const SEEN_MAX: Duration = Duration::from_secs(5);

/// Glances close to each other.
const GLANCES: usize = 20;

/// Stores on every shape of servers.
async fn shapes(flavor: Flavor) -> [Options; 3] {
    let urls = [
        place::single(flavor).await.url(),
        place::sentinel(flavor).await.url(),
        place::cluster(flavor).await.url(),
    ];
    urls.map(|url| place::fresh(&url))
}

/// Says that a node is there. Returns those that are.
async fn met(store: &impl NodeStore, node: NodeId) -> Vec<NodeId> {
    let report = NodeReport {
        node,
        name: "node".to_owned(),
        version: "1.2.3".to_owned(),
        started: Stamp::from_ms(0),
        draining: false,
        streams: 0,
        pools: Vec::new(),
    };
    store.meet(&report).await.expect("it may come").nodes
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_silent_for_two_seconds_counts_as_dead() {
    for flavor in Flavor::ALL {
        for options in shapes(flavor).await {
            let clock = place::clock();
            let stores = [place::scripted(&options, &clock).await, place::scripted(&options, &clock).await];
            let (one, two) = (NodeId(1), NodeId(u64::MAX));
            assert_eq!(met(&stores[0], one).await, [one]);
            clock.advance_ms(NodeId::HEARTBEAT_MS);
            assert_eq!(met(&stores[1], two).await, [one, two]);
            clock.advance_ms(NodeId::SILENCE_MAX_MS - NodeId::HEARTBEAT_MS);
            assert_eq!(met(&stores[1], two).await, [one, two]);
            clock.advance_ms(1);
            assert_eq!(met(&stores[1], two).await, [two]);
            assert_eq!(met(&stores[0], one).await, [one, two], "it is back");
            stores[1].part(two).await.expect("it may go");
            assert_eq!(met(&stores[0], one).await, [one]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glance_shows_what_is_due_and_which_clocks_hear_of_nobody() {
    for flavor in Flavor::ALL {
        for options in shapes(flavor).await {
            let clock = place::clock();
            let store = place::scripted(&options, &clock).await;
            let all: Vec<Shard> = (0..store.shard_count()).map(Shard).collect();
            let quiet: Vec<Glance> =
                all.iter().map(|shard| Glance { shard: *shard, overdue_ms: None, silent: false }).collect();
            assert_eq!(in_order(store.glance(&all).await), quiet, "nobody waits anywhere");

            let id = game::id();
            let started = game::start(&store, id).await;
            let shard = Shard::of(id, store.shard_count());
            store.settle(id, started.version, &started.follow_ups).await.expect("they are done");
            let deadline = started.head.due().expect("a live match is due at some time");
            let at = async |overdue_ms, silent| {
                let mut seen = quiet.clone();
                seen[usize::from(shard.0)] = Glance { shard, overdue_ms, silent };
                assert_eq!(in_order(store.glance(&all).await), seen);
            };
            at(None, false).await;
            clock.advance_ms(1_000);
            at(None, true).await;
            store.touch(shard).await.expect("a clock can be touched");
            at(None, false).await;
            clock.advance_ms(deadline.ms_since(store.touch(shard).await.expect("it is there").stamp));
            at(Some(0), true).await;
            clock.advance_ms(2_500);
            at(Some(2_500), true).await;
        }
    }
}

/// What the other node does is seen soon, what this one does at once, though a glance mostly asks nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_glance_finds_what_either_node_has_made_due() {
    for flavor in Flavor::ALL {
        for options in shapes(flavor).await {
            let stores = [place::node(&options).await, place::node(&options).await];
            let all: Vec<Shard> = (0..stores[0].shard_count()).map(Shard).collect();
            stores[0].glance(&all).await.expect("all shards can be reached");
            for store in &stores {
                let id = game::id();
                game::start(store, id).await;
                let shard = Shard::of(id, store.shard_count());
                game::until("what is due is seen", SEEN_MAX, async || {
                    let glances = in_order(stores[0].glance(&all).await);
                    glances[usize::from(shard.0)].overdue_ms
                })
                .await;
            }
        }
    }
}

/// Each asks, on a slow machine too, for fewer shards than there are.
#[tokio::test(flavor = "multi_thread")]
async fn glances_close_to_each_other_do_not_all_ask() {
    for flavor in Flavor::ALL {
        let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
        let store = place::scripted(&place::fresh(&server.url()), &place::clock()).await;
        let all: Vec<Shard> = (0..store.shard_count()).map(Shard).collect();
        let asked = async || {
            let statistics = server.server().ask(&["INFO", "commandstats"]).await.expect("it answers");
            let calls = statistics.field("cmdstat_zrange");
            let calls = calls.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
            calls.map_or(0, |calls| calls.parse::<usize>().expect("a number"))
        };
        let first = in_order(store.glance(&all).await);
        for _ in 1..GLANCES {
            assert_eq!(in_order(store.glance(&all).await), first);
        }
        let (asked, most) = (asked().await, GLANCES * all.len() / 2);
        assert!((all.len()..=most).contains(&asked), "{flavor:?}: {asked} questions");
    }
}

fn in_order(glances: Result<Vec<Glance>, store::StoreError>) -> Vec<Glance> {
    let mut glances = glances.expect("all shards can be reached");
    glances.sort_unstable_by_key(|glance| glance.shard);
    glances
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_other_keys_is_refused() {
    for flavor in Flavor::ALL {
        for options in shapes(flavor).await {
            let stores = [place::node(&options).await, place::node(&options).await];
            stores[0].check_keys("r-1").await.expect("the first keys are the store's");
            stores[1].check_keys("r-1").await.expect("they are the same");
            let (found, own) = ("r-1".to_owned(), "r-2".to_owned());
            assert_eq!(stores[1].check_keys("r-2").await, Err(OpenError::OtherKeys { found, own }));
        }
    }
}
