//! The operators' listener.

use std::future::Future;
use std::time::Duration;

use futures::StreamExt as _;
use middleware::{Auth, AuthLayer, DeadlineLayer, Door, ReasonLayer, TraceLayer};
use tokio::net::TcpListener;
use tonic::service::Routes;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use wire::admin::v1::admin_service_server::AdminServiceServer;

use super::Admin;
use crate::front::{HEADER_BYTES_MAX, KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT, Panicked, REQUEST_BYTES_MAX};
use crate::health::Health;
use crate::listener;
use crate::server::ServeError;

/// Connections of operators at once: a few people, and what they watch with.
const CONNECTIONS_MAX: usize = 64;

/// Calls open at once on one of their connections.
const CALLS_PER_CONNECTION_MAX: u32 = 64;

/// Serves operators, on the runtime that it is polled on: what they ask is little, and must not wait for the threads
/// that serve players.
pub(crate) struct AdminFront {
    pub(crate) admin: Admin,
    pub(crate) auth: Auth,
    pub(crate) health: Health,
    /// Whether they may ask for the descriptors of their API.
    pub(crate) reflection: bool,
    /// How long a connection may be open without a word.
    pub(crate) first_bytes_timeout: Duration,
}

impl AdminFront {
    /// Serves until `stop` resolves and the calls that are open then have ended. It goes on while the node drains:
    /// whoever drains it wants to see how far it has come.
    ///
    /// # Errors
    /// If the API cannot be set up or the transport fails.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let Self { admin, auth, health, reflection, first_bytes_timeout } = self;
        // The outermost first.
        let layers = ServiceBuilder::new()
            .layer(TraceLayer)
            .layer(CatchPanicLayer::custom(Panicked))
            .layer(DeadlineLayer::default())
            .layer(AuthLayer::new(auth).at(Door::Operators))
            .layer(ReasonLayer)
            .into_inner();
        let incoming = listener::connections(listener, CONNECTIONS_MAX, first_bytes_timeout);
        let incoming = incoming.filter_map(async |accepted| accepted.open(None)).boxed();
        tonic::transport::Server::builder()
            .max_concurrent_streams(CALLS_PER_CONNECTION_MAX)
            .http2_max_header_list_size(HEADER_BYTES_MAX)
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            .layer(layers)
            .add_routes(routes(admin, &health, reflection)?)
            .serve_with_incoming_shutdown(incoming, stop)
            .await?;
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
