//! Nodes over a real Redis: each knows of a ban and of revoked tokens within its look at the list.

use std::sync::Arc;
use std::time::Duration;

use redis_servers::{Flavor, Options as ServerOptions, Single};
use referee::Stamp;
use service_tests::{Caller, Cluster, START_MS, Setup, reason, soon};
use store::keys::Keys;
use store::{ScriptedClock, Store};
use store_redis::{Options, RedisStore};
use wire::v1::{self, ErrorReason};

use super::back_end::{ban, revoke, unban};
use super::queue;

/// Pause between two looks at something that comes about by itself.
const LOOK_EVERY: Duration = Duration::from_millis(20);

async fn two_nodes(url: &str) -> Cluster {
    let keys = Keys::generate(Stamp::from_ms(START_MS));
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..2 {
        let options = Options::new(url.parse().unwrap());
        stores.push(Arc::new(RedisStore::open(options, keys.keyring()).await.unwrap()));
    }
    let setup = Setup { system_time: true, ..Setup::default() };
    Cluster::on(setup, Arc::new(ScriptedClock::at_ms(START_MS)), &keys, stores).await
}

/// Waits until the node answers a player with this refusal, or none.
async fn until(caller: &Caller, wanted: Option<ErrorReason>) {
    soon("the list of the other node", async {
        loop {
            let answer = caller.matches().list_matches(v1::ListMatchesRequest::default()).await;
            if answer.err().map(|refused| reason(&refused)) == wanted {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_node_ends_his_streams_and_refuses_his_calls_until_the_ban_is_lifted() {
    for flavor in Flavor::ALL {
        let redis = Single::start(flavor, &ServerOptions::new()).await.unwrap();
        let cluster = two_nodes(&redis.url()).await;
        let far = cluster.player(1, "ada").await;
        let ticket = queue::queue(&far, "casual").await;
        let mut home = far.watch_home().await.unwrap();
        home.state(|_| true).await;
        ban(&cluster, 0, "ada").await;
        assert_eq!(reason(&home.rest().await.1), ErrorReason::PlayerBanned);
        until(&far, Some(ErrorReason::PlayerBanned)).await;
        let seen = queue::get(&cluster.backend(1).await, &ticket.name).await.unwrap();
        assert_eq!(seen.state(), v1::TicketState::Cancelled);
        unban(&cluster, 0, "ada").await;
        until(&far, None).await;
        revoke(&cluster.backend(0).await, "ada", "revoke").await;
        until(&far, Some(ErrorReason::TokenExpired)).await;
        until(&cluster.player(1, "ada").await, None).await;
    }
}
