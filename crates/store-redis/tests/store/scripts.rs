//! Servers that do not know a script, or a slot, any more.

use std::sync::Arc;
use std::time::Duration;

use redis_servers::{ClusterServers, Flavor, Options as ServerOptions, Server, Servers as _, Single};
use sealing::MatchId;
use store::MatchStore as _;

use crate::{game, place};

/// How long a call may be tried while its slot is on its way.
const MIGRATION_MAX: Duration = Duration::from_secs(10);

/// Matches that are played while their slots move.
const PLAYED: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_forgot_all_scripts_is_sent_them_again() {
    for flavor in Flavor::ALL {
        let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
        let store = place::node(&place::fresh(&server.url())).await;
        let id = game::id();
        game::start(&store, id).await;
        for turn in 1..=3 {
            server.script_flush_all().await.expect("scripts can be flushed");
            game::play(&store, id, turn).await;
        }
        server.script_flush_all().await.expect("scripts can be flushed");
        assert_eq!(game::turns(&store, id).await, [1, 2, 3]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_in_which_no_script_is_known_is_sent_again() {
    for flavor in Flavor::ALL {
        let servers = place::sentinel(flavor).await;
        let options = place::fresh(&servers.url()).with_durability(place::ONE_REPLICA);
        let store = place::node(&options).await;
        let id = game::id();
        game::start(&store, id).await;
        for turn in 1..=3 {
            servers.script_flush_all().await.expect("scripts can be flushed");
            let (seals, turns) = tokio::join!(game::play(&store, id, turn), store.turns(id, 1, usize::MAX));
            assert_eq!(seals.head.resolved, turn);
            turns.expect("turns can be read");
        }
    }
}

/// One command a commit: neither a read before it nor a load of the script.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_one_command() {
    let server = Single::start(Flavor::Redis, &ServerOptions::new()).await.expect("a server can be started");
    let store = place::node(&place::fresh(&server.url())).await;
    let id = game::id();
    game::start(&store, id).await;
    let calls = async || {
        let info = server.server().ask(&["INFO", "commandstats"]).await.expect("statistics");
        let calls = |command: &str| -> u64 {
            let line = info.field(&format!("cmdstat_{command}"));
            let calls = line.split(',').next().and_then(|field| field.strip_prefix("calls="));
            calls.map_or(0, |calls| calls.parse().expect("a number"))
        };
        (calls("evalsha"), calls("eval"))
    };
    game::play(&store, id, 1).await;
    let commit = game::judge(&store, id, &game::seal(rules::Seat::Black, 2)).await.expect("it is judged");
    let before = calls().await;
    store.commit(commit).await.expect("a commit is answered");
    assert_eq!(calls().await, (before.0 + 1, before.1));
}

/// Slots go to another server and back, key by key, while their matches are played.
#[tokio::test(flavor = "multi_thread")]
async fn matches_are_played_while_their_slots_move() {
    for flavor in Flavor::ALL {
        let cluster = ClusterServers::start(flavor, 3, 0, &ServerOptions::new()).await;
        let cluster = cluster.expect("a cluster can be started");
        let options = place::fresh(&cluster.url());
        let store = Arc::new(place::node(&options).await);
        let ids: Vec<MatchId> = (0..PLAYED).map(|_| game::id()).collect();
        let mut players = Vec::new();
        for id in ids.clone() {
            game::start(&store, id).await;
            let store = Arc::clone(&store);
            players.push(tokio::spawn(async move {
                for turn in 1..=60 {
                    for seat in rules::Seat::BOTH {
                        game::act(&store, id, game::seal(seat, turn)).await;
                    }
                }
            }));
        }
        for id in &ids {
            let slot = slot_of(&cluster, &options, &store, *id).await;
            let from = cluster.primary_of(slot).await.expect("the slot has a primary");
            let to = other_primary(&cluster, from).await;
            let moved = tokio::time::timeout(MIGRATION_MAX, cluster.migrate_slot(slot, to)).await;
            moved.expect("in time").expect("a slot can be moved");
        }
        for player in players {
            player.await.expect("every seal is stored at once");
        }
        for id in ids {
            assert_eq!(game::turns(&store, id).await, (1..=60).collect::<Vec<u32>>());
        }
    }
}

pub(crate) async fn other_primary<'a>(cluster: &'a ClusterServers, from: &Server) -> &'a Server {
    let primaries = cluster.primaries().await.expect("primaries are known");
    let other = primaries.into_iter().find(|primary| primary.address() != from.address());
    other.expect("there is another primary")
}

/// The slot that a match lies in, as the cluster says.
pub(crate) async fn slot_of(
    cluster: &ClusterServers,
    options: &store_redis::Options,
    store: &store_redis::RedisStore,
    id: MatchId,
) -> u16 {
    let shard = store::Shard::of(id, store.shard_count());
    let key = format!("{}:{{s{:03}}}:m:{id}", options.namespace, shard.0);
    let reply = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", &key]).await.expect("a slot");
    u16::try_from(reply.number().expect("a number")).expect("a slot")
}
