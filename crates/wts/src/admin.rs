//! `wts admin`: what operators see and do through a running node.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use whattheshell::prost_types::{Duration, Timestamp};
use wire::admin::v1::{
    AbortMatchRequest, DrainNodeRequest, InspectMatchRequest, InspectMatchResponse, Key, KeyRole, KeyState,
    ListKeysRequest, ListKeysResponse, ListNodesRequest, ListPoolsRequest, Node, NodeState, PoolState,
    PrepareKeyRequest, PromoteKeyRequest, RetireKeyRequest, StoredMatch,
};
use wire::v1;

use crate::operator::{Operator, OperatorKey, SERVER_DEFAULT, explain, request_id};
use crate::table_text::TableText;
use crate::time_text::TimeText;
use crate::words::{self, span_ms, stamp_ms};

/// Entries that are asked for at once: the most that a page has.
const PAGE_SIZE: u32 = 100;

/// Options of `wts admin`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The operators' listener of a node, http://HOST:PORT
    #[arg(
        long,
        env = "WTS_ADMIN_SERVER",
        value_name = "URL",
        global = true,
        default_value = SERVER_DEFAULT
    )]
    server: String,

    #[command(flatten)]
    key: OperatorKey,

    /// One JSON object
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// The nodes of the store: what they do, since when, and how many streams they have
    Nodes,
    /// The pools: who waits, for how long, and which node pairs them
    Pools,
    /// A match as a spectator sees it, and how the store keeps it
    Inspect {
        /// matches/…
        #[arg(value_name = "MATCH")]
        name: String,
    },
    /// End a match: void, or aborted if no turn was open yet
    Abort {
        /// matches/…
        #[arg(value_name = "MATCH")]
        name: String,

        /// Why, for the audit log; players do not see it
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Take a node out of service, as a signal to terminate does: it sends its streams elsewhere, finishes what it
    /// has and exits
    Drain {
        /// nodes/…, as `wts admin nodes` shows it. The one that is asked if not given
        #[arg(value_name = "NODE", default_value = "", hide_default_value = true)]
        name: String,
    },
    /// The keys in the file of the node that is asked: see `wts keys`
    Keys {
        #[command(subcommand)]
        task: KeysTask,
    },
}

#[derive(Subcommand)]
enum KeysTask {
    /// Every key of the file, and which of them the node runs with. No secrets
    List,
    /// Add a key that opens and verifies, and is not used yet
    Prepare {
        /// What the key is for
        #[arg(value_parser = role())]
        role: KeyRole,
    },
    /// Take a prepared key into use. Every node must have been restarted with it since
    Promote {
        /// What the key is for
        #[arg(value_parser = role())]
        role: KeyRole,

        /// Its id
        id: String,
    },
    /// Remove a key that is not in use, for good
    Retire {
        /// What the key is for
        #[arg(value_parser = role())]
        role: KeyRole,

        /// Its id
        id: String,

        /// The key was in use, and what still needs it may be lost
        #[arg(long)]
        accept_loss: bool,
    },
}

/// The roles whose keys are rotated.
fn role() -> impl TypedValueParser<Value = KeyRole> {
    const ROTATED: [KeyRole; 3] = [KeyRole::Signing, KeyRole::Box, KeyRole::Token];
    PossibleValuesParser::new(ROTATED.map(role_name)).try_map(|name| {
        ROTATED.into_iter().find(|role| role_name(*role) == name).context("these keys are not rotated")
    })
}

/// Does one of the tasks.
///
/// # Errors
/// The node does not answer, or refuses; stdout is closed.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let told = runtime.block_on(async {
        let mut operator = arguments.key.connect(&arguments.server)?;
        tell(&mut operator, &arguments.task).await
    })?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", told.object)?;
    } else {
        writeln!(out, "{}", told.text.trim_end())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What came of a task.
struct Told {
    text: String,
    object: Value,
}

async fn tell(operator: &mut Operator, task: &Task) -> anyhow::Result<Told> {
    match task {
        Task::Nodes => Ok(tell_nodes(&nodes(operator).await?)),
        Task::Pools => Ok(tell_pools(&pools(operator).await?)),
        Task::Inspect { name } => {
            let request = InspectMatchRequest { name: name.clone() };
            Ok(tell_match(&operator.inspect_match(request).await.map_err(explain)?.into_inner()))
        }
        Task::Abort { name, because } => {
            let request = AbortMatchRequest {
                name: name.clone(),
                request_id: request_id(),
                explanation: because.clone(),
            };
            let aborted = operator.abort_match(request).await.map_err(explain)?.into_inner();
            Ok(tell_aborted(&aborted.r#match.unwrap_or_default()))
        }
        Task::Drain { name } => {
            let request = DrainNodeRequest { name: name.clone(), request_id: request_id() };
            let drained = operator.drain_node(request).await.map_err(explain)?.into_inner();
            let node = drained.node.unwrap_or_default();
            let text = format!(
                "{} drains: its streams go elsewhere, and it exits within its grace. `wts admin nodes` on another \
                 node shows when it has gone",
                node.name
            );
            Ok(Told { text, object: node_object(&node) })
        }
        Task::Keys { task } => tell_keys(operator, task).await,
    }
}

/// All nodes, page by page.
pub(crate) async fn nodes(operator: &mut Operator) -> anyhow::Result<Vec<Node>> {
    let (mut nodes, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = ListNodesRequest { page_size: PAGE_SIZE, page_token };
        let page = operator.list_nodes(request).await.map_err(explain)?.into_inner();
        nodes.extend(page.nodes);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(nodes);
        }
    }
}

/// All pools, page by page.
pub(crate) async fn pools(operator: &mut Operator) -> anyhow::Result<Vec<PoolState>> {
    let (mut pools, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = ListPoolsRequest { page_size: PAGE_SIZE, page_token };
        let page = operator.list_pools(request).await.map_err(explain)?.into_inner();
        pools.extend(page.pools);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(pools);
        }
    }
}

fn tell_nodes(nodes: &[Node]) -> Told {
    let mut table = TableText::new(["NODE", "STATE", "VERSION", "STREAMS", "SINCE", "LAST HEARD"]);
    for node in nodes {
        table.row([
            node.name.clone(),
            state_name(node.state()).to_owned(),
            node.server_version.clone(),
            node.streams.to_string(),
            utc(node.start_time.as_ref()),
            utc(node.heartbeat_time.as_ref()),
        ]);
    }
    Told {
        text: table.to_string(),
        object: json!({ "nodes": nodes.iter().map(node_object).collect::<Vec<_>>() }),
    }
}

fn node_object(node: &Node) -> Value {
    json!({
        "name": node.name, "state": state_name(node.state()), "version": node.server_version,
        "streams": node.streams, "start_ms": node.start_time.as_ref().map(stamp_ms),
        "heartbeat_ms": node.heartbeat_time.as_ref().map(stamp_ms),
    })
}

/// What a node does, in a word.
pub(crate) const fn state_name(state: NodeState) -> &'static str {
    match state {
        NodeState::Serving => "serving",
        NodeState::Draining => "draining",
        NodeState::Dead => "dead",
        NodeState::Unspecified => "unknown",
    }
}

fn tell_pools(pools: &[PoolState]) -> Told {
    let mut table = TableText::new(["POOL", "WAITING", "OLDEST WAIT", "PAIRED BY"]);
    for pool in pools {
        table.row([pool.pool.clone(), waiting(pool), oldest_wait(pool), or_dash(&pool.owner)]);
    }
    let object = |pool: &PoolState| {
        json!({ "pool": pool.pool, "waiting": pool.waiting, "owner": pool.owner,
                "oldest_wait_ms": pool.oldest_wait.as_ref().map(span_ms) })
    };
    Told { text: table.to_string(), object: json!({ "pools": pools.iter().map(object).collect::<Vec<_>>() }) }
}

/// How many wait in a pool.
pub(crate) fn waiting(pool: &PoolState) -> String {
    pool.waiting.map_or_else(|| "?".to_owned(), |waiting| waiting.to_string())
}

/// How long the oldest has waited, to the second.
pub(crate) fn oldest_wait(pool: &PoolState) -> String {
    pool.oldest_wait.as_ref().map_or_else(|| "-".to_owned(), in_seconds)
}

fn in_seconds(span: &Duration) -> String {
    TimeText(span_ms(span) / 1_000 * 1_000).to_string()
}

/// What a spectator would read, then how it is kept.
fn tell_match(inspected: &InspectMatchResponse) -> Told {
    let game = inspected.r#match.clone().unwrap_or_default();
    let stored = inspected.stored.clone().unwrap_or_default();
    let mut table = TableText::new(["", ""]);
    let player = |seat: &Option<v1::MatchSeat>| seat.clone().unwrap_or_default().player;
    table.row(["match".to_owned(), game.name.clone()]);
    table.row(["black".to_owned(), player(&game.black)]);
    table.row(["white".to_owned(), player(&game.white)]);
    table.row(["settings".to_owned(), game.settings.as_ref().map(words::terms).unwrap_or_default()]);
    table.row(["state".to_owned(), game.state().as_str_name().to_owned()]);
    table.row(["turns resolved".to_owned(), game.turn.to_string()]);
    for (seat, status) in seats(&game) {
        table.row([format!("{seat} sealed"), sealed(status.and_then(|status| status.sealed))]);
    }
    if let Some(finish) = &game.finish {
        table.row(["result".to_owned(), finish.result().as_str_name().to_owned()]);
        table.row(["reason".to_owned(), finish.reason().as_str_name().to_owned()]);
        table.row(["over since".to_owned(), utc(finish.finish_time.as_ref())]);
    }
    for (name, value) in stored_rows(&stored) {
        table.row([name.to_owned(), value]);
    }
    Told { text: table.without_head(), object: match_object(&game, &stored) }
}

fn seats(game: &v1::Match) -> [(&'static str, Option<&v1::SeatStatus>); 2] {
    let status = game.status.as_ref();
    let black = status.and_then(|status| status.black.as_ref());
    let white = status.and_then(|status| status.white.as_ref());
    [("black", black), ("white", white)]
}

fn sealed(sealed: Option<bool>) -> String {
    match sealed {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    }
    .to_owned()
}

fn stored_rows(stored: &StoredMatch) -> [(&'static str, String); 6] {
    let version = stored.version.map(|version| version.to_string());
    [
        ("shard", stored.shard.to_string()),
        ("due", utc(stored.due_time.as_ref())),
        ("version", version.unwrap_or_else(|| "-".to_owned())),
        ("last commit", utc(stored.commit_time.as_ref())),
        ("outages before it", stored.outage_sum.as_ref().map_or_else(|| "-".to_owned(), in_seconds)),
        ("to be done", or_dash(&stored.follow_ups.join(" "))),
    ]
}

fn match_object(game: &v1::Match, stored: &StoredMatch) -> Value {
    let player = |seat: &Option<v1::MatchSeat>| seat.as_ref().map(|seat| seat.player.clone());
    let finish = game.finish.as_ref();
    json!({
        "match": game.name, "black": player(&game.black), "white": player(&game.white),
        "settings": game.settings.as_ref().map(crate::lines::settings),
        "state": game.state().as_str_name(), "turn": game.turn,
        "sealed": seats(game).map(|(_, status)| status.and_then(|status| status.sealed)),
        "result": finish.map(|finish| finish.result().as_str_name()),
        "reason": finish.map(|finish| finish.reason().as_str_name()),
        "finish_ms": finish.and_then(|finish| finish.finish_time.as_ref()).map(stamp_ms),
        "stored": {
            "shard": stored.shard, "version": stored.version,
            "due_ms": stored.due_time.as_ref().map(stamp_ms),
            "commit_ms": stored.commit_time.as_ref().map(stamp_ms),
            "outage_ms": stored.outage_sum.as_ref().map(span_ms), "follow_ups": stored.follow_ups,
        },
    })
}

fn tell_aborted(game: &v1::Match) -> Told {
    let finish = game.finish.clone().unwrap_or_default();
    let text = format!("{} is over: {}", game.name, finish.result().as_str_name());
    Told { text, object: match_object(game, &StoredMatch::default()) }
}

async fn tell_keys(operator: &mut Operator, task: &KeysTask) -> anyhow::Result<Told> {
    /// What a running node has to do with a change.
    const RESTART: &str = "The node runs with the keys that it started with: give its file to every other node of \
                           the store, and restart each, `wts admin drain` one after the other.";
    let (text, key) = match task {
        KeysTask::List => {
            let listed = operator.list_keys(ListKeysRequest {}).await.map_err(explain)?.into_inner();
            return Ok(tell_all_keys(&listed));
        }
        KeysTask::Prepare { role } => {
            let request = PrepareKeyRequest { role: (*role).into(), request_id: request_id() };
            let key = operator.prepare_key(request).await.map_err(explain)?.into_inner().key;
            let key = key.unwrap_or_default();
            (format!("{} key {} is prepared. {RESTART}", role_name(*role), key.id), Some(key))
        }
        KeysTask::Promote { role, id } => {
            let request =
                PromoteKeyRequest { role: (*role).into(), id: id.clone(), request_id: request_id() };
            let key = operator.promote_key(request).await.map_err(explain)?.into_inner().key;
            (format!("{} key {id} is the one to use. {RESTART}", role_name(*role)), key)
        }
        KeysTask::Retire { role, id, accept_loss } => {
            let request = RetireKeyRequest {
                role: (*role).into(),
                id: id.clone(),
                accept_loss: *accept_loss,
                request_id: request_id(),
            };
            let key = operator.retire_key(request).await.map_err(explain)?.into_inner().key;
            let kept = key.as_ref().map(public_key).filter(|key| !key.is_empty());
            let kept =
                kept.map(|key| format!("\nWhat it signed is verified with its public key: {id}={key}"));
            (format!("{} key {id} is removed. {RESTART}{}", role_name(*role), kept.unwrap_or_default()), key)
        }
    };
    Ok(Told { text, object: json!({ "key": key.as_ref().map(key_object), "restart_required": true }) })
}

fn tell_all_keys(listed: &ListKeysResponse) -> Told {
    let mut table =
        TableText::new(["ROLE", "ID", "IN THE FILE", "IN THE NODE", "FROM", "UNTIL", "PUBLIC KEY"]);
    for key in &listed.keys {
        table.row([
            role_name(key.role()).to_owned(),
            key.id.clone(),
            key_state_name(key.state()).to_owned(),
            key_state_name(key.running_state()).to_owned(),
            utc(key.start_time.as_ref()),
            utc(key.end_time.as_ref()),
            or_dash(&public_key(key)),
        ]);
    }
    let mut text = table.to_string();
    if listed.restart_required {
        text.push_str(&format!("{} goes by the file once it is restarted\n", listed.node));
    }
    let keys: Vec<_> = listed.keys.iter().map(key_object).collect();
    let object = json!({ "node": listed.node, "restart_required": listed.restart_required, "keys": keys });
    Told { text, object }
}

fn key_object(key: &Key) -> Value {
    json!({
        "role": role_name(key.role()), "id": key.id, "state": key_state_name(key.state()),
        "running_state": (key.running_state() != KeyState::Unspecified).then(|| key_state_name(key.running_state())),
        "from_ms": key.start_time.as_ref().map(stamp_ms), "until_ms": key.end_time.as_ref().map(stamp_ms),
        "public_key": (!key.public_key.is_empty()).then(|| public_key(key)),
    })
}

fn public_key(key: &Key) -> String {
    key.public_key.iter().map(|byte| format!("{byte:02x}")).collect()
}

const fn role_name(role: KeyRole) -> &'static str {
    match role {
        KeyRole::Signing => "signing",
        KeyRole::Box => "box",
        KeyRole::Token => "token",
        KeyRole::Request => "request",
        KeyRole::Unspecified => "unknown",
    }
}

const fn key_state_name(state: KeyState) -> &'static str {
    match state {
        KeyState::Prepared => "prepared",
        KeyState::InUse => "in-use",
        KeyState::Ended => "ended",
        KeyState::Unspecified => "-",
    }
}

/// A moment as RFC 3339 has it, in UTC.
fn utc(time: Option<&Timestamp>) -> String {
    time.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}
