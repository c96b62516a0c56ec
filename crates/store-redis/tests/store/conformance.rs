//! Every promise of a store, on every shape of servers.

use std::sync::Arc;

use async_trait::async_trait;
use redis_servers::Flavor;
use store::{ScriptedClock, Store};
use store_conformance::Harness;
use store_redis::Options;

use crate::place;

/// A store of which every node has its own connections.
struct Nodes {
    clock: Arc<ScriptedClock>,
    options: Options,
}

#[async_trait]
impl Harness for Nodes {
    async fn node(&self) -> Arc<dyn Store> {
        Arc::new(place::scripted(&self.options, &self.clock).await)
    }

    async fn advance_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }
}

async fn one_redis() -> Nodes {
    let server = place::shared_single(Flavor::Redis).await;
    Nodes { clock: place::clock(), options: place::fresh(&server.url()) }
}

mod on_one_redis {
    store_conformance::suite!(super::one_redis);
}
