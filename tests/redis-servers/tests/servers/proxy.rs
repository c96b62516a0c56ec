//! The failing network.

use std::time::{Duration, Instant};

use redis_servers::{
    ClusterServers, Direction, FaultProxy, Flavor, Mode, Options, Reply, Sentinel, Servers as _, Single,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Long enough that an answer would have come, were it to come.
const SILENCE: Duration = Duration::from_millis(200);

/// How long an effect may take before it counts as missing.
const PATIENCE: Duration = Duration::from_secs(30);

async fn start() -> (Single, FaultProxy) {
    let single = Single::start(Flavor::Redis, &Options::new()).await.expect("a server");
    let proxy = FaultProxy::in_front_of(single.server().address()).await.expect("a port");
    (single, proxy)
}

async fn connected(proxy: &FaultProxy) -> TcpStream {
    let mut connection = TcpStream::connect(proxy.address()).await.expect("a connection");
    ping(&mut connection).await;
    pong(&mut connection).await;
    connection
}

async fn ping(connection: &mut TcpStream) {
    connection.write_all(b"PING\r\n").await.expect("room for a command");
}

async fn pong(connection: &mut TcpStream) {
    let mut answer = [0; 7];
    timeout(PATIENCE, connection.read_exact(&mut answer))
        .await
        .expect("an answer in time")
        .expect("an answer");
    assert_eq!(&answer, b"+PONG\r\n");
}

async fn silent(connection: &mut TcpStream) {
    assert!(timeout(SILENCE, connection.read(&mut [0])).await.is_err());
}

#[tokio::test]
async fn what_is_delayed_arrives_later_and_in_order() {
    let (_single, proxy) = start().await;
    let mut connection = connected(&proxy).await;
    proxy.set_one(Direction::ToClient, Mode::Delay(SILENCE));
    let begin = Instant::now();
    for _ in 0..3 {
        ping(&mut connection).await;
    }
    for _ in 0..3 {
        pong(&mut connection).await;
    }
    assert!(begin.elapsed() >= SILENCE);
}

#[tokio::test]
async fn a_black_hole_keeps_connections_and_gives_back_what_it_held() {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (_single, proxy) = start().await;
        let mut old = connected(&proxy).await;
        proxy.set_one(direction, Mode::BlackHole);
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        for connection in [&mut old, &mut new] {
            ping(connection).await;
            silent(connection).await;
        }
        proxy.set(Mode::Pass);
        pong(&mut old).await;
        pong(&mut new).await;
        assert_eq!(proxy.accepted(), 2);
    }
}

#[tokio::test]
async fn connections_are_closed_or_reset_as_long_as_the_mode_lasts() {
    let (_single, proxy) = start().await;
    for (mode, reset) in [(Mode::Drop, false), (Mode::Cut, true)] {
        let mut old = connected(&proxy).await;
        proxy.set(mode);
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        for connection in [&mut old, &mut new] {
            let end = timeout(PATIENCE, connection.read(&mut [0])).await.expect("an end");
            assert_eq!(end.is_err(), reset, "{mode:?}: {end:?}");
        }
        proxy.set(Mode::Pass);
        connected(&proxy).await;
    }
}

#[tokio::test]
async fn the_proxy_outlives_its_server() {
    let (single, proxy) = start().await;
    let mut connection = connected(&proxy).await;
    single.server().kill();
    assert!(!matches!(timeout(PATIENCE, connection.read(&mut [0])).await.expect("an end"), Ok(1)));
    single.server().restart().await.unwrap();
    connected(&proxy).await;
}

#[tokio::test]
async fn servers_behind_proxies_name_their_proxies_to_everybody() {
    let options = Options::new().behind_proxies();
    let single = Single::start(Flavor::Redis, &options).await.unwrap();
    assert_eq!(single.url(), format!("redis://{}", single.proxies()[0].address()));

    for flavor in Flavor::ALL {
        let cluster = ClusterServers::start(flavor, 3, 0, &options).await.unwrap();
        let [first, second, _] = cluster.servers() else { panic!("three servers") };
        let refusal = second.try_ask(&["GET", "{06S}"]).await.unwrap();
        assert_eq!(refusal, Reply::Error(format!("MOVED 0 {}", first.public())));
        assert_eq!(first.public(), cluster.proxies()[0].address());
    }
}

#[tokio::test]
async fn a_primary_that_the_network_lost_is_replaced_while_it_lives() {
    let set = Sentinel::start(Flavor::Redis, &Options::new().behind_proxies()).await.unwrap();
    let old = set.primary().await.unwrap();
    assert_eq!(old.public(), set.proxies()[0].address());
    set.proxies()[0].set(Mode::BlackHole);
    let new = set.replaced(old, PATIENCE).await.unwrap();
    for server in [old, new] {
        assert_eq!(server.ask(&["INFO", "replication"]).await.unwrap().field("role"), "master");
    }
    set.proxies()[0].set(Mode::Pass);
    set.wait_until_ok(PATIENCE).await.unwrap();
}
