//! The operators' listener.

use std::future::Future;
use std::sync::Arc;

use futures::StreamExt as _;
use middleware::{Auth, AuthLayer, CallInstruments, DeadlineLayer, Door, ReasonLayer, TraceLayer};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::body::Body;
use tonic::service::Routes;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::map_response_body::MapResponseBodyLayer;
use wire::admin::v1::admin_service_server::AdminServiceServer;

use super::Admin;
use crate::front::{Panicked, REQUEST_BYTES_MAX};
use crate::health::Health;
use crate::listener;
use crate::server::ServeError;
use crate::transport::Transport;

/// Connections of operators at once: a few people, and what they watch with.
const CONNECTIONS_MAX: usize = 64;

/// Serves operators, on the runtime that it is polled on: what they ask is little, and must not wait for the threads
/// that serve players.
pub(crate) struct AdminFront {
    pub(crate) admin: Admin,
    pub(crate) auth: Auth,
    pub(crate) health: Health,
    /// Whether they may ask for the descriptors of their API.
    pub(crate) reflection: bool,
    /// How their connections are served.
    pub(crate) transport: Transport,
    /// What their calls are measured with.
    pub(crate) calls: CallInstruments,
}

impl AdminFront {
    /// Serves until `stop` resolves and the calls that are open then have ended. It goes on while the node drains:
    /// whoever drains it wants to see how far it has come.
    ///
    /// # Errors
    /// If the API cannot be set up.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let Self { admin, auth, health, reflection, transport, calls } = self;
        // The outermost first.
        let service = ServiceBuilder::new()
            .layer(MapResponseBodyLayer::new(Body::new))
            .layer(TraceLayer::new(calls))
            .layer(CatchPanicLayer::custom(Panicked))
            .layer(DeadlineLayer::default())
            .layer(AuthLayer::new(auth).at(Door::Operators))
            .layer(ReasonLayer)
            .service(routes(admin, &health, reflection)?.prepare());
        let refusals = Arc::clone(&transport.refusals);
        let incoming = listener::connections(listener, CONNECTIONS_MAX, CONNECTIONS_MAX, refusals);
        let incoming = incoming.filter_map(async |accepted| accepted.open(None)).boxed();
        let (stopping, stopped) = watch::channel(false);
        let stop = async {
            stop.await;
            stopping.send_replace(true);
        };
        futures::join!(transport.serve_all(incoming, service, stopped), stop);
        Ok(())
    }
}

fn routes(admin: Admin, health: &Health, reflection: bool) -> Result<Routes, ServeError> {
    let admin = AdminServiceServer::new(admin).max_decoding_message_size(REQUEST_BYTES_MAX);
    let routes = Routes::new(health.server()).add_service(admin);
    if !reflection {
        return Ok(routes);
    }
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(wire::admin::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Ok(routes.add_service(builder().build_v1()?).add_service(builder().build_v1alpha()?))
}
