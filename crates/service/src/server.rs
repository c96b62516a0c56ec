//! The life of a server, from a listener to the end of its grace.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{FusedFuture as _, FutureExt as _};
use middleware::{Auth, LiveApiKeys, TokenIssuer, TokenVerifier, TrustedIssuer, Usages};
use referee::Stamp;
use store::keys::Signer;
use store::{Clock, NodeId, Store};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tracing::warn;

use crate::admin::{Admin, AdminFront, Operators};
use crate::admission::Admissions;
use crate::bots::Bots;
use crate::front::Front;
use crate::health::Health;
use crate::idempotency::RequestKeys;
use crate::listener;
use crate::metered::Metered;
use crate::node::{Node, NodeConfig};
use crate::readiness::Readiness;
use crate::roster::Roster;
use crate::stats::Stats;
use crate::transport::Transport;
use crate::workers::{Dealt, Workers};

/// How long it may take to tell other nodes that this one ends.
const PARTING_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a server could not start or ended by itself.
#[derive(Debug, Error)]
pub enum ServeError {
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
    /// Makes players' tokens.
    pub issuer: TokenIssuer,
    /// Signs receipts and finished matches; shared by all nodes of a store.
    pub signer: Signer,
    /// An issuer whose tokens are taken beside those.
    pub trusted_issuer: Option<Arc<TrustedIssuer>>,
    /// The keys of back ends and operators.
    pub api_keys: LiveApiKeys,
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
    /// Serves on `listener` until `shutdown` resolves. Then health checks are told at once; after a while, in which
    /// everything is served as before, streams are told to resume elsewhere and calls that still arrive to go
    /// there, one connection after the other; what has begun may finish, for a bounded time. The listener is closed
    /// last.
    ///
    /// # Errors
    /// If the API cannot be set up, or a thread that serves ends.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let (drain, draining) = watch::channel(false);
        let admissions = Arc::default();
        let (auth, reflection) = (self.auth(&admissions), self.reflection);
        let operators = std::mem::take(&mut self.operators);
        let id = NodeId(rand::random());
        let node = Arc::new(self.into_node(id, draining, admissions));
        // Who is banned is so from the first call on. Where the store does not answer, no call gets far.
        let _ = node.admissions.refresh(node.store.as_ref(), node.clock.now_ms()).await;
        let health = Health::begun().await;
        let (told, stop) = oneshot::channel();
        let operators =
            pin!(serve_operators(operators, &node, auth.clone(), &health, reflection, stop).fuse());
        let front = Front {
            node: Arc::clone(&node),
            health: health.clone(),
            auth,
            reflection,
            transport: Transport::of(&node.config),
            usages: Arc::new(Usages::new(node.config.allowances)),
            in_flight_max: node.config.calls_in_flight_max.div_ceil(node.config.workers.max(1)),
        };
        let NodeConfig { connections_max, connections_per_peer_max, workers, drain_delay, grace, .. } =
            node.config;
        let refusals = Arc::clone(&node.config.refusals);
        let incoming = listener::connections(listener, connections_max, connections_per_peer_max, refusals);
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
            tokio::time::sleep(drain_delay).await;
            drain.send_replace(true);
            tokio::time::sleep(grace).await;
        };
        let mut operators = operators;
        let ended = tokio::select! {
            ended = serving => ended,
            ended = &mut operators => ended,
            () = ticking => Ok(()),
            () = until_told => {
                warn!(grace_s = grace.as_secs(), "calls still open after the grace are cut off");
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

    fn auth(&self, admissions: &Arc<Admissions>) -> Auth {
        let (clock, admissions) = (Arc::clone(&self.clock), Arc::clone(admissions));
        Auth {
            verifier: Arc::new(self.verifier()),
            api_keys: self.api_keys.clone(),
            dev: self.config.dev,
            shelters: self.config.shelters,
            clock: Arc::new(move || clock.now_ms()),
            admission: Arc::new(move |player, now_ms| admissions.judge(player, now_ms)),
        }
    }

    fn verifier(&self) -> TokenVerifier {
        let own = self.issuer.verifier();
        self.trusted_issuer.iter().fold(own, |verifier, issuer| verifier.trusting(Arc::clone(issuer)))
    }

    pub(crate) fn into_node(
        self,
        id: NodeId,
        draining: watch::Receiver<bool>,
        admissions: Arc<Admissions>,
    ) -> Node {
        let stats = Arc::<Stats>::default();
        let started = Stamp::from_ms(self.clock.now_ms());
        let name = self.config.name.clone();
        let roster = Roster::new(id, name, started, Arc::clone(&stats), draining.clone());
        Node {
            roster: Arc::new(roster),
            store: Arc::new(Metered::new(self.store, self.config.instruments.clone(), Arc::clone(&stats))),
            stats,
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
    // What limits callers is for those who come through the public door.
    let transport = Transport { tls: None, ..Transport::of(&node.config) };
    let calls = node.config.instruments.calls();
    let front = AdminFront { admin, auth, health: health.clone(), reflection, transport, calls };
    front.serve(listener, stop.map(drop)).await
}
