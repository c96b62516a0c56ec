//! `wts store migrate`: from a directory to a Redis.

use std::path::Path;
use std::process::{Command, Output};

use futures::StreamExt as _;
use redis_servers::{Flavor, Options, Single};
use whattheshell::rules::{Cell, Seat};
use whattheshell::{Client, Player, Update, v1};

use crate::server::Server;
use crate::shared_store::{agree, soon};

fn cell(name: &str) -> Cell {
    name.parse().expect("a cell")
}

async fn player(server: &Server, id: &str) -> Player {
    let client = Client::connect(&server.url()).await.expect("the server listens");
    let token = client.mint_token(&format!("players/{id}")).await.expect("it is in development mode").token;
    client.player(&token).expect("a token")
}

fn wts(arguments: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_wts")).args(arguments).output().expect("wts runs");
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
    (output, text)
}

fn migrate(from: &Path, to: &str) -> (Option<i32>, String) {
    let (output, text) =
        wts(&["store", "migrate", "--from", from.to_str().expect("a path of text"), "--to", to]);
    (output.status.code(), text)
}

/// The leaderboard of matches of 30 s a turn, once both players are on it.
async fn rated(player: &Player) -> Vec<v1::LeaderboardEntry> {
    loop {
        let request =
            v1::ListLeaderboardRequest { speed: v1::SpeedClass::Rapid.into(), ..Default::default() };
        let board = player.list_leaderboard(request).await.expect("an answer");
        if board.entries.len() == 2 {
            return board.entries;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn matches_go_on_in_redis_where_they_were() {
    for flavor in Flavor::ALL {
        let directory = tempfile::tempdir().expect("a directory");
        let keys = directory.path().join("keys");
        let mut server = Server::start(directory.path());
        let (ann, bob) = (player(&server, "ann").await, player(&server, "bob").await);
        let ranked = v1::MatchSettings { mode: v1::MatchMode::Ranked.into(), ..Default::default() };
        let over = agree(&ann, &bob, ranked).await;
        over[0].seal(1, cell("A1")).await.expect("it is legal");
        over[1].seal(1, cell("I9")).await.expect("it is legal");
        over[0].resign().await.expect("he may");
        let live = agree(&ann, &bob, v1::MatchSettings::default()).await;
        live[0].seal(1, cell("A1")).await.expect("it is legal");
        live[1].seal(1, cell("I9")).await.expect("it is legal");
        live[0].seal(2, cell("B2")).await.expect("it is legal");
        let asked = v1::CreateInviteRequest {
            invitee: "players/cyd".to_owned(),
            ..v1::CreateInviteRequest::default()
        };
        let invite = ann.invite(asked).await.expect("it is legal").invite.expect("an invite");
        let transcript = ann.transcript(over[0].name()).await.expect("it is over");
        let rated = soon("both ratings", rated(&ann)).await;

        let redis = Single::start(flavor, &Options::new()).await.expect("a server can be started");
        let (code, text) = migrate(directory.path(), &redis.url());
        assert_eq!(code, Some(1), "the server still runs: {text}");
        server.terminate();
        server.end();
        let (code, text) = migrate(directory.path(), &redis.url());
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("matches            2\nresolved turns     2\n"), "{text}");
        let (code, text) = migrate(directory.path(), &redis.url());
        assert!(code == Some(1) && text.contains("has been served"), "{text}");

        let server = Server::over(&redis.url(), &keys);
        let (ann, bob) = (player(&server, "ann").await, player(&server, "bob").await);
        assert_eq!(ann.transcript(over[0].name()).await.expect("it is over"), transcript);
        assert_eq!(soon("both ratings", self::rated(&ann)).await, rated);
        let white = if live[1].player_in(Seat::White) == ann.name() { &ann } else { &bob };
        let white = white.open(live[0].name()).await.expect("the match");
        white.seal(2, cell("H8")).await.expect("turn 2 is still open");
        let mut stream = white.watch();
        let mut turns = Vec::new();
        while turns.len() < 2 {
            let update = soon("a turn", stream.next()).await.expect("it goes on").expect("it is verified");
            if let Update::Turn(turn) = update {
                turns.push(turn);
            }
        }
        let sealed = turns[1].message.black.as_ref().expect("black's move");
        assert_eq!(sealed.cell, u32::from(cell("B2").number()), "as it was sealed before");
        let cyd = player(&server, "cyd").await;
        cyd.accept_invite(&invite.name, None).await.expect("it is still open");
        let mut home = ann.watch_player();
        let state = soon("ann's state", home.next()).await.expect("it comes").expect("it comes");
        let mut listed = state.matches.iter().filter_map(|listed| listed.r#match.as_ref());
        assert!(listed.any(|listed| listed.name == live[0].name()), "{state:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_migration_is_not_served_and_is_begun_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(directory.path());
    server.terminate();
    server.end();
    let redis = Single::start(Flavor::Redis, &Options::new()).await.expect("a server can be started");
    redis.server().ask(&["HSET", "wts:meta", "importing", "1"]).await.expect("an answer");
    let keys = directory.path().join("keys").display().to_string();
    let (output, text) = wts(&["serve", "--listen", "127.0.0.1:0", "--store", &redis.url(), "--keys", &keys]);
    assert!(output.status.code() == Some(1) && text.contains("start that again"), "{text}");
    assert_eq!(migrate(directory.path(), &redis.url()).0, Some(0));
    Server::over(&redis.url(), Path::new(&keys));
}
