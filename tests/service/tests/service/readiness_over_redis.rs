//! A node over a real Redis is taken out of balance once that has been gone for long, and comes back with it.

use std::sync::Arc;

use redis_servers::{Flavor, Options as ServerOptions, Single};
use referee::Stamp;
use service_tests::{Caller, Cluster, START_MS, Setup, soon};
use store::ScriptedClock;
use store::keys::Keys;
use store_redis::{Options, RedisStore};
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;

/// How long the store may be gone before a balancer is told, ms, as the README says.
const UNWRITABLE_MAX_MS: u64 = 15_000;

/// What time goes on by between two checks, ms.
const STEP_MS: u64 = 500;

async fn check(caller: &Caller, service: &str) -> ServingStatus {
    let request = HealthCheckRequest { service: service.to_owned() };
    let answer = soon("health", caller.health().check(request)).await.unwrap().into_inner();
    if answer.status == ServingStatus::Serving as i32 {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    }
}

/// The node goes by the scripted clock, the store by its server's.
async fn node(url: &str) -> Cluster {
    let keys = Keys::generate(Stamp::from_ms(START_MS));
    let store = RedisStore::open(Options::new(url.parse().unwrap()), keys.keyring()).await.unwrap();
    let clock = Arc::new(ScriptedClock::at_ms(START_MS));
    Cluster::on(Setup::default(), clock, &keys, vec![Arc::new(store)]).await
}

/// Lets time go on for so long, in which the answer must stay.
async fn stays(status: ServingStatus, for_ms: u64, cluster: &Cluster, caller: &Caller) {
    for _ in 0..for_ms / STEP_MS {
        cluster.clock.advance_ms(STEP_MS);
        assert_eq!(check(caller, "").await, status);
    }
}

/// Lets time go on until the answer is another one.
async fn becomes(status: ServingStatus, cluster: &Cluster, caller: &Caller) {
    let change = async {
        while check(caller, "").await != status {
            cluster.clock.advance_ms(STEP_MS);
        }
    };
    soon(&format!("{status:?}"), change).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_gone_or_silent_ends_readiness_until_it_is_back() {
    for flavor in Flavor::ALL {
        let redis = Single::start(flavor, &ServerOptions::new().append_only("always")).await.unwrap();
        let cluster = node(&redis.url()).await;
        let caller = cluster.stranger(0).await;
        assert_eq!(check(&caller, "").await, ServingStatus::Serving);
        for silent in [false, true] {
            // It has just been written to, and time stands still.
            if silent {
                redis.server().stop().unwrap();
            } else {
                redis.server().kill();
            }
            // A failover and more: over before a balancer has to notice.
            stays(ServingStatus::Serving, UNWRITABLE_MAX_MS - STEP_MS, &cluster, &caller).await;
            becomes(ServingStatus::NotServing, &cluster, &caller).await;
            assert_eq!(check(&caller, "liveness").await, ServingStatus::Serving);
            stays(ServingStatus::NotServing, UNWRITABLE_MAX_MS, &cluster, &caller).await;
            if silent {
                redis.server().cont().unwrap();
            } else {
                redis.server().restart().await.unwrap();
            }
            becomes(ServingStatus::Serving, &cluster, &caller).await;
        }
    }
}
