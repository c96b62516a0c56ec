//! Primaries, replicas and slots.

use std::time::Duration;

use redis_servers::{ClusterServers, Flavor, Options, Servers as _, Takeover};

/// A primary's death costs two seconds to be noticed and one to be voted on; the rest is for busy machines.
const REPLACED_MAX: Duration = Duration::from_secs(30);

async fn slot_of(cluster: &ClusterServers, key: &str) -> u16 {
    let slot = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", key]).await.unwrap();
    slot.number().unwrap().try_into().unwrap()
}

#[tokio::test]
async fn a_cluster_of_either_flavor_replaces_a_killed_primary() {
    tokio::join!(replace_a_killed_primary(Flavor::Redis), replace_a_killed_primary(Flavor::Valkey));
}

async fn replace_a_killed_primary(flavor: Flavor) {
    let cluster = ClusterServers::start(flavor, 3, 1, &Options::new()).await.unwrap();
    assert_eq!(cluster.primaries().await.unwrap().len(), 3);
    let slot = slot_of(&cluster, "key").await;
    let old = cluster.primary_of(slot).await.unwrap();
    old.ask(&["SET", "key", "1"]).await.unwrap();
    let replica = cluster.replicas_of(slot).await.unwrap()[0];
    replica.wait_for(&["DBSIZE"], REPLACED_MAX, |reply| reply.number() == Some(1)).await.unwrap();
    old.kill();
    let new = cluster.replaced(slot, old, REPLACED_MAX).await.unwrap();
    assert_eq!(new.address(), replica.address());
    assert_eq!(new.ask(&["GET", "key"]).await.unwrap().text(), "1");
    old.restart().await.unwrap();
    cluster.wait_until_ok(REPLACED_MAX).await.unwrap();
}

/// With two replicas a primary, a node of Valkey 9.1 may spin for ever after a handover (docs/redis.md).
#[tokio::test]
async fn three_primaries_hand_over_in_every_way() {
    tokio::join!(hand_over_in_every_way(Flavor::Redis, 2), hand_over_in_every_way(Flavor::Valkey, 1));
}

async fn hand_over_in_every_way(flavor: Flavor, replicas_each: u16) {
    let cluster = ClusterServers::start(flavor, 3, replicas_each, &Options::new()).await.unwrap();
    for takeover in [Takeover::Agreed, Takeover::Forced, Takeover::Seized] {
        let old = cluster.primary_of(0).await.unwrap();
        assert_eq!(cluster.replicas_of(0).await.unwrap().len(), usize::from(replicas_each));
        let new = cluster.failover(0, takeover).await.unwrap();
        assert_ne!(old.address(), new.address());
        cluster.wait_until_ok(REPLACED_MAX).await.unwrap();
    }
}

#[tokio::test]
async fn a_slot_moves_with_all_its_keys_there_and_back() {
    tokio::join!(move_a_slot(Flavor::Redis), move_a_slot(Flavor::Valkey));
}

async fn move_a_slot(flavor: Flavor) {
    let cluster = ClusterServers::start(flavor, 2, 0, &Options::new()).await.unwrap();
    let slot = slot_of(&cluster, "{s}").await;
    let owner = cluster.primary_of(slot).await.unwrap();
    let other = cluster.primaries().await.unwrap();
    let other = other.into_iter().find(|primary| primary.address() != owner.address()).unwrap();
    for number in 0..25 {
        owner.ask(&["SET", &format!("{{s}}:{number}"), "1"]).await.unwrap();
    }
    owner.ask(&[b"SET".as_slice(), b"{s}:\xff", b"1"]).await.unwrap();
    for (to, from) in [(other, owner), (owner, other)] {
        cluster.migrate_slot(slot, to).await.unwrap();
        assert_eq!(cluster.primary_of(slot).await.unwrap().address(), to.address());
        assert_eq!(to.ask(&["DBSIZE"]).await.unwrap().number(), Some(26));
        assert_eq!(from.ask(&["DBSIZE"]).await.unwrap().number(), Some(0));
    }
    cluster.wait_until_ok(REPLACED_MAX).await.unwrap();
}

#[tokio::test]
async fn every_server_forgets_every_script() {
    let cluster = ClusterServers::start(Flavor::Redis, 3, 0, &Options::new()).await.unwrap();
    let mut hash = String::new();
    for server in cluster.servers() {
        server.ask(&["SCRIPT", "LOAD", "return 1"]).await.unwrap().text().clone_into(&mut hash);
    }
    for known in [1, 0] {
        for server in cluster.servers() {
            let exists = server.ask(&["SCRIPT", "EXISTS", &hash]).await.unwrap();
            assert_eq!(exists.elements()[0].number(), Some(known));
        }
        cluster.script_flush_all().await.unwrap();
    }
}
