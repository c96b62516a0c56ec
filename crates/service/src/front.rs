//! What meets a call: the layers, and the RPC services behind them.

use std::any::Any;
use std::sync::Arc;

use http::Response;
use middleware::{
    AuditLayer, Auth, AuthLayer, BrowserLayer, DeadlineLayer, LimitLayer, ReasonLayer, TraceLayer, Usages,
};
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tower::ServiceBuilder;
use tower_http::catch_panic::{CatchPanicLayer, ResponseForPanic};
use wire::v1::feed_service_server::FeedServiceServer;
use wire::v1::match_service_server::MatchServiceServer;
use wire::v1::matchmaking_service_server::MatchmakingServiceServer;
use wire::v1::player_service_server::PlayerServiceServer;

use crate::convert::errors;
use crate::drain::DrainLayer;
use crate::feed_service::Feed;
use crate::health::Health;
use crate::match_service::Matches;
use crate::matchmaking_service::Matchmaking;
use crate::node::Node;
use crate::player_service::Players;
use crate::server::ServeError;
use crate::stats::StatsLayer;
use crate::transport::Transport;
use crate::workers::Dealt;

/// The largest request, bytes: the longest one, an invite with all its settings, is below 2 KiB.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Serves connections, with layers and services of its own: every call has a copy of them, and what copies
/// share is counted. Two cores that count at one place take turns, which costs a call more than all its layers.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) node: Arc<Node>,
    pub(crate) health: Health,
    pub(crate) auth: Auth,
    /// Whether clients may ask for the API's descriptors.
    pub(crate) reflection: bool,
    /// How connections are served.
    pub(crate) transport: Transport,
    /// What principals use of all of the node.
    pub(crate) usages: Arc<Usages>,
    /// Unary calls in flight here, at most.
    pub(crate) in_flight_max: usize,
}

impl Front {
    /// Serves these connections until `draining` is set, or there are no more, and the last one has ended.
    ///
    /// # Errors
    /// If the API cannot be set up.
    pub(crate) async fn serve(
        self,
        incoming: Dealt,
        draining: watch::Receiver<bool>,
    ) -> Result<(), ServeError> {
        let refusals = Arc::clone(&self.transport.refusals);
        // The outermost first.
        let service = ServiceBuilder::new()
            .layer(BrowserLayer)
            .layer(TraceLayer::new(self.node.config.instruments.calls()))
            .layer(StatsLayer { stats: Arc::clone(&self.node.stats) })
            .layer(CatchPanicLayer::custom(Panicked))
            .layer(DeadlineLayer::default())
            .layer(DrainLayer::new(draining.clone()))
            .layer(AuthLayer::new(self.auth))
            .layer(LimitLayer::new(self.usages, self.in_flight_max, refusals))
            .layer(AuditLayer)
            .layer(ReasonLayer)
            .service(routes(&self.node, &self.health, self.reflection)?.prepare());
        self.transport.serve_all(incoming, service, draining).await;
        Ok(())
    }
}

/// The RPC services of a node.
///
/// # Errors
/// The reflection service refuses the descriptors.
pub(crate) fn routes(node: &Arc<Node>, health: &Health, reflection: bool) -> Result<Routes, ServeError> {
    let matches = MatchServiceServer::new(Matches { node: Arc::clone(node) });
    let matchmaking = MatchmakingServiceServer::new(Matchmaking::new(Arc::clone(node)));
    let players = PlayerServiceServer::new(Players { node: Arc::clone(node) });
    let feed = FeedServiceServer::new(Feed { node: Arc::clone(node) });
    let routes = Routes::new(health.server())
        .add_service(matches.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(matchmaking.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(players.max_decoding_message_size(REQUEST_BYTES_MAX))
        .add_service(feed.max_decoding_message_size(REQUEST_BYTES_MAX));
    if !reflection {
        return Ok(routes);
    }
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(wire::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Ok(routes.add_service(builder().build_v1()?).add_service(builder().build_v1alpha()?))
}

/// Answers a call whose handler panicked. What it panicked with stays in the process.
#[derive(Clone, Copy)]
pub(crate) struct Panicked;

impl ResponseForPanic for Panicked {
    type ResponseBody = Body;

    fn response_for_panic(&mut self, _cause: Box<dyn Any + Send + 'static>) -> Response<Body> {
        Status::from(errors::incident("a handler panicked")).into_http()
    }
}
