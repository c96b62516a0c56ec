//! Nodes over a real Redis: what a call costs there, and what a failover that loses something comes to.

use std::sync::Arc;
use std::time::Duration;

use futures::poll;
use redis_servers::{Flavor, Options as ServerOptions, Sentinel, Server, Single};
use referee::Stamp;
use rules::Seat;
use service_tests::{Cluster, Duel, Operation, START_MS, Setup, cell, reason, soon};
use store::keys::Keys;
use store::{ScriptedClock, Store};
use store_redis::{Options, RedisStore};
use wire::v1::{EndReason, ErrorReason};

/// Pause between two looks at something that comes about by itself.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The longest a failover may take.
const FAILOVER_MAX: Duration = Duration::from_secs(30);

/// So many nodes over the store at this address.
async fn nodes(url: &str, count: usize) -> Cluster {
    let keys = Keys::generate(Stamp::from_ms(START_MS));
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..count {
        let options = Options::new(url.parse().unwrap());
        stores.push(Arc::new(RedisStore::open(options, keys.keyring()).await.unwrap()));
    }
    let setup = Setup { system_time: true, ..Setup::default() };
    Cluster::on(setup, Arc::new(ScriptedClock::at_ms(START_MS)), &keys, stores).await
}

/// A match on so many nodes over a server that logs every command from now on.
async fn logged(flavor: Flavor, count: usize) -> (Single, Cluster, Duel) {
    let redis = Single::start(flavor, &ServerOptions::new()).await.unwrap();
    let cluster = nodes(&redis.url(), count).await;
    let duel = cluster.duel(Default::default()).await;
    cluster.settled(&duel.name).await;
    log_all(redis.server()).await;
    (redis, cluster, duel)
}

/// How many commands that name the match a server was sent since its log was emptied.
async fn commands(server: &Server, name: &str) -> usize {
    let id = name.trim_start_matches("matches/");
    let log = server.ask(&["SLOWLOG", "GET", "10000"]).await.unwrap();
    let is_of_it = |command: &redis_servers::Reply| {
        let words = command.elements()[3].elements();
        // The log has what a script does as well.
        words[0].text() == "EVALSHA" && words.iter().any(|word| word.text().contains(id))
    };
    log.elements().iter().filter(|command| is_of_it(command)).count()
}

/// Begins to log every command of a server.
async fn log_all(server: &Server) {
    for setting in [["slowlog-log-slower-than", "0"], ["slowlog-max-len", "10000"]] {
        server.ask(&["CONFIG", "SET", setting[0], setting[1]]).await.unwrap();
    }
    server.ask(&["SLOWLOG", "RESET"]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seal_is_one_command() {
    for flavor in Flavor::ALL {
        let (redis, _cluster, duel) = logged(flavor, 1).await;
        let cells = [("A1", "I9"), ("C1", "G9"), ("E1", "E9"), ("G1", "C9"), ("A3", "I7")];
        for (turn, (black, white)) in (1..).zip(cells) {
            duel.play(turn, black, white).await;
        }
        assert_eq!(commands(redis.server(), &duel.name).await, 2 * cells.len(), "{flavor:?}");
        // A refusal reads, whatever is remembered.
        redis.server().ask(&["SLOWLOG", "RESET"]).await.unwrap();
        let occupied = duel.seal(Seat::Black, 6, cell("A1")).await.unwrap_err();
        assert_eq!(reason(&occupied), ErrorReason::CellOccupied);
        assert_eq!(commands(redis.server(), &duel.name).await, 1, "{flavor:?}");
    }
}

/// Both are under way at once; the second is judged on what the first leaves.
#[tokio::test(flavor = "multi_thread")]
async fn two_seals_at_the_same_moment_are_one_command_each() {
    for flavor in Flavor::ALL {
        let (redis, _cluster, duel) = logged(flavor, 1).await;
        let cells = ["A", "C", "E", "G", "I"].map(|column| [1, 3, 7, 9].map(|row| format!("{column}{row}")));
        let (black, white) = cells.as_flattened().split_at(10);
        for (turn, (black, white)) in (1..).zip(black.iter().zip(white)) {
            let seals = tokio::join!(
                duel.seal(Seat::Black, turn, cell(black)),
                duel.seal(Seat::White, turn, cell(white))
            );
            assert!(seals.0.is_ok() && seals.1.is_ok(), "{seals:?}");
        }
        assert_eq!(commands(redis.server(), &duel.name).await, 2 * black.len(), "{flavor:?}");
    }
}

/// A call that changes nothing asks the store, and may wait for it long; seals do not wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_takes_long_keeps_no_seal_waiting() {
    let redis = Single::start(Flavor::Redis, &ServerOptions::new()).await.unwrap();
    let cluster = nodes(&redis.url(), 1).await;
    let duel = cluster.duel(Default::default()).await;
    cluster.settled(&duel.name).await;
    duel.play(1, "A1", "I9").await;
    let id = duel.name.trim_start_matches("matches/").parse().unwrap();
    let gate = cluster.nodes[0].faults.hold(Operation::Load);
    let sealing = async {
        gate.reached().await;
        let passes = poll!(cluster.store.pass(id)).is_ready();
        gate.open();
        passes
    };
    let (_, passes) = tokio::join!(duel.seen_by(Seat::Black), sealing);
    assert!(passes);
}

/// Two nodes: each hears of the other's seal by a hint, and that brings the head.
#[tokio::test(flavor = "multi_thread")]
async fn a_seal_that_follows_the_other_node_s_is_one_command_where_the_match_is_watched() {
    let (redis, _cluster, duel) = logged(Flavor::Redis, 2).await;
    let mut streams =
        [duel.black.watch(&duel.name).await.unwrap(), duel.white.watch(&duel.name).await.unwrap()];
    // What watching has asked is not counted.
    redis.server().ask(&["SLOWLOG", "RESET"]).await.unwrap();
    let is_sealed = |status: &wire::v1::MatchStatus, turn| {
        status.turn == turn && status.black.as_ref().is_some_and(|black| black.sealed == Some(true))
    };
    let cells = [("A1", "I9"), ("C1", "G9"), ("E1", "E9")];
    for (turn, (black, white)) in (1..).zip(cells) {
        duel.seal(Seat::Black, turn, cell(black)).await.unwrap();
        streams[1].status(|status| is_sealed(status, turn)).await;
        duel.seal(Seat::White, turn, cell(white)).await.unwrap();
        for stream in &mut streams {
            assert_eq!(stream.turn().await.turn, turn);
        }
    }
    // The two seals, and each node's read of the turn that it tells.
    assert_eq!(commands(redis.server(), &duel.name).await, 4 * cells.len());
}

/// B1: the primary dies before its replicas have the last turn, and writes count before they have them.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_a_failover_loses_is_not_played_again() {
    for flavor in Flavor::ALL {
        let servers = Sentinel::start(flavor, &ServerOptions::new()).await.unwrap();
        let cluster = nodes(&servers.url(), 2).await;
        let duel = cluster.duel(Default::default()).await;
        duel.play(1, "A1", "I9").await;
        let mut streams =
            [duel.black.watch(&duel.name).await.unwrap(), duel.white.watch(&duel.name).await.unwrap()];
        servers.wait_until_ok(FAILOVER_MAX).await.unwrap();
        let primary = servers.primary().await.unwrap();
        servers.copied(FAILOVER_MAX).await.unwrap();
        // They keep what they have, and hear of nothing more.
        primary.ask(&["ACL", "SETUSER", "default", "-psync", "-sync"]).await.unwrap();
        primary.ask(&["CLIENT", "KILL", "TYPE", "replica"]).await.unwrap();
        duel.play(2, "C1", "G9").await;
        for stream in &mut streams {
            assert_eq!(stream.turn().await.turn, 2);
        }
        primary.kill();
        servers.replaced(primary, FAILOVER_MAX).await.unwrap();
        for mut stream in streams {
            let (_, end) = stream.rest().await;
            let end = reason(&end.unwrap_err());
            assert!([ErrorReason::HistoryRegressed, ErrorReason::StoreUnavailable].contains(&end), "{end:?}");
        }
        let over = async {
            loop {
                match duel.black.get(&duel.name).await {
                    Ok(game) if game.finish.is_some() => return game,
                    Ok(_) | Err(_) => tokio::time::sleep(LOOK_EVERY).await,
                }
            }
        };
        let game = soon("the end of the match", over).await;
        assert_eq!(game.turn, 1, "{flavor:?}");
        assert_eq!(game.finish.unwrap().reason(), EndReason::LostHistory, "{flavor:?}");
    }
}
