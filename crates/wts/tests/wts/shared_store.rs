//! Several servers over one Redis.

use std::process::Command;
use std::time::Duration;

use redis_servers::{Flavor, Options, Single};
use tempfile::TempDir;
use whattheshell::{Client, ClientBuilder, MatchHandle, Player, v1};

use crate::server::Server;

/// How long an effect may take before it counts as missing.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often something is looked at that comes about by itself.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Servers over one Redis. They end before it does.
pub(crate) struct SharedStore {
    pub(crate) nodes: Vec<Server>,
    pub(crate) redis: Single,
    _directory: TempDir,
}

impl SharedStore {
    /// So many nodes over a store that is new.
    pub(crate) async fn start(flavor: Flavor, options: &Options, count: usize) -> Self {
        let redis = Single::start(flavor, options).await.expect("a server can be started");
        let directory = tempfile::tempdir().expect("a directory");
        let keys = directory.path().join("keys");
        let made = Command::new(env!("CARGO_BIN_EXE_wts")).args(["keys", "new"]).arg(&keys).output();
        assert!(made.expect("wts runs").status.success());
        let nodes = (0..count).map(|_| Server::over(&redis.url(), &keys)).collect();
        Self { nodes, redis, _directory: directory }
    }

    /// `players/{id}` at this node.
    pub(crate) async fn player(&self, node: usize, id: &str) -> Player {
        self.player_with(node, id, &Client::builder()).await
    }

    /// The same with a client of one's choice.
    pub(crate) async fn player_with(&self, node: usize, id: &str, builder: &ClientBuilder) -> Player {
        let client = builder.connect(&self.nodes[node].url()).await.expect("the node listens");
        let token =
            client.mint_token(&format!("players/{id}")).await.expect("it is in development mode").token;
        client.player(&token).expect("a token")
    }

    /// How many matches wait for a deadline or for work, in all shards.
    pub(crate) async fn waiting(&self) -> i64 {
        let sum = "local sum = 0 \
                   for shard = 0, 255 do \
                     sum = sum + redis.call('ZCARD', string.format('wts:{s%03d}:due', shard)) \
                   end \
                   return sum";
        self.number(&["EVAL", sum, "0"]).await
    }

    /// How many nodes know of each other.
    pub(crate) async fn known_nodes(&self) -> i64 {
        self.number(&["ZCARD", "wts:nodes"]).await
    }

    /// A node that says that it is there, and does nothing.
    pub(crate) async fn beat_of_an_idle_node(&self) {
        let beat = "local time = redis.call('TIME') \
                    local now = time[1] * 1000 + math.floor(time[2] / 1000) \
                    return redis.call('ZADD', 'wts:nodes', now, '00000000deadbeef')";
        self.redis.server().ask(&["EVAL", beat, "0"]).await.expect("an answer");
    }

    async fn number(&self, command: &[&str]) -> i64 {
        let answer = self.redis.server().ask(command).await.expect("an answer");
        answer.number().expect("a number")
    }
}

/// A match between two players, which both have joined.
pub(crate) async fn agree(black: &Player, white: &Player, settings: v1::MatchSettings) -> [MatchHandle; 2] {
    let request = v1::CreateInviteRequest {
        invitee: white.name().to_owned(),
        settings: Some(settings),
        ..v1::CreateInviteRequest::default()
    };
    let invite = black.invite(request).await.expect("it is legal").invite.expect("an invite");
    let accepted = white.accept_invite(&invite.name, None).await.expect("it is open");
    let handles = (black.join(&accepted.r#match).await, white.join(&accepted.r#match).await);
    let [first, second] = [handles.0.expect("a seat"), handles.1.expect("a seat")];
    match first.seat() {
        Some(whattheshell::rules::Seat::Black) => [first, second],
        _ => [second, first],
    }
}

/// Looks until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let look = async {
        while !is_so().await {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, look).await.is_ok(), "still missing after {PATIENCE:?}: {what}");
}

/// Waits for what must come.
pub(crate) async fn soon<T>(what: &str, effect: impl Future<Output = T>) -> T {
    let effect = tokio::time::timeout(PATIENCE, effect).await;
    effect.unwrap_or_else(|_| panic!("still missing after {PATIENCE:?}: {what}"))
}
