//! One look at the servers.

use futures::future::join_all;
use wire::admin::v1::{GetNodeStatsRequest, GetStoreStatsRequest, Node, NodeStats, PoolState, StoreStats};

use crate::admin::{nodes, pools};
use crate::operator::{Operator, OperatorKey, explain};

/// What a look has found.
#[derive(Debug, Default)]
pub(crate) struct Polled {
    /// What each server that was named has counted, or why it does not say.
    pub(crate) servers: Vec<(String, Result<NodeStats, String>)>,
    /// What the first that answers says of all of them.
    pub(crate) shared: Option<Shared>,
}

/// What any node knows.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) nodes: Vec<Node>,
    pub(crate) pools: Vec<PoolState>,
    pub(crate) store: StoreStats,
}

/// Connections to the servers that were named.
pub(crate) struct Poller {
    operators: Vec<(String, Operator)>,
}

impl Poller {
    /// # Errors
    /// An address or the key is none.
    pub(crate) fn new(key: &OperatorKey, servers: &[String]) -> anyhow::Result<Self> {
        let connect = |url: &String| Ok((url.clone(), key.connect(url)?));
        Ok(Self { operators: servers.iter().map(connect).collect::<anyhow::Result<_>>()? })
    }

    /// Asks all of them at once.
    pub(crate) async fn poll(&mut self) -> Polled {
        let asked = self.operators.iter_mut().map(async |(url, operator)| {
            let read = operator.get_node_stats(GetNodeStatsRequest {}).await.map_err(explain);
            let stats = read.map(|read| read.into_inner().stats.unwrap_or_default());
            (url.clone(), stats.map_err(|error| format!("{error:#}")))
        });
        let servers = join_all(asked).await;
        let mut shared = None;
        for ((_, operator), (_, stats)) in self.operators.iter_mut().zip(&servers) {
            if stats.is_ok() {
                shared = share(operator).await.ok();
            }
            if shared.is_some() {
                break;
            }
        }
        Polled { servers, shared }
    }
}

async fn share(operator: &mut Operator) -> anyhow::Result<Shared> {
    let store = operator.get_store_stats(GetStoreStatsRequest {}).await.map_err(explain)?.into_inner();
    let (nodes, pools) = (nodes(operator).await?, pools(operator).await?);
    Ok(Shared { nodes, pools, store: store.stats.unwrap_or_default() })
}
