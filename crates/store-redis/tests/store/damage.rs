//! Stored bytes that nobody of this build wrote: an error, never a panic, and never a secret in the clear.

use redis_servers::Flavor;
use rules::Seat;
use store::{Due, InviteStore as _, MatchStore as _, PlayerStore as _, Shard, StoreError};
use store_redis::{Options, RedisStore};

use crate::{game, place};

/// Values that are no records.
fn damaged(good: &[u8]) -> Vec<Vec<u8>> {
    let mut values = vec![Vec::new(), vec![0], vec![0xff; 40], vec![0xff; 49], vec![0xff; 4_096]];
    for end in [16, 32, 48, 49, 50, 52, 60, good.len() - 1] {
        values.push(good[..end.min(good.len())].to_vec());
    }
    for at in (0..good.len()).step_by(7) {
        let mut value = good.to_vec();
        value[at] ^= 0x55;
        values.push(value);
    }
    values
}

fn key(
    options: &Options,
    store: &RedisStore,
    kind: &str,
    id: impl std::fmt::Display,
    shard: Shard,
) -> String {
    assert!(shard.0 < store.shard_count());
    format!("{}:{{s{:03}}}:{kind}:{id}", options.namespace, shard.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_head_or_turn_is_an_error() {
    let server = place::single(Flavor::Redis).await.server();
    let options = place::fresh(&place::single(Flavor::Redis).await.url());
    let store = place::node(&options).await;
    let id = game::id();
    game::start(&store, id).await;
    game::play(&store, id, 1).await;
    let commit = game::judge(&store, id, &game::seal(Seat::Black, 2)).await.expect("it is judged");
    let shard = Shard::of(id, store.shard_count());
    let head = key(&options, &store, "m", id, shard);
    let good = server.ask(&["GET", &head]).await.expect("a value").bytes().to_vec();
    let follow_ups = store.load(id).await.expect("it can be read").stored.follow_ups;
    for value in damaged(&good) {
        server.ask(&[b"SET", head.as_bytes(), &value]).await.expect("a value can be set");
        // What comes of it may be anything but a panic.
        let _ = store.load(id).await;
        let _ = store.commit(commit.clone()).await;
        let _ = store.settle(id, commit.expected, &follow_ups).await;
        let _ = store.postpone(id, commit.expected, commit.judged.stamp).await;
        let _ = store.watch(id).await;
        let _ = store.recent(id);
    }
    server.ask(&[b"SET", head.as_bytes(), &good]).await.expect("a value can be set");
    store.load(id).await.expect("the good one can be read");

    let turns = key(&options, &store, "t", id, shard);
    let good = server.ask(&["LINDEX", &turns, "0"]).await.expect("a value").bytes().to_vec();
    for value in damaged(&good).into_iter().filter(|value| *value != good) {
        server.ask(&[b"LSET", turns.as_bytes(), b"0", &value]).await.expect("a value can be set");
        let _ = store.turns(id, 1, 10).await;
    }
    server.ask(&[b"SET", head.as_bytes(), b""]).await.expect("a value can be set");
    let read = store.load(id).await;
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_another_type_or_with_strange_entries_are_errors() {
    let server = place::single(Flavor::Redis).await.server();
    let options = place::fresh(&place::single(Flavor::Redis).await.url());
    let store = place::node(&options).await;
    let id = game::id();
    game::start(&store, id).await;
    let shard = Shard::of(id, store.shard_count());
    let in_shard = |kind: &str| format!("{}:{{s{:03}}}:{kind}", options.namespace, shard.0);
    server.ask(&["ZADD", &in_shard("due"), "1", "no match"]).await.expect("an entry can be added");
    assert!(store.due(shard, 10).await.is_err());
    server.ask(&["HSET", &in_shard("clock"), "alive", "noon"]).await.expect("a field can be set");
    store.now(id).await.expect("a clock that makes no sense is set anew");
    server.ask(&["SET", &in_shard("clock"), "x"]).await.expect("a key can be set");
    assert!(store.now(id).await.is_err());
    server.ask(&["HSET", &in_shard(&format!("i:{id}")), "record", "x", "until", "never"]).await.expect("set");
    server.ask(&["DEL", &in_shard("clock")]).await.expect("a key can be removed");
    assert!(store.invite(id).await.is_err());
    let list = format!("{}:{{p:ann}}:live", options.namespace);
    server.ask(&["ZADD", &list, "1", "no match"]).await.expect("an entry can be added");
    assert!(store.matches_of("players/ann", None, None, 10).await.is_err());
    let _: Result<Due, _> = store.due(shard, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_no_hint_harms_nobody() {
    let server = place::single(Flavor::Redis).await.server();
    let options = place::fresh(&place::single(Flavor::Redis).await.url());
    let store = place::node(&options).await;
    let id = game::id();
    game::start(&store, id).await;
    let mut hints = store.watch(id).await.expect("a stored match can be watched");
    let channel = key(&options, &store, "e", id, Shard::of(id, store.shard_count()));
    for message in [&b""[..], b"x", &[0xff; 32], &[0xff; 400]] {
        server.ask(&[b"PUBLISH", channel.as_bytes(), message]).await.expect("a message can be sent");
    }
    let last = game::play(&store, id, 1).await.version;
    let bound = std::time::Duration::from_secs(20);
    game::come_to(&mut hints, last, bound).await;
    assert_eq!(store.load(id).await.expect("it can be read").stored.version, last);
}

/// Whoever reads the server's memory, its commands or its messages finds no move.
#[tokio::test(flavor = "multi_thread")]
async fn an_unresolved_move_is_on_the_server_only_in_a_box() {
    let server = place::single(Flavor::Redis).await.server();
    let options = place::fresh(&place::single(Flavor::Redis).await.url());
    let store = place::node(&options).await;
    let id = game::id();
    game::start(&store, id).await;
    game::act(&store, id, game::seal(Seat::Black, 1)).await;
    let head = key(&options, &store, "m", id, Shard::of(id, store.shard_count()));
    let value = server.ask(&["GET", &head]).await.expect("a value").bytes().to_vec();
    assert!(!value.windows(game::SALT.len()).any(|window| window == game::SALT));
}
