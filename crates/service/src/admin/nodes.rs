//! Nodes, their pools, and what they count.

use referee::Stamp;
use store::{NodeId, PoolReport, SeenNode};
use wire::ApiError;
use wire::admin::v1::{
    DrainNodeRequest, DrainNodeResponse, GetNodeStatsResponse, GetStoreStatsResponse, ListNodesRequest,
    ListNodesResponse, ListPoolsRequest, ListPoolsResponse, PoolState, StoreStats,
};
use wire::v1::ErrorReason;

use super::{Act, remembered_as};
use crate::convert::time::duration;
use crate::convert::{admin, errors, request};
use crate::node::Node;
use crate::page;

/// Every node, those that have died lately among them.
pub(super) async fn list(node: &Node, asked: &ListNodesRequest) -> Result<ListNodesResponse, ApiError> {
    let nodes = node.store.nodes().await.map_err(errors::store)?;
    let key = |seen: &SeenNode| format!("{}.{:016x}", seen.report.name, seen.report.node.0);
    let (page, next_page_token) = page::part(nodes, key, asked.page_size, &asked.page_token)?;
    Ok(ListNodesResponse { nodes: page.iter().map(admin::node).collect(), next_page_token })
}

/// What this node has counted.
pub(super) fn stats(node: &Node) -> GetNodeStatsResponse {
    let stats = admin::stats(&node.roster.name, node.clock.now_ms(), &node.stats.read());
    GetNodeStatsResponse { stats: Some(stats) }
}

/// What the store holds.
pub(super) async fn store_stats(node: &Node) -> Result<GetStoreStatsResponse, ApiError> {
    let live_matches = node.store.waiting_matches().await.map_err(errors::store)?;
    let shards = node.store.shard_count().into();
    Ok(GetStoreStatsResponse { stats: Some(StoreStats { live_matches, shards }) })
}

/// The pools of this server, each as the node that pairs it told last.
pub(super) async fn pools(node: &Node, asked: &ListPoolsRequest) -> Result<ListPoolsResponse, ApiError> {
    let nodes = node.store.nodes().await.map_err(errors::store)?;
    let alive: Vec<NodeId> = nodes.iter().filter(|seen| seen.is_alive).map(|seen| seen.report.node).collect();
    let state = |pool: &crate::Pool| {
        let owner = NodeId::owner_of(&alive, pool.name.as_str().as_bytes());
        let owner = nodes.iter().find(|seen| Some(seen.report.node) == owner).map(|seen| &seen.report);
        let told: Option<&PoolReport> =
            owner.and_then(|owner| owner.pools.iter().find(|told| told.pool == pool.name));
        PoolState {
            pool: pool.name.to_string(),
            waiting: told.map(|told| told.waiting),
            oldest_wait: told.and_then(|told| told.oldest_wait_ms).map(duration),
            owner: owner.map(|owner| admin::node_name(&owner.name)).unwrap_or_default(),
        }
    };
    let all = node.config.pools.iter().map(state).collect();
    let key = |state: &PoolState| state.pool.clone();
    let (pools, next_page_token) = page::part(all, key, asked.page_size, &asked.page_token)?;
    Ok(ListPoolsResponse { pools, next_page_token })
}

/// Takes a node out of service. This one begins at once, another with its next heartbeat. That of the one that is
/// asked needs no store: it may be what has been lost.
pub(super) async fn drain(
    node: &Node,
    operator: &str,
    asked: &DrainNodeRequest,
) -> Result<DrainNodeResponse, ApiError> {
    request::request_id(&asked.request_id)?;
    let found = match admin::named_node("name", &asked.name)? {
        None => itself(node),
        Some(name) => {
            let found = find(node, name).await?;
            // A repetition is about the node that the first try has found, not about one that has its name since.
            let content = DrainNodeRequest { request_id: String::new(), ..asked.clone() };
            let fresh = u128::from(found.report.node.0).to_be_bytes();
            let first = remembered_as(node, operator, &asked.request_id, &content, fresh).await?;
            if first != fresh {
                return Err(ApiError::not_found(&admin::node_name(name)));
            }
            found
        }
    };
    let name = admin::node_name(&found.report.name);
    let seen = if found.report.node == node.roster.id {
        node.roster.ask_to_drain();
        itself(node)
    } else {
        let refused = |error| errors::store_on(&name, error);
        node.store.ask_to_drain(found.report.node).await.map_err(refused)?;
        found
    };
    Act { operator, request_id: &asked.request_id }.audit("drain_node", &name, "");
    Ok(DrainNodeResponse { node: Some(admin::node(&seen)) })
}

/// This node, as it knows of itself.
fn itself(node: &Node) -> SeenNode {
    let heard = Stamp::from_ms(node.clock.now_ms());
    SeenNode { report: node.roster.report(), heard, is_alive: true }
}

/// The one node of this name that is alive.
async fn find(node: &Node, name: &str) -> Result<SeenNode, ApiError> {
    let nodes = node.store.nodes().await.map_err(errors::store)?;
    let mut named = nodes.into_iter().filter(|seen| seen.is_alive && seen.report.name == name);
    let found = named.next().ok_or_else(|| ApiError::not_found(&admin::node_name(name)))?;
    if named.next().is_some() {
        let what = "several nodes have this name; give each one of its own";
        return Err(ApiError::field(ErrorReason::FieldInvalid, "name", what));
    }
    Ok(found)
}
