//! The feed of nodes that share a Redis.

use std::sync::Arc;

use redis_servers::{Flavor, Options as ServerOptions, Single};
use referee::Stamp;
use rules::Seat;
use service_tests::{Cluster, START_MS, Setup, reason};
use store::keys::Keys;
use store::{Clock, FeedLimits, ScriptedClock, Store};
use store_redis::{Options, RedisStore};
use wire::v1::{self, ErrorReason};

use super::feed::{Feed, HEARTBEAT, WHOLE, of_match, whoever_comes_too_late_is_told_so};

/// Two nodes over the store at this address, with so much of a feed.
async fn two_nodes(url: &str, feed: Option<FeedLimits>) -> Cluster {
    let keys = Keys::generate(Stamp::from_ms(START_MS));
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..2 {
        let options = Options::new(url.parse().unwrap()).with_feed(feed);
        stores.push(Arc::new(RedisStore::open(options, keys.keyring()).await.unwrap()));
    }
    let setup = Setup { system_time: true, ..Setup::default() };
    Cluster::on(setup, Arc::new(ScriptedClock::at_ms(START_MS)), &keys, stores).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_is_resumed_at_another_node() {
    for flavor in Flavor::ALL {
        let redis = Single::start(flavor, &ServerOptions::new()).await.unwrap();
        let cluster = two_nodes(&redis.url(), Some(FeedLimits::default())).await;
        let mut live = Feed::open(&cluster, 1, &[]).await.unwrap();
        let duel = cluster.duel(v1::MatchSettings::default()).await;
        duel.play(1, "A1", "I9").await;
        let told = live.until("opened 2").await;
        assert_eq!(of_match(&told, &duel.name), WHOLE[..4]);
        duel.play(2, "C1", "G9").await;
        duel.resign(Seat::Black).await.unwrap();
        let mut resumed = Feed::open(&cluster, 0, &told[3].cursor).await.unwrap();
        assert_eq!(of_match(&resumed.until("finished 2").await, &duel.name), WHOLE[4..]);
        assert_eq!(of_match(&live.until("finished 2").await, &duel.name), WHOLE[4..]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_a_feed_offers_none() {
    let redis = Single::start(Flavor::Redis, &ServerOptions::new()).await.unwrap();
    let cluster = two_nodes(&redis.url(), None).await;
    let refused = Feed::open(&cluster, 0, &[]).await.map(|_| ()).unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::Unimplemented);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_older_than_what_is_kept_is_told_so() {
    for flavor in Flavor::ALL {
        let redis = Single::start(flavor, &ServerOptions::new()).await.unwrap();
        let keys = Keys::generate(Stamp::from_ms(START_MS));
        let clock = Arc::new(ScriptedClock::at_ms(START_MS));
        let options = Options::new(redis.url().parse().unwrap()).with_feed(Some(FeedLimits::default()));
        let time = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = RedisStore::open_with_clock(options, keys.keyring(), time).await.unwrap();
        let setup = Setup { heartbeat: HEARTBEAT, ..Setup::default() };
        let cluster = Cluster::on(setup, clock, &keys, vec![Arc::new(store)]).await;
        whoever_comes_too_late_is_told_so(&cluster).await;
    }
}
