//! What a node tells the others of itself, and what they ask of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use referee::Stamp;
use store::{NodeId, NodeReport, PoolName, PoolReport};
use tokio::sync::watch;

use crate::stats::Stats;

/// A node among the nodes of its store.
pub(crate) struct Roster {
    pub(crate) id: NodeId,
    pub(crate) name: String,
    started: Stamp,
    stats: Arc<Stats>,
    draining: watch::Receiver<bool>,
    /// The pools that the node looks after, as it found them last.
    pools: Mutex<BTreeMap<PoolName, PoolReport>>,
    /// An operator has asked it to drain.
    asked_to_drain: watch::Sender<bool>,
}

impl Roster {
    /// A node that has just started. Without a name it is called by its id.
    pub(crate) fn new(
        id: NodeId,
        name: Option<String>,
        started: Stamp,
        stats: Arc<Stats>,
        draining: watch::Receiver<bool>,
    ) -> Self {
        let name = name.unwrap_or_else(|| format!("{:016x}", id.0));
        let (pools, asked_to_drain) = (Mutex::default(), watch::Sender::new(false));
        Self { id, name, started, stats, draining, pools, asked_to_drain }
    }

    /// What there is to tell now.
    pub(crate) fn report(&self) -> NodeReport {
        NodeReport {
            node: self.id,
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
            draining: *self.draining.borrow() || *self.asked_to_drain.borrow(),
            streams: self.stats.read().streams(),
            pools: self.pools().values().cloned().collect(),
        }
    }

    /// The node looks after a pool, and found it so.
    pub(crate) fn keeps(&self, report: PoolReport) {
        self.pools().insert(report.pool.clone(), report);
    }

    /// Another node looks after a pool.
    pub(crate) fn leaves(&self, pool: &PoolName) {
        self.pools().remove(pool);
    }

    /// An operator wants the node to do what a signal to terminate would make it do.
    pub(crate) fn ask_to_drain(&self) {
        self.asked_to_drain.send_if_modified(|asked| !std::mem::replace(asked, true));
    }

    /// Returns once somebody has asked.
    pub(crate) async fn asked_to_drain(&self) {
        // The sender is ours, so the wait ends only so.
        let _ = self.asked_to_drain.subscribe().wait_for(|asked| *asked).await;
    }

    /// Nothing leaves half of its work behind, so a lock whose holder panicked is still good.
    fn pools(&self) -> MutexGuard<'_, BTreeMap<PoolName, PoolReport>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
