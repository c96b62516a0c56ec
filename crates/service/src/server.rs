//! The life of a server, from a listener to the end of its grace.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{FusedFuture as _, FutureExt as _};
use middleware::{ApiKeys, Auth, TokenIssuer};
use referee::Stamp;
use store::keys::Signer;
use store::{Clock, NodeId, Store};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tracing::warn;

use crate::admin::{Admin, AdminFront, Operators};
use crate::bots::Bots;
use crate::front::Front;
use crate::health::Health;
use crate::idempotency::RequestKeys;
use crate::listener;
use crate::node::{Node, NodeConfig};
use crate::readiness::Readiness;
use crate::roster::Roster;
use crate::stats::Stats;
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
    /// What operators reach of it.
    pub operators: Operators,
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
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let (drain, draining) = watch::channel(false);
        let (auth, reflection) = (self.auth(), self.reflection);
        let operators = std::mem::take(&mut self.operators);
        let id = NodeId(rand::random());
        let node = Arc::new(self.into_node(id, draining));
        let health = Health::begun().await;
        let (told, stop) = oneshot::channel();
        let operators =
            pin!(serve_operators(operators, &node, auth.clone(), &health, reflection, stop).fuse());
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
        let readiness = Arc::new(Readiness::new(Arc::clone(&node.clock)));
        let ticking = node.by_itself(Some(Arc::clone(&readiness)));
        let until_told = async {
            tokio::select! {
                () = shutdown => {}
                () = node.roster.asked_to_drain() => {}
                never = readiness.tell(&health) => match never {},
            }
            health.not_serving().await;
            drain.send_replace(true);
            tokio::time::sleep(GRACE).await;
        };
        let mut operators = operators;
        let ended = tokio::select! {
            ended = serving => ended,
            ended = &mut operators => ended,
            () = ticking => Ok(()),
            () = until_told => {
                warn!(grace_s = GRACE.as_secs(), "calls still open after the grace are cut off");
                Ok(())
            }
        };
        workers.cut_off().await;
        // Where that fails, the others find out by its silence.
        let _ = tokio::time::timeout(PARTING_TIMEOUT, node.store.part(id)).await;
        // Last, so that whoever asked for the end still hears that it comes.
        if told.send(()).is_ok() && !operators.is_terminated() {
            let _ = tokio::time::timeout(PARTING_TIMEOUT, operators).await;
        }
        ended
    }

    fn auth(&self) -> Auth {
        let clock = Arc::clone(&self.clock);
        Auth {
            verifier: Arc::new(self.issuer.verifier()),
            api_keys: self.api_keys.clone(),
            dev: self.config.dev,
            clock: Arc::new(move || clock.now_ms()),
        }
    }

    pub(crate) fn into_node(self, id: NodeId, draining: watch::Receiver<bool>) -> Node {
        let stats = Arc::<Stats>::default();
        let started = Stamp::from_ms(self.clock.now_ms());
        let name = self.config.name.clone();
        let roster = Roster::new(id, name, started, Arc::clone(&stats), draining.clone());
        Node {
            roster: Arc::new(roster),
            stats,
            store: self.store,
            clock: self.clock,
            config: self.config,
            issuer: Arc::new(self.issuer),
            signer: self.signer,
            histories: Arc::default(),
            keys: RequestKeys::new(self.request_secret),
            bots: Bots::default(),
            draining,
        }
    }
}

/// Serves operators where there is a listener for them; where there is none it never ends.
async fn serve_operators(
    Operators { listener, key_file, keys }: Operators,
    node: &Arc<Node>,
    auth: Auth,
    health: &Health,
    reflection: bool,
    stop: oneshot::Receiver<()>,
) -> Result<(), ServeError> {
    let Some(listener) = listener else {
        // Nobody need wait for it.
        drop(stop);
        return std::future::pending().await;
    };
    let admin = Admin { node: Arc::clone(node), key_file, keys: keys.into() };
    let first_bytes_timeout = node.config.first_bytes_timeout;
    let front = AdminFront { admin, auth, health: health.clone(), reflection, first_bytes_timeout };
    front.serve(listener, stop.map(drop)).await
}
