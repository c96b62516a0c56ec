//! Every promise of a store, on every shape of servers, of both kinds.

use std::sync::Arc;

use async_trait::async_trait;
use redis_servers::Flavor;
use store::{ScriptedClock, Store};
use store_conformance::Harness;
use store_redis::Options;

use crate::place::{self, ONE_REPLICA};

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

fn nodes(options: Options) -> Nodes {
    Nodes { clock: place::clock(), options }
}

async fn one_server(flavor: Flavor) -> Nodes {
    nodes(place::fresh(&place::single(flavor).await.url()))
}

async fn sentinels(flavor: Flavor) -> Nodes {
    nodes(place::fresh(&place::sentinel(flavor).await.url()).with_durability(ONE_REPLICA))
}

async fn cluster(flavor: Flavor) -> Nodes {
    nodes(place::fresh(&place::cluster(flavor).await.url()))
}

async fn waiting_cluster(flavor: Flavor) -> Nodes {
    nodes(place::fresh(&place::cluster(flavor).await.url()).with_durability(ONE_REPLICA))
}

/// The suite on servers of one kind.
macro_rules! on {
    ($name:ident, $flavor:expr) => {
        mod $name {
            use redis_servers::Flavor;

            use super::Nodes;

            const FLAVOR: Flavor = $flavor;

            async fn one_server() -> Nodes {
                super::one_server(FLAVOR).await
            }

            async fn sentinels() -> Nodes {
                super::sentinels(FLAVOR).await
            }

            async fn cluster() -> Nodes {
                super::cluster(FLAVOR).await
            }

            async fn waiting_cluster() -> Nodes {
                super::waiting_cluster(FLAVOR).await
            }

            mod on_one_server {
                store_conformance::suite!(super::one_server);
            }

            mod by_sentinels_with_a_replica {
                store_conformance::suite!(super::sentinels);
            }

            mod in_a_cluster {
                store_conformance::suite!(super::cluster);
            }

            mod in_a_cluster_with_a_replica {
                store_conformance::suite!(super::waiting_cluster);
            }
        }
    };
}

on!(redis, Flavor::Redis);
on!(valkey, Flavor::Valkey);
