//! Three nodes over one store, each behind a network that fails on demand.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use rand::RngExt as _;
use rand::rngs::StdRng;
use redis_servers::{FaultProxy, Flavor};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::backing::Backing;
use crate::node::{Node, Order, build_shim};
use crate::scenario::Scenario;

/// Nodes of a run.
pub(crate) const NODES: usize = 3;

/// Where a node listens; every run has addresses of its own.
const PORT: u16 = 7_654;

/// By how much the nodes' wall clocks are off where they are to be, in seconds.
const SKEWS_S: [i64; NODES] = [-30, 0, 30];

/// The nodes of a run and what they stand on.
pub(crate) struct Fleet {
    // Dropped in this order: nodes end before the servers do, and files go last.
    pub(crate) nodes: Vec<Mutex<Node>>,
    pub(crate) networks: Vec<FaultProxy>,
    pub(crate) backing: Backing,
    _directory: TempDir,
}

impl Fleet {
    /// Starts servers and nodes.
    pub(crate) async fn start(wts: &Path, scenario: Scenario, flavor: Flavor) -> anyhow::Result<Self> {
        let store = scenario.store();
        let directory = tempfile::tempdir()?;
        let keys = directory.path().join("keys");
        let made = Command::new(wts).args(["keys", "new"]).arg(&keys).output().context("wts does not run")?;
        ensure!(made.status.success(), "no keys: {}", String::from_utf8_lossy(&made.stderr));
        let shim = scenario.is_skewed().then(|| build_shim(directory.path())).transpose()?;
        let backing = Backing::start(store, flavor).await?;
        let mut nodes = Vec::new();
        let mut networks = Vec::new();
        // An address of its own stays free while its node is dead; a port of a shared one might be taken.
        let [x, y]: [u8; 2] = rand::random();
        for (last, skew_s) in (1..).zip(SKEWS_S) {
            let address = SocketAddr::from((Ipv4Addr::new(127, x | 1, y, last), PORT));
            let mut node = Node::new(Order {
                wts: wts.to_owned(),
                store: backing.url(),
                durability: store.durability(),
                keys: keys.clone(),
                address,
                heartbeat: scenario.heartbeat(),
                skew: shim.clone().map(|shim| (shim, skew_s)),
            });
            node.start().await?;
            nodes.push(Mutex::new(node));
            networks.push(FaultProxy::in_front_of(address).await?);
        }
        Ok(Self { nodes, networks, backing, _directory: directory })
    }

    /// Where clients find the nodes.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.networks.iter().map(FaultProxy::address).collect()
    }

    /// Kills a node without a word.
    pub(crate) async fn kill(&self, node: usize) -> anyhow::Result<()> {
        self.nodes[node].lock().await.kill().await
    }

    /// Tells a node to end, and waits until it has.
    pub(crate) async fn drain(&self, node: usize) -> anyhow::Result<()> {
        self.nodes[node].lock().await.drain().await
    }

    /// Starts a node that has ended.
    pub(crate) async fn start_again(&self, node: usize) -> anyhow::Result<()> {
        self.nodes[node].lock().await.start().await
    }

    /// Any of the nodes.
    pub(crate) fn any(random: &mut StdRng) -> usize {
        random.random_range(0..NODES)
    }
}
