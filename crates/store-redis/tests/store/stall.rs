//! Servers that do not answer.

use std::time::{Duration, Instant};

use redis_servers::{Flavor, Options as ServerOptions, Single};
use store::{MatchStore as _, StoreError};

use crate::{game, place};

/// From here on calls fail at once, ms: what was under way has timed out, and a ping as well.
const NOTICED_MAX: Duration = Duration::from_secs(3);

/// What a call may cost then: nothing is asked, a busy machine aside.
const REFUSED_MAX: Duration = Duration::from_millis(50);

async fn refuses_at_once(store: &store_redis::RedisStore) {
    game::until("calls fail at once", NOTICED_MAX, async || {
        let began = Instant::now();
        let read = store.load(game::id()).await.map(drop);
        let watched = store.watch(game::id()).await.map(drop);
        let refused = |answer| matches!(answer, Err(StoreError::Unavailable(_)));
        (refused(read) && refused(watched) && began.elapsed() < REFUSED_MAX).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_server_costs_its_callers_nothing_and_is_found_again() {
    for flavor in Flavor::ALL {
        let settings = ServerOptions::new().append_only("always");
        let server = Single::start(flavor, &settings).await.expect("a server can be started");
        let store = place::node(&place::fresh(&server.url())).await;
        let id = game::id();
        let before = game::start(&store, id).await;
        server.server().kill();
        refuses_at_once(&store).await;
        server.server().restart().await.expect("a server can be started again");
        let read =
            game::until("the server is found", Duration::from_secs(10), async || store.load(id).await.ok());
        assert_eq!(read.await.stored, before);
    }
}

/// Nobody flags for it: the time in which the server stood still is an outage.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_costs_its_callers_nothing_and_time_goes_on_after_it() {
    let server = Single::start(Flavor::Redis, &ServerOptions::new()).await.expect("a server can be started");
    let store = place::node(&place::fresh(&server.url())).await;
    let id = game::id();
    let before = game::start(&store, id).await;
    let late = game::judge(&store, id, &game::seal(rules::Seat::Black, 1)).await.expect("it is judged");
    server.server().stop().expect("a server can be stopped");
    let unanswered = store.commit(late).await;
    assert!(matches!(unanswered, Err(StoreError::Unavailable(_))), "{unanswered:?}");
    refuses_at_once(&store).await;
    let began = Instant::now();
    game::until("the gap is an outage", Duration::from_secs(10), async || {
        (began.elapsed() > Duration::from_millis(3_500)).then_some(())
    })
    .await;
    server.server().cont().expect("a server can go on");
    let read =
        game::until("the server is found", Duration::from_secs(10), async || store.load(id).await.ok());
    let loaded = read.await;
    assert!(loaded.now.outage_ms > 3_000, "{:?}", loaded.now);
    // It arrived when the server went on, and was refused: its stamp was old, and its caller gone.
    assert_eq!(loaded.stored, before);
    game::play_through(&store, id, 1, Duration::from_secs(10)).await;
}
