//! What `wts top` has seen, and what it shows of that. It does no I/O and asks no clock: time is what the servers say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wire::admin::v1::{LatencyBucket, Node, NodeState, NodeStats};

use super::poll::{Polled, Shared};
use crate::admin::{oldest_wait, state_name, waiting};
use crate::table_text::TableText;
use crate::time_text::TimeText;
use crate::words::{span_ms, stamp_ms};

/// The columns of nodes.
pub(crate) const NODE_COLUMNS: [&str; 11] = [
    "NODE",
    "STATE",
    "VERSION",
    "AGE",
    "STREAMS",
    "CALLS/S",
    "ERRORS/S",
    "SEALS/S",
    "P50",
    "P99",
    "CONFLICTS/S",
];

/// The columns of pools.
pub(crate) const POOL_COLUMNS: [&str; 4] = ["POOL", "WAITING", "OLDEST WAIT", "PAIRED BY"];

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// By address.
    servers: BTreeMap<String, Server>,
    shared: Shared,
    /// Somebody has told what any node knows.
    is_seen: bool,
}

/// A server that was named.
#[derive(Debug, Default)]
struct Server {
    before: Option<NodeStats>,
    last: Option<NodeStats>,
    trouble: Option<String>,
}

/// What happened between two looks.
#[derive(Clone, Debug, Default)]
struct Rates {
    /// Between the looks, s.
    seconds: f64,
    calls: u64,
    errors: u64,
    seals: u64,
    conflicts: u64,
    latencies: Vec<LatencyBucket>,
}

impl State {
    /// Takes in a look.
    pub(crate) fn take(&mut self, polled: Polled) {
        for (url, stats) in polled.servers {
            let server = self.servers.entry(url).or_default();
            match stats {
                Ok(stats) => {
                    server.before = server.last.replace(stats);
                    server.trouble = None;
                }
                Err(trouble) => *server = Server { trouble: Some(trouble), ..Server::default() },
            }
        }
        if let Some(shared) = polled.shared {
            (self.shared, self.is_seen) = (shared, true);
        }
    }

    /// Whether anybody has answered yet.
    pub(crate) fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// All nodes together, in a line.
    pub(crate) fn summary(&self) -> String {
        if !self.is_seen {
            return "nobody has answered yet".to_owned();
        }
        let serving = self.shared.nodes.iter().filter(|node| node.state() == NodeState::Serving).count();
        let streams: u64 = self.shared.nodes.iter().map(|node| node.streams).sum();
        let all = self.servers.values().filter_map(Server::rates).reduce(Rates::with);
        let rates = all.unwrap_or_default();
        format!(
            "{} live matches, {serving} of {} nodes serve, {streams} streams, {} seals/s, {} calls/s, p50 {}, p99 {}",
            self.shared.store.live_matches,
            self.shared.nodes.len(),
            rates.a_second(rates.seals),
            rates.a_second(rates.calls),
            rates.percentile(50),
            rates.percentile(99),
        )
    }

    /// A row a node.
    pub(crate) fn nodes(&self) -> Vec<[String; 11]> {
        // The latest heartbeat is the best word for now that all of them agree on.
        let now_ms =
            self.shared.nodes.iter().filter_map(|node| node.heartbeat_time.as_ref()).map(stamp_ms).max();
        let row = |node: &Node| {
            let age_ms =
                now_ms.zip(node.start_time.as_ref()).map(|(now, start)| now.saturating_sub(stamp_ms(start)));
            let rates = self.of_node(&node.name).and_then(Server::rates);
            let rate = |of: fn(&Rates) -> u64| {
                rates.as_ref().map_or_else(|| "-".to_owned(), |rates| rates.a_second(of(rates)))
            };
            let percentile =
                |percent| rates.as_ref().map_or_else(|| "-".to_owned(), |rates| rates.percentile(percent));
            [
                node.name.trim_start_matches("nodes/").to_owned(),
                state_name(node.state()).to_owned(),
                node.server_version.clone(),
                age_ms.map_or_else(|| "-".to_owned(), age),
                node.streams.to_string(),
                rate(|rates| rates.calls),
                rate(|rates| rates.errors),
                rate(|rates| rates.seals),
                percentile(50),
                percentile(99),
                rate(|rates| rates.conflicts),
            ]
        };
        self.shared.nodes.iter().map(row).collect()
    }

    /// A row a pool.
    pub(crate) fn pools(&self) -> Vec<[String; 4]> {
        let row = |pool: &wire::admin::v1::PoolState| {
            let owner = pool.owner.trim_start_matches("nodes/");
            let owner = if owner.is_empty() { "-" } else { owner };
            [pool.pool.clone(), waiting(pool), oldest_wait(pool), owner.to_owned()]
        };
        self.shared.pools.iter().map(row).collect()
    }

    /// What is wrong, a line a server.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let line = |(url, server): (&String, &Server)| Some(format!("{url}: {}", server.trouble.as_ref()?));
        self.servers.iter().filter_map(line).collect()
    }

    /// All of it as plain text.
    pub(crate) fn text(&self) -> String {
        let mut nodes = TableText::new(NODE_COLUMNS);
        self.nodes().into_iter().for_each(|row| nodes.row(row));
        let mut pools = TableText::new(POOL_COLUMNS);
        self.pools().into_iter().for_each(|row| pools.row(row));
        let mut text = format!("{}\n\n{nodes}\n{pools}", self.summary());
        for trouble in self.troubles() {
            // A text takes whatever is written to it.
            let _ = write!(text, "\n{trouble}");
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    fn of_node(&self, name: &str) -> Option<&Server> {
        self.servers.values().find(|server| server.last.as_ref().is_some_and(|stats| stats.node == name))
    }
}

impl Server {
    /// What happened between the last two looks. None before the second one, and where the node has started again in
    /// between.
    fn rates(&self) -> Option<Rates> {
        let (before, last) = (self.before.as_ref()?, self.last.as_ref()?);
        let ms = stamp_ms(last.time.as_ref()?).checked_sub(stamp_ms(before.time.as_ref()?))?;
        let grown = |of: fn(&NodeStats) -> u64| of(last).checked_sub(of(before));
        let latencies = last.latencies.iter().zip(&before.latencies).map(|(last, before)| {
            Some(LatencyBucket { max: last.max, count: last.count.checked_sub(before.count)? })
        });
        (before.node == last.node && ms > 0).then_some(())?;
        Some(Rates {
            // Far below what a double holds.
            seconds: ms as f64 / 1_000.0,
            calls: grown(|stats| stats.calls)?,
            errors: grown(|stats| stats.errors)?,
            seals: grown(|stats| stats.seals)?,
            conflicts: grown(|stats| stats.conflicts)?,
            latencies: latencies.collect::<Option<_>>()?,
        })
    }
}

impl Rates {
    /// Two nodes together. They were looked at at the same time.
    fn with(mut self, other: Self) -> Self {
        let buckets = self.latencies.iter_mut().zip(&other.latencies);
        buckets.for_each(|(own, other)| own.count += other.count);
        Self {
            seconds: self.seconds.max(other.seconds),
            calls: self.calls + other.calls,
            errors: self.errors + other.errors,
            seals: self.seals + other.seals,
            conflicts: self.conflicts + other.conflicts,
            latencies: self.latencies,
        }
    }

    /// So many in a second.
    fn a_second(&self, number: u64) -> String {
        if self.seconds <= 0.0 {
            return "-".to_owned();
        }
        format!("{:.0}", number as f64 / self.seconds)
    }

    /// The shortest bound that so many of a hundred calls kept.
    fn percentile(&self, percent: u64) -> String {
        let total: u64 = self.latencies.iter().map(|bucket| bucket.count).sum();
        let wanted = total.saturating_mul(percent).div_ceil(100);
        let mut counted = 0;
        for bucket in self.latencies.iter().filter(|bucket| bucket.count > 0) {
            counted += bucket.count;
            if counted >= wanted {
                return bucket.max.as_ref().map_or_else(|| "longer".to_owned(), latency);
            }
        }
        "-".to_owned()
    }
}

/// A latency to two digits, in its unit.
fn latency(max: &whattheshell::prost_types::Duration) -> String {
    // Both are not negative: a bound of the server's.
    let us = max.seconds.saturating_mul(1_000_000).saturating_add(i64::from(max.nanos) / 1_000);
    match us {
        0..10_000 => format!("{:.1}ms", us as f64 / 1_000.0),
        10_000..1_000_000 => format!("{}ms", span_ms(max)),
        _ => format!("{:.1}s", us as f64 / 1_000_000.0),
    }
}

/// An age to its longest two units.
fn age(ms: u64) -> String {
    const MINUTE_MS: u64 = 60_000;
    const HOUR_MS: u64 = 60 * MINUTE_MS;
    let unit_ms = match ms {
        0..HOUR_MS => 1_000,
        HOUR_MS..86_400_000 => MINUTE_MS,
        _ => HOUR_MS,
    };
    TimeText(ms / unit_ms * unit_ms).to_string()
}
