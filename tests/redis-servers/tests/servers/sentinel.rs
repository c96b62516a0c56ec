//! A primary, its replicas and its sentinels.

use std::time::Duration;

use redis_servers::{Flavor, Life, Options, Sentinel};

/// A primary's death costs a second to be noticed and another to be voted on; the rest is for busy machines.
const REPLACED_MAX: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_killed_primary_is_replaced_and_follows_when_it_comes_back() {
    let set = Sentinel::start(Flavor::Redis, &Options::new().min_replicas_to_write(1)).await.unwrap();
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
}

#[tokio::test]
async fn a_primary_hands_over_while_it_lives() {
    let set = Sentinel::start(Flavor::Valkey, &Options::new()).await.unwrap();
    let old = set.primary().await.unwrap();
    let new = set.failover().await.unwrap();
    assert_ne!(old.address(), new.address());
    new.ask(&["SET", "key", "1"]).await.unwrap();
    set.wait_until_ok(REPLACED_MAX).await.unwrap();
}

#[tokio::test]
async fn a_stopped_primary_is_replaced_and_follows_when_it_goes_on() {
    let set = Sentinel::start(Flavor::Valkey, &Options::new()).await.unwrap();
    let old = set.primary().await.unwrap();
    old.stop().unwrap();
    assert_eq!(old.life(), Life::Stopped);
    set.replaced(old, REPLACED_MAX).await.unwrap();
    old.cont().unwrap();
    set.wait_until_ok(REPLACED_MAX).await.unwrap();
}
