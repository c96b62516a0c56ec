//! What a store needs of its servers, and says if it does not get it.

use redis_servers::{Flavor, Options as ServerOptions, Single};
use store_redis::{Location, OpenError, RedisStore, Tls};

use crate::{game, place};

async fn refused(server: &Single, options: store_redis::Options) -> OpenError {
    let opened = RedisStore::open(options, place::keyring()).await;
    opened.err().unwrap_or_else(|| panic!("{} is no place for a store", server.url()))
}

#[tokio::test]
async fn a_server_that_evicts_keys_is_refused() {
    let settings = ServerOptions::new().set("maxmemory-policy", "allkeys-lru");
    let server = Single::start(Flavor::Redis, &settings).await.expect("a server can be started");
    let error = refused(&server, place::fresh(&server.url())).await;
    assert!(matches!(&error, OpenError::Evicts { policy, .. } if policy == "allkeys-lru"), "{error}");
}

#[tokio::test]
async fn a_server_that_takes_writes_without_replicas_is_refused_where_they_are_waited_for() {
    let server = Single::start(Flavor::Valkey, &ServerOptions::new()).await.expect("a server can be started");
    let options = place::fresh(&server.url()).with_durability(place::ONE_REPLICA);
    let error = refused(&server, options).await;
    assert!(matches!(error, OpenError::TooFewReplicas { found: 0, needed: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_server_of_another_shape_is_refused() {
    let server = place::single(Flavor::Redis).await;
    let cluster = server.url().replace("redis://", "redis+cluster://");
    let error = RedisStore::open(place::fresh(&cluster), place::keyring()).await.expect_err("it is none");
    // A server that is no cluster does not say who has which slot.
    assert!(matches!(error, OpenError::Unreachable { .. } | OpenError::OtherShape { .. }), "{error}");
    let cluster = place::cluster(Flavor::Redis).await;
    let node = cluster.url().replace("redis+cluster://", "redis://");
    let node = node.split(',').next().expect("there are some");
    let error = RedisStore::open(place::fresh(node), place::keyring()).await.expect_err("it is one");
    assert!(matches!(error, OpenError::OtherShape { clustered: true, .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_speaks_tls_to_whom_it_trusts_only() {
    let file = |name: &str| format!("{}/tests/store/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    // The certificates are of 127.0.0.1, where some port is free.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.expect("a port is free").port();
    let settings = ServerOptions::new()
        .set("tls-cert-file", &file("server.pem"))
        .set("tls-key-file", &file("server.key"))
        .set("tls-ca-cert-file", &file("ca.pem"))
        .set("tls-auth-clients", "optional");
    let server = Single::start(Flavor::Redis, &settings).await.expect("a server can be started");
    let own = server.server().address().ip().to_string();
    let setting = ["CONFIG", "SET", "bind", &format!("{own} 127.0.0.1")];
    server.server().ask(&setting).await.expect("it listens there too");
    let setting = ["CONFIG", "SET", "tls-port", &port.to_string()];
    server.server().ask(&setting).await.expect("it speaks TLS there");
    let options = place::fresh(&format!("rediss://127.0.0.1:{port}"));
    let root = std::fs::read(file("ca.pem")).expect("a file can be read");
    let trusting = options.clone().with_tls(Tls { root: Some(root), client: None });
    let (store, other) = (place::node(&trusting).await, place::node(&trusting).await);
    let id = game::id();
    game::start(&store, id).await;
    let mut hints = store::MatchStore::watch(&other, id).await.expect("a stored match can be watched");
    let last = game::play(&store, id, 1).await.version;
    game::come_to(&mut hints, last, std::time::Duration::from_secs(5)).await;
    let error = refused(&server, options.clone()).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    let nothing = || b"x".to_vec();
    for tls in [
        Tls { root: Some(nothing()), client: None },
        Tls { root: None, client: Some((nothing(), nothing())) },
    ] {
        let error = refused(&server, options.clone().with_tls(tls)).await;
        assert!(matches!(error, OpenError::Certificates { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_store_of_a_newer_build_is_refused_by_name() {
    let server = place::single(Flavor::Redis).await;
    let options = place::fresh(&server.url());
    drop(place::node(&options).await);
    let meta = format!("{}:meta", options.namespace);
    server.server().ask(&["HSET", &meta, "schema", "2"]).await.expect("a field can be set");
    assert_eq!(refused(server, options.clone()).await, OpenError::NewerSchema { found: 2 });
    server.server().ask(&["HSET", &meta, "schema", "1", "shards", "0"]).await.expect("a field can be set");
    assert_eq!(refused(server, options).await, OpenError::DamagedMeta);
}

#[tokio::test]
async fn the_number_of_shards_is_that_of_the_first_start() {
    let server = place::single(Flavor::Redis).await;
    let options = place::fresh(&server.url());
    let meta = format!("{}:meta", options.namespace);
    server.server().ask(&["HSET", &meta, "schema", "1", "shards", "7"]).await.expect("a field can be set");
    let store = place::node(&options).await;
    assert_eq!(store::MatchStore::shard_count(&store), 7);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let location: Location = "redis://wts:secret@127.0.0.1:1".parse().expect("an address line");
    let options = store_redis::Options::new(location);
    let error = RedisStore::open(options, place::keyring()).await.expect_err("nobody is there").to_string();
    assert!(error.contains("127.0.0.1:1") && !error.contains("secret"), "{error}");
}

#[test]
fn an_address_line_says_shape_servers_and_login() {
    for (line, shown) in [
        ("redis://localhost", "redis://localhost:6379"),
        ("redis://:p%40ss@[::1]:7000/3", "redis://[::1]:7000/3"),
        ("redis+sentinel://a,b:1/main", "redis+sentinel://a:26379,b:1/main"),
        ("redis+sentinel://u:p@a/main/2", "redis+sentinel://a:26379/main/2"),
        ("rediss+cluster://u:p@a:1,b:2", "rediss+cluster://a:1,b:2"),
    ] {
        let location: Location = line.parse().expect(line);
        assert_eq!(location.to_string(), shown);
        assert_eq!(format!("{location:?}"), format!("Location({shown})"));
    }
    for line in [
        "",
        "localhost",
        "http://localhost",
        "redis:///",
        "redis://a:x",
        "redis://a,b",
        "redis://a/x",
        "redis://a/-1",
        "redis://a/1/2",
        "redis+sentinel://a",
        "redis+cluster://a/1",
        "redis+other://a",
        "redis://%4@a",
        "redis://%zz@a",
    ] {
        assert!(matches!(line.parse::<Location>(), Err(OpenError::Location { .. })), "{line}");
    }
}
