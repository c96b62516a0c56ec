//! Who is there and what he tells, and a glance at what is due.
//!
//! A glance runs no script. It goes by what the node remembers of a shard; where that is old, or says that
//! there is something to do, one pipeline a server reads the server's time, the earliest entry of each due set
//! and, unless a script has told it lately, when each clock last heard of anybody. It may be wrong by what is
//! under way and by what is remembered; what it finds is then looked at by script.

use async_trait::async_trait;
use futures::future::{join_all, try_join_all};
use redis::Value;
use referee::Stamp;
use store::codec;
use store::{Glance, Meeting, NodeId, NodeReport, NodeStore, SeenNode, Shard, StoreError};

use crate::call::Call;
use crate::dues::Asked;
use crate::fault::Fault;
use crate::redis_store::RedisStore;
use crate::reply::{Reply, unexpected, unwritable};
use crate::server::Server;
use crate::start::SHARDS;

/// The silence after which a shard's clock needs a sign of life, ms: a third of the gap that it takes for an
/// outage.
const SILENCE_MS: u64 = 1_000;

/// A shard that is asked about.
struct Question {
    shard: Shard,
    asked: Asked,
    /// Whether it is also asked when its clock last heard of somebody.
    of_clock: bool,
}

impl RedisStore {
    /// Says that a node is there and what it tells, or without that, that it goes.
    async fn tell_nodes(&self, node: NodeId, told: Option<Vec<u8>>) -> Result<Reply, StoreError> {
        let (keys, place) = self.names.nodes();
        let call = Call::new(&self.scripts.nodes, place, keys)
            .argument(node_text(node))
            .number(u8::from(told.is_some()))
            .number(NodeId::SILENCE_MAX_MS)
            .number(NodeId::DEAD_KEPT_MS)
            .number(NodeId::DEAD_MAX)
            .argument(told.unwrap_or_default());
        self.caller.run(call).await
    }

    /// What the nodes told last; asks one of them to drain.
    async fn told(&self, drain: Option<NodeId>) -> Result<Reply, StoreError> {
        let (keys, place) = self.names.nodes();
        let call = Call::new(&self.scripts.told, place, keys)
            .number(NodeId::SILENCE_MAX_MS)
            .number(NodeId::DEAD_KEPT_MS)
            .argument(drain.map(node_text).unwrap_or_default());
        self.caller.run(call).await
    }

    /// Counts what is due, now or later, in shards of one server.
    async fn count_at(&self, server: &Server, shards: &[Shard]) -> Result<u64, Fault> {
        let mut commands = redis::Pipeline::new();
        for shard in shards {
            commands.cmd("ZCARD").arg(self.names.due_set(&self.names.shard(*shard)));
        }
        let (answers, _) = server.lines.here().send_all(&commands).await?;
        answers.iter().map(|answer| read_number(answer).ok_or(Fault::Lost)).sum()
    }

    /// A shard's time, as far as it is known here.
    fn time_known(&self, shard: Shard) -> Option<Stamp> {
        let given = self.caller.given_ms().map(Stamp::from_ms);
        given.or_else(|| self.recent.time(shard).map(|now| now.stamp))
    }

    /// Whether a script has worked on a shard so lately that its clock needs no sign of life: each gives one.
    fn is_heard(&self, shard: Shard) -> bool {
        let heard = self.recent.last_read(shard).zip(self.time_known(shard));
        heard.is_some_and(|(heard, now)| now.ms_since(heard) < SILENCE_MS)
    }

    /// What there is to see in a shard by what is remembered of it: nothing to do, or it must be asked.
    fn glance_back(&self, shard: Shard) -> Option<Glance> {
        let earliest = self.dues.earliest(shard)?;
        let waits = |due: Stamp| self.time_known(shard).is_some_and(|now| now < due) && self.is_heard(shard);
        earliest.is_none_or(waits).then_some(Glance { shard, overdue_ms: None, silent: false })
    }

    /// Asks about shards of one server.
    async fn glance_at(&self, server: &Server, shards: &[Shard]) -> Result<Vec<Glance>, Fault> {
        let mut commands = redis::Pipeline::new();
        commands.cmd("TIME");
        let mut questions = Vec::with_capacity(shards.len());
        for shard in shards {
            let place = self.names.shard(*shard);
            let due = self.names.due_set(&place);
            commands.cmd("ZRANGE").arg(due).arg(0).arg(0).arg("WITHSCORES");
            let of_clock = !self.is_heard(*shard);
            if of_clock {
                commands.cmd("HGET").arg(self.names.clock(&place)).arg("alive");
            }
            questions.push(Question { shard: *shard, asked: self.dues.ask(*shard), of_clock });
        }
        let (answers, _) = server.lines.here().send_all(&commands).await?;
        let mut answers = answers.into_iter();
        let time = answers.next().ok_or(Fault::Lost)?;
        let now_ms = match self.caller.given_ms() {
            Some(now_ms) => now_ms,
            None => read_time(&time).ok_or(Fault::Lost)?,
        };
        questions.iter().map(|question| self.read_glance(question, &mut answers, now_ms)).collect()
    }

    /// Reads what was answered about a shard. One that its server does not answer for, as it has moved, is to be
    /// looked at: whoever does finds it.
    fn read_glance(
        &self,
        question: &Question,
        answers: &mut impl Iterator<Item = Value>,
        now_ms: u64,
    ) -> Result<Glance, Fault> {
        let Question { shard, asked, of_clock } = *question;
        let due = answers.next().ok_or(Fault::Lost)?;
        let alive = if of_clock { Some(answers.next().ok_or(Fault::Lost)?) } else { None };
        let Some(earliest) = read_earliest(&due) else {
            return Ok(Glance { shard, overdue_ms: Some(0), silent: true });
        };
        self.dues.answered(shard, asked, earliest.map(Stamp::from_ms));
        let Some(due_ms) = earliest else { return Ok(Glance { shard, overdue_ms: None, silent: false }) };
        let is_silent = |alive| read_number(&alive).is_none_or(|ms| now_ms.saturating_sub(ms) >= SILENCE_MS);
        Ok(Glance { shard, overdue_ms: now_ms.checked_sub(due_ms), silent: alive.is_some_and(is_silent) })
    }
}

#[async_trait]
impl NodeStore for RedisStore {
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError> {
        let told = codec::encode_node_report(report).map_err(|error| unwritable(&error))?;
        let reply = self.tell_nodes(report.node, Some(told)).await?;
        let nodes = reply.list(0)?.into_iter().map(read_node).collect::<Result<_, _>>()?;
        Ok(Meeting { nodes, drain: reply.number(1)? > 0 })
    }

    async fn part(&self, node: NodeId) -> Result<(), StoreError> {
        self.tell_nodes(node, None).await.map(drop)
    }

    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError> {
        let reply = self.told(None).await?;
        let now = Stamp::from_ms(reply.number(0)?);
        let there = reply.list(1)?.into_iter().map(read_node).collect::<Result<Vec<_>, _>>()?;
        let told = reply.list(2)?;
        let (lines, _) = told.as_chunks();
        // One that a newer node wrote in another way is left out: it is no reason to show nobody.
        let mut seen: Vec<_> =
            lines.iter().filter_map(|[node, told]| read_seen(node, told, now, &there)).collect();
        seen.sort_by(|one, other| one.order().cmp(&other.order()));
        Ok(seen)
    }

    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError> {
        let is_asked = self.told(Some(node)).await?.number(3)? > 0;
        if is_asked { Ok(()) } else { Err(StoreError::NotFound) }
    }

    async fn waiting_matches(&self) -> Result<u64, StoreError> {
        let shards = (0..SHARDS).map(|shard| (Shard(shard), self.names.shard(Shard(shard))));
        let (by_server, fault) = self.caller.by_server(shards);
        let counts =
            try_join_all(by_server.iter().map(|(server, shards)| self.count_at(server, shards))).await;
        match (counts, fault) {
            (Ok(counts), None) => Ok(counts.into_iter().sum()),
            (Err(fault), _) | (Ok(_), Some(fault)) => {
                self.caller.routes.doubt();
                Err(fault.into())
            }
        }
    }

    async fn glance(&self, shards: &[Shard]) -> Result<Vec<Glance>, StoreError> {
        let mut seen = Vec::with_capacity(shards.len());
        let mut unknown = Vec::new();
        for shard in shards {
            match self.glance_back(*shard) {
                Some(glance) => seen.push(glance),
                None => unknown.push((*shard, self.names.shard(*shard))),
            }
        }
        let (by_server, mut fault) = self.caller.by_server(unknown.into_iter());
        let glances = by_server.iter().map(|(server, shards)| self.glance_at(server, shards));
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

/// Reads when the first entry of a due set is due, ms: within the answer none if the set is empty.
fn read_earliest(due: &Value) -> Option<Option<u64>> {
    let Value::Array(entries) = due else { return None };
    match &entries[..] {
        [] => Some(None),
        [Value::Array(entry)] => entry.get(1).and_then(read_number).map(Some),
        [_, score] => read_number(score).map(Some),
        _ => None,
    }
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

/// Reads what is kept of a node: when it was heard, and what it told. Whoever is ahead of this clock told it to
/// another one, before a failover.
fn read_seen(node: &[u8], told: &[u8], now: Stamp, there: &[NodeId]) -> Option<SeenNode> {
    let node = read_node(node).ok()?;
    let space = told.iter().position(|byte| *byte == b' ')?;
    let heard = std::str::from_utf8(&told[..space]).ok()?.parse().ok().map(Stamp::from_ms)?;
    let is_kept = heard <= now && now.ms_since(heard) <= NodeId::DEAD_KEPT_MS;
    let report = codec::decode_node_report(node, &told[space + 1..]).ok().filter(|_| is_kept)?;
    Some(SeenNode { report, heard, is_alive: there.contains(&node) })
}

fn node_text(node: NodeId) -> String {
    format!("{:016x}", node.0)
}

fn read_node(name: &[u8]) -> Result<NodeId, StoreError> {
    let name = std::str::from_utf8(name).map_err(|_| unexpected())?;
    u64::from_str_radix(name, 16).map(NodeId).map_err(|_| unexpected())
}
