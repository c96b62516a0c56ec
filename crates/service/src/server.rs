//! The life of a server, from a listener to the end of its grace.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use middleware::{ApiKeys, Auth, TokenIssuer};
use store::keys::Signer;
use store::{Clock, NodeId, Store};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::warn;

use crate::admission::Admissions;
use crate::bots::Bots;
use crate::front::Front;
use crate::health::Health;
use crate::idempotency::RequestKeys;
use crate::listener;
use crate::node::{Node, NodeConfig};
use crate::readiness::Readiness;
use crate::workers::{Dealt, Workers};

/// How long calls in flight may take to finish once the server is told to stop. Then it stops.
const GRACE: Duration = Duration::from_secs(10);

/// How long it may take to tell other nodes that this one ends.
const PARTING_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a server could not start or ended by itself.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The transport failed.
    #[error("the server ended: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// The reflection service refused the descriptors.
    #[error("the API's descriptors cannot be served: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// A thread that serves could not start, or ended.
    #[error("a thread that serves: {0}")]
    Worker(#[from] std::io::Error),
}

/// A server of the whole API on one node. All that it needs comes from outside.
pub struct Server {
    /// Where matches are kept.
    pub store: Arc<dyn Store>,
    /// The node's clock: ids, tokens, heartbeats. Matches go by the store's.
    pub clock: Arc<dyn Clock>,
    /// How it behaves.
    pub config: NodeConfig,
    /// Makes players' tokens; those of others are not accepted.
    pub issuer: TokenIssuer,
    /// Signs receipts and finished matches; shared by all nodes of a store.
    pub signer: Signer,
    /// The keys of back ends and operators.
    pub api_keys: ApiKeys,
    /// The secret that requests are remembered under; shared by all nodes of a store.
    pub request_secret: [u8; 32],
    /// Whether clients may ask for the API's descriptors.
    pub reflection: bool,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Server {
    /// Serves on `listener` until `shutdown` resolves, then lets calls finish for a bounded time while
    /// streams are told to resume elsewhere and calls that still arrive to go there.
    ///
    /// # Errors
    /// If the API cannot be set up or the transport fails.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let (drain, draining) = watch::channel(false);
        let admissions = Arc::default();
        let (auth, reflection) = (self.auth(&admissions), self.reflection);
        let node = Arc::new(self.into_node(draining, admissions));
        // Who is banned is so from the first call on. Where the store does not answer, no call gets far.
        let _ = node.admissions.refresh(node.store.as_ref(), node.clock.now_ms()).await;
        let health = Health::begun().await;
        let front = Front { node: Arc::clone(&node), health: health.clone(), auth, reflection };
        let NodeConfig { connections_max, first_bytes_timeout, workers, .. } = node.config;
        let incoming = listener::connections(listener, connections_max, first_bytes_timeout);
        let serve = |dealt: Dealt| front.clone().serve(dealt, drain.subscribe());
        let mut workers = Workers::start(workers, serve)?;
        let serving = async {
            match node.config.workers {
                0 => serve(incoming.filter_map(async |accepted| accepted.open(None)).boxed()).await,
                _ => workers.serve(incoming).await,
            }
        };
        let id = NodeId(rand::random());
        let readiness = Arc::new(Readiness::new(Arc::clone(&node.clock)));
        let ticking = node.by_itself(id, Some(Arc::clone(&readiness)));
        let until_told = async {
            tokio::select! {
                () = shutdown => {}
                never = readiness.tell(&health) => match never {},
            }
            health.not_serving().await;
            drain.send_replace(true);
            tokio::time::sleep(GRACE).await;
        };
        let ended = tokio::select! {
            ended = serving => ended,
            () = ticking => Ok(()),
            () = until_told => {
                warn!(grace_s = GRACE.as_secs(), "calls still open after the grace are cut off");
                Ok(())
            }
        };
        workers.cut_off().await;
        // Where that fails, the others find out by its silence.
        let _ = tokio::time::timeout(PARTING_TIMEOUT, node.store.part(id)).await;
        ended
    }

    fn auth(&self, admissions: &Arc<Admissions>) -> Auth {
        let (clock, admissions) = (Arc::clone(&self.clock), Arc::clone(admissions));
        Auth {
            verifier: Arc::new(self.issuer.verifier()),
            api_keys: self.api_keys.clone(),
            dev: self.config.dev,
            clock: Arc::new(move || clock.now_ms()),
            admission: Arc::new(move |player, now_ms| admissions.judge(player, now_ms)),
        }
    }

    pub(crate) fn into_node(self, draining: watch::Receiver<bool>, admissions: Arc<Admissions>) -> Node {
        Node {
            store: self.store,
            clock: self.clock,
            config: self.config,
            issuer: Arc::new(self.issuer),
            signer: self.signer,
            histories: Arc::default(),
            keys: RequestKeys::new(self.request_secret),
            bots: Bots::default(),
            admissions,
            draining,
        }
    }
}
