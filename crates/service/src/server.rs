//! The server: the RPC services behind their layers, from a listener to the end of its grace.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use http::Response;
use middleware::{
    ApiKeys, Auth, AuthLayer, BrowserLayer, DeadlineLayer, ReasonLayer, TokenIssuer, TraceLayer,
};
use store::keys::Signer;
use store::{Clock, NodeId, Store};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tower::ServiceBuilder;
use tower_http::catch_panic::{CatchPanicLayer, ResponseForPanic};
use tracing::warn;
use wire::v1::feed_service_server::FeedServiceServer;
use wire::v1::match_service_server::MatchServiceServer;
use wire::v1::matchmaking_service_server::MatchmakingServiceServer;
use wire::v1::player_service_server::PlayerServiceServer;

use crate::clockwork;
use crate::convert::errors;
use crate::drain::DrainLayer;
use crate::feed_service::Feed;
use crate::idempotency::RequestKeys;
use crate::listener;
use crate::match_service::Matches;
use crate::matchmaking_service::Matchmaking;
use crate::node::{Node, NodeConfig};
use crate::player_service::Players;
use crate::readiness::Readiness;
use crate::workers::{Dealt, Workers};

/// The largest request, bytes: the longest one, an invite with all its settings, is below 2 KiB.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Calls and streams open at once on one connection: a back end's whole fan-out, and a bound on what one
/// peer can make the server keep.
const STREAMS_PER_CONNECTION_MAX: u32 = 4_096;

/// Bytes of request headers: a token is at most 4 KiB.
const HEADER_BYTES_MAX: u32 = 16 * 1024;

/// Silence on a connection after which the server asks whether anybody is there, and how long it waits
/// for an answer. Phones vanish without a word.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// The name under which health checks learn that the process lives. It answers SERVING whatever the store does: a
/// restart mends no store.
const LIVENESS: &str = "liveness";

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
        let auth = self.auth();
        let reflection = self.reflection;
        let node = Arc::new(self.into_node(draining));
        let (health, routes) = routes(&node, reflection).await?;
        let NodeConfig { connections_max, first_bytes_timeout, workers, .. } = node.config;
        let incoming = listener::connections(listener, connections_max, first_bytes_timeout);
        let layers = (DrainLayer::new(drain.subscribe()), AuthLayer::new(auth));
        let serve = |dealt: Dealt| {
            let mut stopping = drain.subscribe();
            let stop = async move {
                // An error says that the sender is gone, and then the server is to stop as well.
                let _ = stopping.wait_for(|stopping| *stopping).await;
            };
            transport(layers.clone(), routes.clone(), dealt, stop)
        };
        let mut workers = Workers::start(workers, serve)?;
        let serving = async {
            match node.config.workers {
                0 => serve(incoming.filter_map(async |accepted| accepted.open(None)).boxed()).await,
                _ => workers.serve(incoming).await,
            }
        };
        let id = NodeId(rand::random());
        let readiness = Arc::new(Readiness::new(Arc::clone(&node.clock)));
        let (store, clock) = (Arc::clone(&node.store), Arc::clone(&node.clock));
        let ticking = clockwork::run(id, store, clock, Some(Arc::clone(&readiness)));
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

    fn auth(&self) -> Auth {
        let clock = Arc::clone(&self.clock);
        Auth {
            verifier: Arc::new(self.issuer.verifier()),
            api_keys: self.api_keys.clone(),
            dev: self.config.dev,
            clock: Arc::new(move || clock.now_ms()),
        }
    }

    pub(crate) fn into_node(self, draining: watch::Receiver<bool>) -> Node {
        Node {
            store: self.store,
            clock: self.clock,
            config: self.config,
            issuer: Arc::new(self.issuer),
            signer: self.signer,
            histories: Arc::default(),
            keys: RequestKeys::new(self.request_secret),
            draining,
        }
    }
}

/// Runs the transport with its layers, the outermost first, until `stop` and the last call.
async fn transport(
    (drain, auth): (DrainLayer, AuthLayer),
    routes: Routes,
    incoming: Dealt,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let layers = ServiceBuilder::new()
        .layer(BrowserLayer)
        .layer(TraceLayer)
        .layer(CatchPanicLayer::custom(Panicked))
        .layer(DeadlineLayer::default())
        .layer(drain)
        .layer(auth)
        .layer(ReasonLayer)
        .into_inner();
    tonic::transport::Server::builder()
        .accept_http1(true)
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .http2_max_header_list_size(HEADER_BYTES_MAX)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .layer(layers)
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, stop)
        .await?;
    Ok(())
}

/// The API on one health-checked set of routes.
pub(crate) async fn routes(node: &Arc<Node>, reflection: bool) -> Result<(Health, Routes), ServeError> {
    let (reporter, health) = tonic_health::server::health_reporter();
    let mut routes = Routes::new(health);
    let matches = MatchServiceServer::new(Matches { node: Arc::clone(node) });
    let matchmaking = MatchmakingServiceServer::new(Matchmaking::new(Arc::clone(node)));
    let players = PlayerServiceServer::new(Players { node: Arc::clone(node) });
    routes = routes
        .add_service(matches.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(matchmaking.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(players.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(
            FeedServiceServer::new(Feed { node: Arc::clone(node) })
                .max_decoding_message_size(REQUEST_BYTES_MAX),
        );
    if reflection {
        let builder = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(wire::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        routes = routes.add_service(builder().build_v1()?).add_service(builder().build_v1alpha()?);
    }
    reporter.set_service_status(LIVENESS, ServingStatus::Serving).await;
    let health = Health(reporter);
    health.serving().await;
    Ok((health, routes))
}

/// What health checks are told.
pub(crate) struct Health(tonic_health::server::HealthReporter);

impl Health {
    pub(crate) async fn serving(&self) {
        self.report(ServingStatus::Serving).await;
    }

    pub(crate) async fn not_serving(&self) {
        self.report(ServingStatus::NotServing).await;
    }

    /// The whole server (the empty name) and each service stand and fall together.
    async fn report(&self, status: ServingStatus) {
        let services = [
            "",
            wire::v1::match_service_server::SERVICE_NAME,
            wire::v1::matchmaking_service_server::SERVICE_NAME,
            wire::v1::player_service_server::SERVICE_NAME,
            wire::v1::feed_service_server::SERVICE_NAME,
        ];
        for service in services {
            self.0.set_service_status(service, status).await;
        }
    }
}

/// Answers a call whose handler panicked. What it panicked with stays in the process.
#[derive(Clone, Copy)]
struct Panicked;

impl ResponseForPanic for Panicked {
    type ResponseBody = Body;

    fn response_for_panic(&mut self, _cause: Box<dyn Any + Send + 'static>) -> Response<Body> {
        Status::from(errors::incident("a handler panicked")).into_http()
    }
}
