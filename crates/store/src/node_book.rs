//! Nodes in memory, for stores that live in one process.

use std::collections::BTreeMap;

use referee::Stamp;

#[cfg(doc)]
use crate::NodeStore;
use crate::{Meeting, NodeId, NodeReport, SeenNode, StoreError};

/// Who is there and what he told last: what a [`NodeStore`] promises, as a plain value.
#[derive(Clone, Default, Debug)]
pub struct NodeBook {
    nodes: BTreeMap<NodeId, Line>,
}

#[derive(Clone, Debug)]
struct Line {
    report: NodeReport,
    heard: Stamp,
    /// It was asked to drain.
    drain: bool,
}

impl Line {
    /// How long it has been silent, ms. Whoever is ahead of this clock spoke to another one, before a failover.
    fn silent_ms(&self, now: Stamp) -> Option<u64> {
        (self.heard <= now).then(|| now.ms_since(self.heard))
    }

    fn is_alive(&self, now: Stamp) -> bool {
        self.silent_ms(now).is_some_and(|silent_ms| silent_ms <= NodeId::SILENCE_MAX_MS)
    }
}

impl NodeBook {
    /// [`NodeStore::meet`].
    pub fn meet(&mut self, report: &NodeReport, now: Stamp) -> Meeting {
        let drain = self.nodes.get(&report.node).is_some_and(|line| line.drain);
        self.nodes.insert(report.node, Line { report: report.clone(), heard: now, drain });
        self.nodes
            .retain(|_, line| line.silent_ms(now).is_some_and(|silent_ms| silent_ms <= NodeId::DEAD_KEPT_MS));
        self.forget_the_oldest(now);
        let alive = self.nodes.iter().filter(|(_, line)| line.is_alive(now));
        Meeting { nodes: alive.map(|(node, _)| *node).collect(), drain }
    }

    /// Keeps no more dead nodes than may be told of.
    fn forget_the_oldest(&mut self, now: Stamp) {
        let dead = self.nodes.iter().filter(|(_, line)| !line.is_alive(now));
        let mut dead: Vec<_> = dead.map(|(node, line)| (line.heard, *node)).collect();
        dead.sort_unstable();
        let too_many = dead.len().saturating_sub(NodeId::DEAD_MAX);
        dead.iter().take(too_many).for_each(|(_, node)| drop(self.nodes.remove(node)));
    }

    /// [`NodeStore::part`].
    pub fn part(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }

    /// [`NodeStore::nodes`].
    #[must_use]
    pub fn seen(&self, now: Stamp) -> Vec<SeenNode> {
        let kept =
            |line: &&Line| line.silent_ms(now).is_some_and(|silent_ms| silent_ms <= NodeId::DEAD_KEPT_MS);
        let seen = |line: &Line| SeenNode {
            report: line.report.clone(),
            heard: line.heard,
            is_alive: line.is_alive(now),
        };
        let mut seen: Vec<_> = self.nodes.values().filter(kept).map(seen).collect();
        seen.sort_by(|one, other| SeenNode::order(one).cmp(&SeenNode::order(other)));
        seen
    }

    /// [`NodeStore::ask_to_drain`].
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the node is not there.
    pub fn ask_to_drain(&mut self, node: NodeId, now: Stamp) -> Result<(), StoreError> {
        let line = self.nodes.get_mut(&node).filter(|line| line.is_alive(now)).ok_or(StoreError::NotFound)?;
        line.drain = true;
        Ok(())
    }
}
