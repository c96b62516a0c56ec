//! Calls from several runtimes, each of which has a connection of its own as long as it runs.

use std::sync::Arc;
use std::time::Duration;

use redis_servers::{Flavor, Options as ServerOptions, Single};
use store_redis::RedisStore;

use crate::{game, place};

/// Within this time the connections of a runtime that has ended are gone.
const CLOSED_MAX: Duration = Duration::from_secs(10);

/// Plays a match on a thread with a runtime of its own, which ends with it.
fn play_elsewhere(store: &Arc<RedisStore>) {
    let store = Arc::clone(store);
    let play = async move {
        let id = game::id();
        game::start(&store, id).await;
        game::play(&store, id, 1).await;
        assert_eq!(game::turns(&store, id).await, [1]);
    };
    let thread = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime can be had").block_on(play);
    });
    thread.join().expect("a match can be played there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_outlives_the_runtimes_that_call_it() {
    for flavor in Flavor::ALL {
        let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
        let store = Arc::new(place::node(&place::fresh(&server.url())).await);
        let connections = async || {
            let list = server.server().ask(&["CLIENT", "LIST"]).await.expect("it answers");
            list.text().lines().count()
        };
        let id = game::id();
        game::start(&store, id).await;
        let before = connections().await;
        for turn in 1..=3 {
            play_elsewhere(&store);
            game::play(&store, id, turn).await;
        }
        game::until("the connections are closed", CLOSED_MAX, async || {
            (connections().await <= before).then_some(())
        })
        .await;
    }
}
