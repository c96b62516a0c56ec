//! The nodes of a store: who is there, and which of them looks after which shard.
//!
//! Work that time triggers, a deadline that passes or a follow-up that waits, is divided among the nodes
//! without a word between them: each learns who is there, and all come to the same division. It saves work
//! and decides nothing: every step is a compare-and-set or idempotent, so it does not matter if two nodes do
//! the same, as they may while one comes or goes.

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use crate::{Shard, StoreError};

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

/// What nodes of one store know of each other. The provided methods are those of a store of one node.
#[async_trait]
pub trait NodeStore: Send + Sync + 'static {
    /// Says that a node is there. Returns all that have said so within [`NodeId::SILENCE_MAX_MS`] by the
    /// store's clock, this one among them.
    async fn meet(&self, node: NodeId) -> Result<Vec<NodeId>, StoreError> {
        Ok(vec![node])
    }

    /// Says that a node is about to end, so that the others need not wait until it has been silent.
    async fn part(&self, _node: NodeId) -> Result<(), StoreError> {
        Ok(())
    }

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
