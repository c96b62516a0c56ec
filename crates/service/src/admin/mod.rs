//! `AdminService`: what operators see and do, on a listener of its own.

mod front;
mod keys;
mod matches;
mod nodes;

use std::path::PathBuf;
use std::sync::Arc;

use middleware::{AUDIT_TARGET, Principal};
use prost::Message;
use sealing::MatchId;
use store::keys::KeyFacts;
use tokio::net::TcpListener;
use tonic::{Request, Response, Status};
use wire::ApiError;
use wire::admin::v1::admin_service_server::AdminService;
use wire::admin::v1::{
    AbortMatchRequest, AbortMatchResponse, DrainNodeRequest, DrainNodeResponse, GetNodeStatsRequest,
    GetNodeStatsResponse, GetStoreStatsRequest, GetStoreStatsResponse, InspectMatchRequest,
    InspectMatchResponse, ListKeysRequest, ListKeysResponse, ListNodesRequest, ListNodesResponse,
    ListPoolsRequest, ListPoolsResponse, PrepareKeyRequest, PrepareKeyResponse, PromoteKeyRequest,
    PromoteKeyResponse, RetireKeyRequest, RetireKeyResponse,
};
use wire::v1::ErrorReason;

use crate::access::Caller;
use crate::convert::request;
use crate::node::Node;

pub(crate) use front::AdminFront;

/// Where operators reach a node, and what only they do there.
#[derive(Debug, Default)]
pub struct Operators {
    /// Where they call; none: they cannot.
    pub listener: Option<TcpListener>,
    /// The file of keys, which they may rotate; none where there is no file.
    pub key_file: Option<PathBuf>,
    /// The keys that the node was started with.
    pub keys: Vec<KeyFacts>,
}

/// The service over one node.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) node: Arc<Node>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) keys: Arc<[KeyFacts]>,
}

/// Who does something, and under which request.
struct Act<'a> {
    operator: &'a str,
    request_id: &'a str,
}

impl Act<'_> {
    /// Takes note of what was done. Nothing that a player chose is in it.
    fn audit(&self, action: &'static str, object: &str, explanation: &str) {
        let Self { operator, request_id } = self;
        tracing::info!(target: AUDIT_TARGET, operator, action, object, request_id, ?explanation, "an operator acted");
    }
}

/// The operator who calls, as the layers have found him.
fn operator<T>(request: &Request<T>) -> Result<String, ApiError> {
    match request.extensions().get() {
        Some(Principal::Operator(operator)) => Ok(operator.name.to_string()),
        Some(Principal::Player(_) | Principal::Backend(_)) => Err(ApiError::new(ErrorReason::ScopeMissing)),
        None => Err(ApiError::new(ErrorReason::TokenMissing)),
    }
}

/// Remembers a request of an operator, or finds it. `content` is the request without its id. Returns random bytes,
/// the same for each repetition.
///
/// # Errors
/// It was used for another request; the store is not there.
async fn remembered(
    node: &Node,
    operator: &str,
    request_id: &str,
    content: &impl Message,
) -> Result<[u8; 16], ApiError> {
    remembered_as(node, operator, request_id, content, rand::random()).await
}

/// The same with bytes of the caller's in the place of random ones: those of the first try are returned.
async fn remembered_as(
    node: &Node,
    operator: &str,
    request_id: &str,
    content: &impl Message,
    fresh: [u8; 16],
) -> Result<[u8; 16], ApiError> {
    let request_id = request::request_id(request_id)?;
    let fresh = MatchId::from_bytes(fresh);
    let actor = format!("operators/{operator}");
    let first = node.keys.created_id(node.store.as_ref(), &actor, &request_id, content, fresh).await?;
    Ok(*first.as_bytes())
}

#[tonic::async_trait]
impl AdminService for Admin {
    async fn abort_match(
        &self,
        request: Request<AbortMatchRequest>,
    ) -> Result<Response<AbortMatchResponse>, Status> {
        let (operator, caller) = (operator(&request)?, Caller::of(&request));
        Ok(Response::new(matches::abort(&self.node, &operator, &caller, request.get_ref()).await?))
    }

    async fn inspect_match(
        &self,
        request: Request<InspectMatchRequest>,
    ) -> Result<Response<InspectMatchResponse>, Status> {
        operator(&request)?;
        let caller = Caller::of(&request);
        Ok(Response::new(matches::inspect(&self.node, &caller, request.get_ref()).await?))
    }

    async fn list_nodes(
        &self,
        request: Request<ListNodesRequest>,
    ) -> Result<Response<ListNodesResponse>, Status> {
        operator(&request)?;
        Ok(Response::new(nodes::list(&self.node, request.get_ref()).await?))
    }

    async fn get_node_stats(
        &self,
        request: Request<GetNodeStatsRequest>,
    ) -> Result<Response<GetNodeStatsResponse>, Status> {
        operator(&request)?;
        Ok(Response::new(nodes::stats(&self.node)))
    }

    async fn get_store_stats(
        &self,
        request: Request<GetStoreStatsRequest>,
    ) -> Result<Response<GetStoreStatsResponse>, Status> {
        operator(&request)?;
        Ok(Response::new(nodes::store_stats(&self.node).await?))
    }

    async fn list_pools(
        &self,
        request: Request<ListPoolsRequest>,
    ) -> Result<Response<ListPoolsResponse>, Status> {
        operator(&request)?;
        Ok(Response::new(nodes::pools(&self.node, request.get_ref()).await?))
    }

    async fn drain_node(
        &self,
        request: Request<DrainNodeRequest>,
    ) -> Result<Response<DrainNodeResponse>, Status> {
        let operator = operator(&request)?;
        Ok(Response::new(nodes::drain(&self.node, &operator, request.get_ref()).await?))
    }

    async fn list_keys(
        &self,
        request: Request<ListKeysRequest>,
    ) -> Result<Response<ListKeysResponse>, Status> {
        operator(&request)?;
        Ok(Response::new(self.list_all_keys().await?))
    }

    async fn prepare_key(
        &self,
        request: Request<PrepareKeyRequest>,
    ) -> Result<Response<PrepareKeyResponse>, Status> {
        let operator = operator(&request)?;
        Ok(Response::new(self.prepare(&operator, request.get_ref()).await?))
    }

    async fn promote_key(
        &self,
        request: Request<PromoteKeyRequest>,
    ) -> Result<Response<PromoteKeyResponse>, Status> {
        let operator = operator(&request)?;
        Ok(Response::new(self.promote(&operator, request.get_ref()).await?))
    }

    async fn retire_key(
        &self,
        request: Request<RetireKeyRequest>,
    ) -> Result<Response<RetireKeyResponse>, Status> {
        let operator = operator(&request)?;
        Ok(Response::new(self.retire(&operator, request.get_ref()).await?))
    }
}
