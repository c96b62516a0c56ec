//! Nothing is seen before enough replicas have it.

use std::time::Duration;

use redis_servers::{Flavor, Options as ServerOptions, Sentinel};
use referee::Stamp;
use rules::Seat;
use store::{
    Indexed, MatchStore as _, PlayerStore as _, RequestKey, RequestRecord, RequestStore as _, StoreError,
};

use crate::place::ONE_REPLICA;
use crate::{game, place};

/// Longer than a batch waits for replicas.
const WAITED: Duration = Duration::from_millis(600);

/// A server that takes writes though no replica gets them in time.
async fn start(flavor: Flavor) -> Sentinel {
    // The lag is measured by acknowledgements: with stopped replicas writes are still taken for a while.
    let settings = ServerOptions::new().min_replicas_to_write(1).set("min-replicas-max-lag", "3600");
    Sentinel::start(flavor, &settings).await.expect("sentinels can be started")
}

async fn replicas(servers: &Sentinel) -> Vec<&redis_servers::Server> {
    servers.replicas().await.expect("the sentinels agree")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_no_replica_has_is_neither_answered_nor_seen() {
    for flavor in Flavor::ALL {
        let servers = start(flavor).await;
        let options = place::fresh(&servers.url()).with_durability(ONE_REPLICA);
        let (store, other) = (place::node(&options).await, place::node(&options).await);
        let id = game::id();
        let before = game::start(&store, id).await;
        let mut hints = other.watch(id).await.expect("a stored match can be watched");
        let commit = game::judge(&store, id, &game::seal(Seat::Black, 1)).await.expect("it is judged");
        let stale = game::judge(&other, id, &game::seal(Seat::White, 1)).await.expect("it is judged");
        let next = commit.expected.next(commit.nonce);

        let replicas = replicas(&servers).await;
        replicas.iter().for_each(|replica| replica.stop().expect("a replica can be stopped"));
        let unanswered = store.commit(commit).await;
        assert!(matches!(unanswered, Err(StoreError::Unavailable(_))), "{unanswered:?}");
        for node in [&store, &other] {
            let read = node.load(id).await;
            assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
            let told = node.recent(id).map(|recent| recent.stored.version);
            assert_ne!(told, Some(next), "nothing is remembered that is not durable");
        }
        let conflict = other.commit(stale).await;
        assert!(matches!(conflict, Err(StoreError::Unavailable(_))), "{conflict:?}");
        let told = tokio::time::timeout(WAITED, hints.changed()).await;
        assert!(told.is_err(), "nobody is told: {told:?}");

        replicas.iter().for_each(|replica| replica.cont().expect("a replica can go on"));
        let read =
            game::until("the head is durable", Duration::from_secs(10), async || store.load(id).await.ok());
        let read = read.await.stored.version;
        assert_eq!(read, next, "after {:?}", before.version);
        // What was owed goes out behind the next write that is durable.
        game::come_to(&mut hints, next, Duration::from_secs(5)).await;
    }
}

/// Time stands still here, so that nothing but the guard itself makes a read write: WAIT covers only the
/// writes of its own connection, and what is read may be somebody else's that no replica has.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_waits_for_what_it_rests_on() {
    for flavor in Flavor::ALL {
        let servers = start(flavor).await;
        let options = place::fresh(&servers.url()).with_durability(ONE_REPLICA);
        let clock = place::clock();
        let (store, other) =
            (place::scripted(&options, &clock).await, place::scripted(&options, &clock).await);
        let id = game::id();
        game::start(&store, id).await;
        let commit = game::judge(&store, id, &game::seal(Seat::Black, 1)).await.expect("it is judged");
        let entry = Indexed { match_id: id, finished: false, created: Stamp::from_ms(1_000) };
        let request = RequestKey { actor: "players/ann".to_owned(), request_id: "r".to_owned() };
        let record = RequestRecord { mac: [1; 32], created_id: [1; 16] };

        let replicas = replicas(&servers).await;
        replicas.iter().for_each(|replica| replica.stop().expect("a replica can be stopped"));
        let shard = store::Shard::of(id, store.shard_count());
        let unanswered = [
            store.commit(commit.clone()).await.map(drop),
            store.index_match("players/ann", entry).await,
            store.remember(request.clone(), record).await.map(drop),
            other.load(id).await.map(drop),
            other.commit(commit).await.map(drop),
            other.turns(id, 1, 10).await.map(drop),
            other.due(shard, 10).await.map(drop),
            other.now(id).await.map(drop),
            other.watch(id).await.map(drop),
            other.matches_of("players/ann", None, None, 10).await.map(drop),
            other.open_invites_of("players/ann", 10).await.map(drop),
            other.remember(request, record).await.map(drop),
        ];
        for (number, answer) in unanswered.iter().enumerate() {
            assert!(matches!(answer, Err(StoreError::Unavailable(_))), "call {number}: {answer:?}");
        }
        replicas.iter().for_each(|replica| replica.cont().expect("a replica can go on"));
    }
}

/// An acknowledged seal survives the death of the primary.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_the_primary() {
    for flavor in Flavor::ALL {
        let settings = ServerOptions::new().min_replicas_to_write(1);
        let servers = Sentinel::start(flavor, &settings).await.expect("sentinels can be started");
        let store = place::node(&place::fresh(&servers.url()).with_durability(ONE_REPLICA)).await;
        let id = game::id();
        game::start(&store, id).await;
        let mut last = game::play(&store, id, 1).await;
        for turn in 2..=20 {
            last = game::play(&store, id, turn).await;
        }
        let old = servers.primary().await.expect("the sentinels agree");
        old.kill();
        let read = game::until("a new primary is found", Duration::from_secs(30), async || {
            store.load(id).await.ok()
        });
        assert_eq!(read.await.stored.version, last.version);
        assert_eq!(game::turns(&store, id).await, (1..=20).collect::<Vec<u32>>());
    }
}
