//! A node without a transport, for whoever brings his own: a simulation, a test.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use store::NodeId;
use tokio::sync::watch;
use tonic::service::Routes;

use crate::front::routes;
use crate::health::Health;
use crate::server::{ServeError, Server};

/// One node, taken apart: nothing of it runs unless its owner polls it.
pub struct InProcess {
    /// The RPC services without any layer. A caller is who the [`middleware::Principal`] in a request's
    /// extensions says; nobody where there is none.
    pub routes: Routes,
    /// What time drives, to be polled beside the calls. It never ends.
    pub clockwork: BoxFuture<'static, ()>,
    /// Set to true, it ends all streams with RESUME_ELSEWHERE.
    pub drain: watch::Sender<bool>,
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").finish_non_exhaustive()
    }
}

impl Server {
    /// The node for whoever polls it himself, known to the store's other nodes by `id`. It needs no
    /// runtime: all waiting is by its clock and store.
    ///
    /// # Errors
    /// If the API cannot be set up.
    pub async fn in_process(self, id: NodeId) -> Result<InProcess, ServeError> {
        let (drain, draining) = watch::channel(false);
        let reflection = self.reflection;
        let node = Arc::new(self.into_node(id, draining, Arc::default()));
        let routes = routes(&node, &Health::begun().await, reflection)?;
        let clockwork = async move { node.by_itself(None).await }.boxed();
        Ok(InProcess { routes, clockwork, drain })
    }
}
