//! Who is there, and a glance at what is due.
//!
//! A glance runs no script: one pipeline a server reads the server's time, the earliest entry of each due set
//! and when each clock last heard of anybody. It may be wrong by what is under way; what it finds is then
//! looked at by script.

use async_trait::async_trait;
use futures::future::join_all;
use redis::Value;
use store::{Glance, NodeId, NodeStore, Shard, StoreError};

use crate::call::Call;
use crate::fault::Fault;
use crate::redis_store::RedisStore;
use crate::reply::unexpected;
use crate::server::Server;

/// The silence after which a shard's clock needs a sign of life, ms: a third of the gap that it takes for an
/// outage.
const SILENCE_MS: u64 = 1_000;

/// What is asked of each shard.
const ASKED_OF_SHARD: usize = 2;

impl RedisStore {
    async fn tell_nodes(&self, node: NodeId, is_there: bool) -> Result<Vec<NodeId>, StoreError> {
        let (key, place) = self.names.nodes();
        let call = Call::new(&self.scripts.nodes, place, vec![key])
            .argument(format!("{:016x}", node.0))
            .number(u8::from(is_there))
            .number(NodeId::SILENCE_MAX_MS);
        let reply = self.caller.run(call).await?;
        reply.list(0)?.into_iter().map(read_node).collect()
    }

    /// Glances at shards of one server.
    async fn glance_at(&self, server: &Server, shards: &[Shard]) -> Result<Vec<Glance>, Fault> {
        let mut commands = redis::Pipeline::new();
        commands.cmd("TIME");
        for shard in shards {
            let place = self.names.shard(*shard);
            let due = self.names.due_set(&place);
            commands.cmd("ZRANGE").arg(due).arg(0).arg(0).arg("WITHSCORES");
            commands.cmd("HGET").arg(self.names.clock(&place)).arg("alive");
        }
        let (answers, _) = server.line.send_all(&commands).await?;
        let (time, answers) = answers.split_first().ok_or(Fault::Lost)?;
        let now_ms = match self.caller.given_ms() {
            Some(now_ms) => now_ms,
            None => read_time(time).ok_or(Fault::Lost)?,
        };
        let (of_shards, _) = answers.as_chunks::<ASKED_OF_SHARD>();
        Ok(shards
            .iter()
            .zip(of_shards)
            .map(|(shard, of_shard)| read_glance(*shard, of_shard, now_ms))
            .collect())
    }
}

#[async_trait]
impl NodeStore for RedisStore {
    async fn meet(&self, node: NodeId) -> Result<Vec<NodeId>, StoreError> {
        self.tell_nodes(node, true).await
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        self.tell_nodes(node, false).await.map(drop)
    }

    async fn glance(&self, shards: &[Shard]) -> Result<Vec<Glance>, StoreError> {
        let places = shards.iter().map(|shard| (*shard, self.names.shard(*shard)));
        let (by_server, mut fault) = self.caller.by_server(places);
        let glances = by_server.iter().map(|(server, shards)| self.glance_at(server, shards));
        let mut seen = Vec::with_capacity(shards.len());
        for glance in join_all(glances).await {
            match glance {
                Ok(glances) => seen.extend(glances),
                Err(found) => fault = Some(found),
            }
        }
        let Some(fault) = fault else { return Ok(seen) };
        self.caller.routes.doubt();
        if seen.is_empty() { Err(fault.into()) } else { Ok(seen) }
    }
}

/// Reads what was asked of a shard. One that its server does not answer for, as it has moved, is to be looked
/// at: whoever does finds it.
fn read_glance(shard: Shard, [due, alive]: &[Value; ASKED_OF_SHARD], now_ms: u64) -> Glance {
    let due_ms = match due {
        Value::Array(entries) => match &entries[..] {
            [] => return Glance { shard, overdue_ms: None, silent: false },
            [Value::Array(entry)] => entry.get(1).and_then(read_number),
            [_, score] => read_number(score),
            _ => None,
        },
        _ => None,
    };
    let Some(due_ms) = due_ms else { return Glance { shard, overdue_ms: Some(0), silent: true } };
    let silent = read_number(alive).is_none_or(|alive_ms| now_ms.saturating_sub(alive_ms) >= SILENCE_MS);
    Glance { shard, overdue_ms: now_ms.checked_sub(due_ms), silent }
}

fn read_number(value: &Value) -> Option<u64> {
    match value {
        // A score is a whole number of ms, far below what a double holds.
        Value::Double(number) if *number >= 0.0 => Some(*number as u64),
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BulkString(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// Reads the answer to TIME, as ms.
fn read_time(answer: &Value) -> Option<u64> {
    let Value::Array(parts) = answer else { return None };
    let [seconds, micros] = &parts[..] else { return None };
    read_number(seconds)?.checked_mul(1_000)?.checked_add(read_number(micros)? / 1_000)
}

fn read_node(name: &[u8]) -> Result<NodeId, StoreError> {
    let name = std::str::from_utf8(name).map_err(|_| unexpected())?;
    u64::from_str_radix(name, 16).map(NodeId).map_err(|_| unexpected())
}
