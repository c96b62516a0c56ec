//! A primary, its replicas and its sentinels.

use std::time::Duration;

use redis_servers::{Flavor, Life, Options, Sentinel};

/// A primary's death costs a second to be noticed and another to be voted on; the rest is for busy machines.
const REPLACED_MAX: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_primary_of_either_flavor_is_replaced_and_follows_when_it_comes_back() {
    tokio::join!(replace_a_killed_primary(Flavor::Redis), replace_a_killed_primary(Flavor::Valkey));
}

async fn replace_a_killed_primary(flavor: Flavor) {
    let set = Sentinel::start(flavor, &Options::new().min_replicas_to_write(1)).await.unwrap();
    assert_eq!(set.replicas().await.unwrap().len(), 2);
    let old = set.primary().await.unwrap();
    old.ask(&["SET", "key", "1"]).await.unwrap();
    for replica in set.replicas().await.unwrap() {
        replica.wait_for(&["GET", "key"], REPLACED_MAX, |reply| reply.text() == "1").await.unwrap();
    }
    old.kill();
    let new = set.replaced(old, REPLACED_MAX).await.unwrap();
    assert_eq!(new.ask(&["GET", "key"]).await.unwrap().text(), "1");
    old.restart().await.unwrap();
    set.wait_until_ok(REPLACED_MAX).await.unwrap();
    let primary = set.primary().await.unwrap();
    assert_eq!(primary.address(), new.address(), "the new primary is not replaced in its turn");
}

#[tokio::test]
async fn a_primary_that_lives_is_replaced_when_it_is_told_and_when_it_stops() {
    let set = Sentinel::start(Flavor::Valkey, &Options::new()).await.unwrap();
    let old = set.primary().await.unwrap();
    let new = set.failover().await.unwrap();
    assert_ne!(old.address(), new.address());
    new.ask(&["SET", "key", "1"]).await.unwrap();
    set.wait_until_ok(REPLACED_MAX).await.unwrap();

    new.stop().unwrap();
    assert_eq!(new.life(), Life::Stopped);
    let newest = set.replaced(new, REPLACED_MAX).await.unwrap();
    assert_eq!(newest.ask(&["GET", "key"]).await.unwrap().text(), "1");
    new.cont().unwrap();
    set.wait_until_ok(REPLACED_MAX).await.unwrap();
}
