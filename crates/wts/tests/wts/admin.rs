//! `wts admin` and `wts top`.

use std::path::Path;
use std::process::{Command, Output};

use redis_servers::{Flavor, Options, Single};
use serde_json::Value;
use whattheshell::{Client, v1};

use crate::play::Process;
use crate::shared_store::agree;

/// The key of the only operator.
pub(crate) const KEY: &str = "olga's key";

/// What the server is told of it: her name, and the SHA-256 of her key.
const OPERATOR: &str = "olga=a860f4d82bc49184305e8a5d2e351fc47d0cc318c3f035ba379bec5c5373a272";

/// A server that listens to operators.
pub(crate) struct Server {
    process: Process,
    url: String,
    pub(crate) admin: String,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        let serve = ["serve", "--dev", "--listen", "127.0.0.1:0", "--log", "off"];
        let operators = ["--admin-listen", "127.0.0.1:0", "--operator", OPERATOR];
        let mut process = Process::start(&[&serve[..], &operators, options].concat());
        let mut address = |prefix: &str| {
            let line = process.read_until("\n");
            line.trim().strip_prefix(prefix).expect("it says where").to_owned()
        };
        let (url, admin) = (address("listening on "), address("operators at "));
        Self { process, url, admin }
    }

    /// What an operator's command says.
    fn admin(&self, arguments: &[&str]) -> Output {
        wts(&[&["admin", "--server", &self.admin, "--api-key", KEY], arguments].concat())
    }

    fn told(&self, arguments: &[&str]) -> String {
        let output = self.admin(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn object(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.told(&[arguments, &["--json"]].concat())).expect("one object")
    }

    /// Why a command was refused.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.admin(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    }

    /// The nodes once there are so many.
    fn nodes(&self, count: usize) -> Vec<Value> {
        loop {
            let nodes = self.object(&["nodes"])["nodes"].as_array().expect("a list").clone();
            if nodes.len() == count {
                return nodes;
            }
        }
    }
}

fn wts(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wts")).args(arguments).output().expect("wts runs")
}

/// The name of a match between ann and bob that has started.
async fn started(server: &Server) -> String {
    let client = Client::connect(&server.url).await.expect("it listens");
    let player = async |name: &str| {
        let token = client.mint_token(name).await.expect("it is in development mode").token;
        client.player(&token).expect("a token")
    };
    let (ann, bob) = (player("players/ann").await, player("players/bob").await);
    let [black, _] = agree(&ann, &bob, v1::MatchSettings::default()).await;
    black.name().to_owned()
}

#[test]
fn an_operator_sees_nodes_and_pools_in_words_and_as_json() {
    let server = Server::start(&["--volatile", "--node-name", "eu-1"]);
    let node = &server.nodes(1)[0];
    assert_eq!((&node["name"], &node["state"]), (&"nodes/eu-1".into(), &"serving".into()));
    assert_eq!(node["version"], env!("CARGO_PKG_VERSION"));
    assert!(node["start_ms"].as_u64() <= node["heartbeat_ms"].as_u64());
    let table = server.told(&["nodes"]);
    let lines: Vec<_> = table.lines().collect();
    assert!(
        lines[0].starts_with("NODE        STATE") && lines[1].starts_with("nodes/eu-1  serving"),
        "{table}"
    );

    let pools = server.object(&["pools"])["pools"].clone();
    assert_eq!((&pools[0]["pool"], &pools[1]["pool"]), (&"casual".into(), &"ranked".into()));
    assert_eq!(pools[0]["owner"], "nodes/eu-1");
    assert!(server.told(&["pools"]).contains("ranked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_looks_at_a_match_and_ends_it() {
    let server = Server::start(&["--volatile"]);
    let name = started(&server).await;
    let object = server.object(&["inspect", &name]);
    assert_eq!((&object["match"], &object["turn"]), (&name.as_str().into(), &0.into()));
    let mut players = [&object["black"], &object["white"]].map(|player| player.as_str().unwrap_or_default());
    players.sort_unstable();
    assert_eq!(players, ["players/ann", "players/bob"]);
    assert_eq!(object["sealed"], serde_json::json!([false, false]));
    assert!(object["stored"]["version"].as_u64() > Some(0));
    let text = server.told(&["inspect", &name]);
    assert!(text.contains("players/ann") && text.contains("last commit"), "{text}");

    let nameless = server.admin(&["abort", &name]);
    assert_eq!(nameless.status.code(), Some(2), "it wants to know why");
    let aborted = server.told(&["abort", &name, "--because", "they asked for it"]);
    assert!(aborted.contains(&name) && aborted.contains("MATCH_RESULT_VOID"), "{aborted}");
    assert_eq!(server.object(&["inspect", &name])["reason"], "END_REASON_OPERATOR");
    let unknown = server.refused(&["inspect", "matches/01890000-0000-7000-8000-000000000000"]);
    assert!(unknown.contains("NOT_FOUND"), "{unknown}");
}

#[test]
fn nobody_gets_in_without_an_operator_s_key_or_by_the_public_port() {
    let server = Server::start(&["--volatile"]);
    let say = |url: &str, key: &[&str]| {
        let output = wts(&[&["admin", "nodes", "--server", url], key].concat());
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(say(&server.admin, &[]).contains("--api-key"));
    assert!(say(&server.admin, &["--api-key", "another key"]).contains("TOKEN_INVALID"));
    assert!(say(&server.url, &["--api-key", KEY]).contains("UNIMPLEMENTED"));
}

#[test]
fn a_server_that_is_drained_ends_by_itself() {
    let server = Server::start(&["--volatile", "--node-name", "eu-1"]);
    server.nodes(1);
    assert!(server.refused(&["drain", "nodes/eu-2"]).contains("NOT_FOUND"));
    assert!(server.told(&["drain", "nodes/eu-1"]).starts_with("nodes/eu-1 drains"));
    assert_eq!(server.process.end().1, Some(0));
}

#[test]
fn a_node_is_drained_through_another_one_over_redis() {
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let redis = runtime.block_on(Single::start(Flavor::Redis, &Options::new())).expect("a server");
    let directory = tempfile::tempdir().expect("a directory");
    let keys = directory.path().join("keys");
    let keys = keys.to_str().expect("text");
    assert!(wts(&["keys", "new", keys]).status.success());
    let node = |name: &str| Server::start(&["--store", &redis.url(), "--keys", keys, "--node-name", name]);
    let (first, second) = (node("eu-1"), node("eu-2"));
    let nodes = second.nodes(2);
    assert_eq!([&nodes[0]["name"], &nodes[1]["name"]], ["nodes/eu-1", "nodes/eu-2"]);

    // Both are polled for the screen.
    let servers = format!("{},{}", first.admin, second.admin);
    let top = wts(&["top", "--once", "--server", &servers, "--api-key", KEY]);
    let table = String::from_utf8(top.stdout).expect("text");
    assert!(top.status.success() && table.contains("0 live matches, 2 of 2 nodes serve"), "{table}");
    for row in ["eu-1", "eu-2", "casual", "ranked"] {
        assert!(table.lines().any(|line| line.starts_with(row)), "{row}: {table}");
    }

    second.told(&["drain", "nodes/eu-1"]);
    assert_eq!(first.process.end().1, Some(0));
    assert_eq!(second.nodes(1)[0]["name"], "nodes/eu-2");
}

#[test]
fn keys_are_rotated_in_the_file_of_a_running_node() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let server = Server::start(&["--data", data.to_str().expect("text")]);
    let before = file(&data);
    let listed = server.object(&["keys", "list"]);
    assert_eq!(listed["restart_required"], false);
    let prepared = server.object(&["keys", "prepare", "box"]);
    let id = prepared["key"]["id"].as_str().expect("an id").to_owned();
    assert!(server.told(&["keys", "promote", "box", &id]).contains("restart"));
    let table = server.told(&["keys", "list"]);
    let row = table.lines().find(|line| line.contains(&id)).expect("it is listed");
    assert!(row.contains("in-use") && table.contains("once it is restarted"), "{table}");
    let old = old_box_key(&server.object(&["keys", "list"]), &id);
    assert!(server.refused(&["keys", "retire", "box", &old]).contains("FIELD_REQUIRED"));
    server.told(&["keys", "retire", "box", &old, "--accept-loss"]);
    assert_ne!(file(&data), before);

    // The next start goes by it.
    assert!(server.told(&["drain"]).contains("drains"));
    assert_eq!(server.process.end().1, Some(0));
    let server = Server::start(&["--data", data.to_str().expect("text")]);
    let listed = server.object(&["keys", "list"]);
    assert_eq!(listed["restart_required"], false);
    let keys = listed["keys"].as_array().expect("a list");
    assert!(keys.iter().any(|key| key["id"] == id.as_str() && key["running_state"] == "in-use"));
}

fn file(data: &Path) -> Vec<u8> {
    std::fs::read(data.join("keys")).expect("keys are there")
}

/// The box key beside this one.
fn old_box_key(listed: &Value, id: &str) -> String {
    let keys = listed["keys"].as_array().expect("a list");
    let old = keys.iter().find(|key| key["role"] == "box" && key["id"] != id).expect("two");
    old["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn top_says_who_does_not_answer() {
    let server = Server::start(&["--volatile", "--node-name", "eu-1"]);
    started(&server).await;
    server.nodes(1);
    // Nobody listens there.
    let servers = format!("{},http://127.0.0.1:1", server.admin);
    let top = wts(&["top", "--once", "--server", &servers, "--api-key", KEY]);
    let table = String::from_utf8(top.stdout).expect("text");
    assert!(top.status.success() && table.starts_with("1 live matches, 1 of 1 nodes serve"), "{table}");
    assert!(table.contains("http://127.0.0.1:1: the operators' listener does not answer"), "{table}");
    let nobody = wts(&["top", "--once", "--server", "http://127.0.0.1:1", "--api-key", KEY]);
    assert!(!nobody.status.success());
}
