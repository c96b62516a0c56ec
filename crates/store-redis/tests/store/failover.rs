//! Primaries that go and come while matches are played.

use std::time::Duration;

use redis_servers::{ClusterServers, Flavor, Options as ServerOptions, Sentinel, Servers as _, Takeover};
use store::MatchStore as _;

use crate::{game, place, scripts};

/// From the moment a new primary is there, seals are stored again within this.
const RECOVERED_MAX: Duration = Duration::from_secs(10);

/// The old primary lives on, and connections to it stay open.
#[tokio::test(flavor = "multi_thread")]
async fn play_goes_on_after_a_failover_with_the_old_primary_alive() {
    for flavor in Flavor::ALL {
        let servers = Sentinel::start(flavor, &ServerOptions::new()).await;
        let servers = servers.expect("sentinels can be started");
        let options = place::fresh(&servers.url());
        let (store, other) = (place::node(&options).await, place::node(&options).await);
        let id = game::id();
        game::start(&store, id).await;
        let mut hints = other.watch(id).await.expect("a stored match can be watched");
        game::play(&store, id, 1).await;
        servers.failover().await.expect("a failover can be made");
        game::play_through(&store, id, 2, RECOVERED_MAX).await;
        let last = game::until("the other node reads", RECOVERED_MAX, async || other.load(id).await.ok());
        let last = last.await.stored;
        assert_eq!(last.head.resolved, 2);
        game::come_to(&mut hints, last.version, RECOVERED_MAX).await;
        // Hints come from the new primary by themselves.
        let last = game::play(&store, id, 3).await;
        game::come_to(&mut hints, last.version, Duration::from_secs(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn play_goes_on_after_a_primary_of_a_cluster_was_killed() {
    for flavor in Flavor::ALL {
        let cluster = ClusterServers::start(flavor, 3, 1, &ServerOptions::new()).await;
        let cluster = cluster.expect("a cluster can be started");
        let options = place::fresh(&cluster.url());
        let (store, other) = (place::node(&options).await, place::node(&options).await);
        let id = game::id();
        game::start(&store, id).await;
        let slot = scripts::slot_of(&cluster, &options, &store, id).await;
        let mut hints = other.watch(id).await.expect("a stored match can be watched");
        let last = game::play(&store, id, 1).await;
        game::come_to(&mut hints, last.version, RECOVERED_MAX).await;
        let old = cluster.primary_of(slot).await.expect("the slot has a primary");
        old.kill();
        cluster.replaced(slot, old, Duration::from_secs(30)).await.expect("a replica takes over");
        game::play_through(&store, id, 2, RECOVERED_MAX).await;
        let last = game::until("the other node reads", RECOVERED_MAX, async || other.load(id).await.ok());
        game::come_to(&mut hints, last.await.stored.version, RECOVERED_MAX).await;
        let last = game::play(&store, id, 3).await;
        game::come_to(&mut hints, last.version, Duration::from_secs(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn play_goes_on_after_a_primary_of_a_cluster_handed_over() {
    let cluster = place::cluster(Flavor::Redis).await;
    let options = place::fresh(&cluster.url());
    let (store, other) = (place::node(&options).await, place::node(&options).await);
    let id = game::id();
    game::start(&store, id).await;
    let slot = scripts::slot_of(cluster, &options, &store, id).await;
    let mut hints = other.watch(id).await.expect("a stored match can be watched");
    for turn in 1..=2 {
        cluster.wait_until_ok(Duration::from_secs(30)).await.expect("replicas follow");
        cluster.failover(slot, Takeover::Agreed).await.expect("a replica takes over");
        game::play_through(&store, id, turn, RECOVERED_MAX).await;
        let last = game::until("the other node reads", RECOVERED_MAX, async || other.load(id).await.ok());
        game::come_to(&mut hints, last.await.stored.version, RECOVERED_MAX).await;
    }
    assert!(cluster.servers().len() > 3);
}
