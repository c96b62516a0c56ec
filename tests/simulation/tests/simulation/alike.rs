//! The model and the real stores answer the same random steps alike.

use std::sync::Arc;

use redis_servers::{Flavor, Options as ServerOptions, Single};
use sealing::BoxKey;
use simulation::{ModelStore, compare};
use store::codec::Keyring;
use store::{Clock, FeedLimits, ScriptedClock, Store};
use store_embedded::VolatileStore;
use store_redis::{Options, RedisStore};

/// Random walks, and the steps of each.
const WALKS: u64 = 60;
const STEPS: usize = 300;

/// Walks on a real server: a step is a round trip there.
const WALKS_ON_REDIS: u64 = 6;

const START_MS: u64 = 1_800_000_000_000;

async fn walk(seed: u64, steps: usize, clock: &Arc<ScriptedClock>, other: &dyn Store) {
    let model = ModelStore::new(Arc::clone(clock) as Arc<dyn Clock>, other.shard_count());
    if let Err(difference) = compare(seed, steps, clock, &model, other).await {
        panic!("seed {seed}: the model and the store differ: {difference}");
    }
}

#[tokio::test]
async fn the_store_of_a_single_node_is_like_the_model() {
    for seed in 0..WALKS {
        let clock = Arc::new(ScriptedClock::at_ms(START_MS));
        let store = VolatileStore::new(Arc::clone(&clock) as Arc<dyn Clock>);
        walk(seed, STEPS, &clock, &store).await;
    }
}

/// The scripts themselves, on a server of their own.
async fn redis_is_like_the_model(flavor: Flavor) {
    let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
    for seed in 0..WALKS_ON_REDIS {
        let clock = Arc::new(ScriptedClock::at_ms(START_MS));
        let location = server.url().parse().expect("an address line");
        let options = Options::new(location)
            .with_namespace(&format!("walk-{seed}"))
            .with_feed(Some(FeedLimits::default()));
        let keyring = Keyring::new("box-1".parse().expect("a key id"), BoxKey::from_bytes(&[1; 32]));
        let time = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = RedisStore::open_with_clock(options, keyring, time).await.expect("the store opens");
        walk(seed, STEPS, &clock, &store).await;
    }
}

#[tokio::test]
async fn the_scripts_on_redis_are_like_the_model() {
    redis_is_like_the_model(Flavor::Redis).await;
}

#[tokio::test]
async fn the_scripts_on_valkey_are_like_the_model() {
    redis_is_like_the_model(Flavor::Valkey).await;
}
