//! The nodes of a store: who is there, and which of them looks after which shard.
//!
//! Work that time triggers, a deadline that passes or a follow-up that waits, is divided among the nodes
//! without a word between them: each learns who is there, and all come to the same division. It saves work
//! and decides nothing: every step is a compare-and-set or idempotent, so it does not matter if two nodes do
//! the same, as they may while one comes or goes.

use async_trait::async_trait;
use referee::Stamp;
use sha2::{Digest as _, Sha256};

use crate::{PoolName, Shard, StoreError};

/// A node, from its start to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(
    /// Drawn at random when the node starts.
    pub u64,
);

impl NodeId {
    /// Pause between two heartbeats of a node, ms.
    pub const HEARTBEAT_MS: u64 = 1_000;

    /// The silence after which a node counts as dead, ms: two heartbeats lost.
    pub const SILENCE_MAX_MS: u64 = 2 * Self::HEARTBEAT_MS;

    /// How long a node that died without a word is still told of, ms: long enough for whoever is woken to see
    /// which one it was.
    pub const DEAD_KEPT_MS: u64 = 10 * 60_000;

    /// Dead nodes that are told of at most, the latest: one that dies again and again must not fill a list.
    pub const DEAD_MAX: usize = 100;

    /// The node that looks after a shard; none if there is no node.
    ///
    /// Rendezvous hashing: of all nodes the one with the highest hash together with the shard. Everyone who
    /// knows the same nodes, in whatever order, says the same; each gets about as many shards; and when one
    /// comes or goes, only the shards that it gets or had change hands.
    ///
    /// ```
    /// use store::{NodeId, Shard};
    /// let (one, two, three) = (NodeId(1), NodeId(2), NodeId(3));
    /// let owner = NodeId::owner(&[one, two, three], Shard(7));
    /// assert_eq!(owner, NodeId::owner(&[three, one, two], Shard(7)));
    /// assert_eq!(NodeId::owner(&[], Shard(7)), None);
    /// ```
    #[must_use]
    pub fn owner(nodes: &[Self], shard: Shard) -> Option<Self> {
        Self::owner_of(nodes, &shard.0.to_be_bytes())
    }

    /// The node that looks after something else, by its name: [`NodeId::owner`] of that.
    #[must_use]
    pub fn owner_of(nodes: &[Self], name: &[u8]) -> Option<Self> {
        nodes.iter().copied().max_by_key(|node| (node.weight(name), *node))
    }

    fn weight(self, name: &[u8]) -> [u8; 32] {
        Sha256::new().chain_update(self.0.to_be_bytes()).chain_update(name).finalize().into()
    }
}

/// What a glance shows of a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    /// The shard.
    pub shard: Shard,
    /// For how long something has been due there, ms; none if nothing is.
    pub overdue_ms: Option<u64>,
    /// Its clock needs a sign of life, [`MatchStore::touch`](crate::MatchStore::touch): matches wait there and
    /// nobody has been there for a while.
    pub silent: bool,
}

/// What a node tells of itself with every heartbeat, for operators. Nothing is decided by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeReport {
    /// Which node.
    pub node: NodeId,
    /// What operators call it, 1 to 64 of `[A-Za-z0-9._-]`. After a restart another node may have the same.
    pub name: String,
    /// The version of its build.
    pub version: String,
    /// Since when it runs, by its own clock.
    pub started: Stamp,
    /// It finishes what it has and takes no more.
    pub draining: bool,
    /// Streams that clients have open on it.
    pub streams: u64,
    /// The pools that it looks after, by name: at most as many as a server can have.
    pub pools: Vec<PoolReport>,
}

/// Who waits in a pool, as the node that looks after it knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolReport {
    /// Which pool.
    pub pool: PoolName,
    /// How many tickets wait.
    pub waiting: u64,
    /// How long the oldest of them had waited when it was looked at, ms; none if none waits.
    pub oldest_wait_ms: Option<u64>,
}

/// What a node learns when it says that it is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// All nodes that are there, this one among them.
    pub nodes: Vec<NodeId>,
    /// An operator has [asked](NodeStore::ask_to_drain) this one to drain. It is told again each time.
    pub drain: bool,
}

/// A node as others see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenNode {
    /// What it told last.
    pub report: NodeReport,
    /// When that was, by the store's clock.
    pub heard: Stamp,
    /// It has been heard of within [`NodeId::SILENCE_MAX_MS`].
    pub is_alive: bool,
}

impl SeenNode {
    /// Where it stands in a list: by name, and of one name by id.
    #[must_use]
    pub fn order(&self) -> (&str, NodeId) {
        (&self.report.name, self.report.node)
    }
}

/// What nodes of one store know of each other.
#[async_trait]
pub trait NodeStore: Send + Sync + 'static {
    /// Says that a node is there, and what there is to tell of it. Returns all that have said so within
    /// [`NodeId::SILENCE_MAX_MS`] by the store's clock, this one among them.
    async fn meet(&self, report: &NodeReport) -> Result<Meeting, StoreError>;

    /// Says that a node is about to end, so that the others need not wait until it has been silent. It is told
    /// of no more.
    async fn part(&self, node: NodeId) -> Result<(), StoreError>;

    /// The nodes that are there, and the last [`NodeId::DEAD_MAX`] of those that fell silent within
    /// [`NodeId::DEAD_KEPT_MS`], by name, and of one name by id.
    async fn nodes(&self) -> Result<Vec<SeenNode>, StoreError>;

    /// Asks a node to drain: it learns so with its next heartbeat. Asking again changes nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if it is not there.
    async fn ask_to_drain(&self, node: NodeId) -> Result<(), StoreError>;

    /// How many matches wait for a deadline or for work, in all shards: those that live, and for a moment those
    /// that have just ended.
    async fn waiting_matches(&self) -> Result<u64, StoreError>;

    /// Looks over shards at little cost, to find those that need more. Where a store of one node does not know
    /// better, each may: looking is as cheap as knowing. Shards that cannot be reached are left out. A store of
    /// many nodes may say what it has seen up to half a second ago, but for what this node has changed since.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if none of them can be reached.
    async fn glance(&self, shards: &[Shard]) -> Result<Vec<Glance>, StoreError> {
        let unknown = |shard: &Shard| Glance { shard: *shard, overdue_ms: Some(0), silent: true };
        Ok(shards.iter().map(unknown).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const SHARDS: u16 = 256;

    fn owners(nodes: &[NodeId]) -> Vec<NodeId> {
        (0..SHARDS).map(|shard| NodeId::owner(nodes, Shard(shard)).unwrap()).collect()
    }

    fn some_nodes(count: u64) -> Vec<NodeId> {
        (1..=count).map(|number| NodeId(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
    }

    #[test]
    fn every_node_comes_to_the_same_division() {
        let mut nodes = some_nodes(5);
        let division = owners(&nodes);
        nodes.reverse();
        assert_eq!(owners(&nodes), division);
        nodes.swap(0, 3);
        assert_eq!(owners(&nodes), division);
        // All builds must agree, today and later: nodes of two builds work side by side.
        let owner = |shard| NodeId::owner(&[NodeId(1), NodeId(2), NodeId(3)], Shard(shard)).unwrap().0;
        assert_eq!([0, 1, 2, 100, 255].map(owner), [1, 3, 1, 3, 2]);
    }

    #[test]
    fn each_node_gets_its_share() {
        for count in 2..=8 {
            let mut shares: HashMap<NodeId, usize> = HashMap::new();
            owners(&some_nodes(count)).into_iter().for_each(|owner| *shares.entry(owner).or_default() += 1);
            let fair = usize::from(SHARDS) / usize::try_from(count).unwrap();
            assert_eq!(shares.len() as u64, count, "nobody is idle");
            assert!(shares.values().all(|share| *share < 2 * fair && *share > fair / 2), "{shares:?}");
        }
    }

    #[test]
    fn only_the_shards_of_a_node_that_leaves_change_hands() {
        let nodes = some_nodes(6);
        let before = owners(&nodes);
        let left = nodes[2];
        let stay: Vec<NodeId> = nodes.iter().copied().filter(|node| *node != left).collect();
        for (before, after) in before.iter().zip(owners(&stay)) {
            assert_eq!(*before == left, *before != after);
        }
    }
}
