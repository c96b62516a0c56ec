//! One server.

use redis_servers::{Flavor, Life, Options, Reply, Servers as _, Single};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// How long an effect may take before it counts as missing.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

#[tokio::test]
async fn a_server_of_either_flavor_is_ready_when_its_start_returns() {
    for flavor in Flavor::ALL {
        let single = Single::start(flavor, &Options::new()).await.unwrap();
        let info = single.server().ask(&["INFO", "server"]).await.unwrap();
        let version = match flavor {
            Flavor::Redis => info.field("redis_version"),
            Flavor::Valkey => info.field("valkey_version"),
        };
        let major: u32 = version.split('.').next().unwrap().parse().unwrap();
        assert!(major >= 7, "{flavor:?} {version}");
        let policy = single.server().ask(&["CONFIG", "GET", "maxmemory-policy"]).await.unwrap();
        assert_eq!(policy.elements()[1].text(), "noeviction");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_server_that_was_dropped() {
    let single = Single::start(Flavor::Redis, &Options::new()).await.unwrap();
    let id = single.server().process_id().unwrap();
    let (address, dir) = (single.server().address(), single.server().dir().to_owned());
    single.server().stop().unwrap();
    drop(single);
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    assert!(std::net::TcpStream::connect(address).is_err());
    assert!(!dir.exists());
}

#[tokio::test]
async fn a_killed_server_starts_again_where_it_was_and_knows_what_its_file_knows() {
    let kept = Options::new().append_only("always");
    for (options, value) in [(kept, "1"), (Options::new(), "")] {
        let single = Single::start(Flavor::Redis, &options).await.unwrap();
        let server = single.server();
        server.ask(&["SET", "key", "1"]).await.unwrap();
        server.kill();
        assert_eq!(server.life(), Life::Dead);
        assert!(server.ask(&["PING"]).await.is_err());
        server.restart().await.unwrap();
        assert_eq!(server.ask(&["GET", "key"]).await.unwrap().text(), value);
    }
}

#[tokio::test]
async fn a_server_outlives_the_thread_that_started_it() {
    let started = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Single::start(Flavor::Redis, &Options::new())).unwrap()
    });
    let single = started.join().unwrap();
    assert_eq!(single.server().ask(&["PING"]).await.unwrap().text(), "PONG");
    assert_eq!(single.server().life(), Life::Running);
}

#[tokio::test]
async fn a_setting_that_no_server_knows_is_an_error_with_the_log() {
    let error = Single::start(Flavor::Redis, &Options::new().set("no-such-setting", "1")).await.unwrap_err();
    assert!(error.to_string().contains("does not start"), "{error}");
}

#[tokio::test]
async fn every_connection_of_a_client_is_closed_also_one_that_listens() {
    let single = Single::start(Flavor::Redis, &Options::new()).await.unwrap();
    let server = single.server();
    let mut idle = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let mut listening = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    listening.write_all(b"SUBSCRIBE channel\r\n").await.unwrap();
    // Both have been accepted, beside the one that asks.
    let clients = |reply: &Reply| reply.field("connected_clients") == "3";
    server.wait_for(&["INFO", "clients"], PATIENCE, clients).await.unwrap();
    server.wait_for(&["PUBSUB", "CHANNELS"], PATIENCE, |reply| !reply.elements().is_empty()).await.unwrap();
    single.client_kill_all().await.unwrap();
    for connection in [&mut idle, &mut listening] {
        let end = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut Vec::new())).await;
        end.expect("the end of a connection").unwrap();
    }
}
