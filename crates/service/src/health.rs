//! What health checks are told.

use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use wire::v1::feed_service_server::SERVICE_NAME as FEED;
use wire::v1::match_service_server::SERVICE_NAME as MATCHES;
use wire::v1::matchmaking_service_server::SERVICE_NAME as MATCHMAKING;
use wire::v1::player_service_server::SERVICE_NAME as PLAYERS;

/// The name under which health checks learn that the process lives. It answers SERVING whatever the store does: a
/// restart mends no store.
const LIVENESS: &str = "liveness";

/// The health of a server, shared by its copies.
#[derive(Clone)]
pub(crate) struct Health(HealthReporter);

impl Health {
    /// That of a server that serves.
    pub(crate) async fn begun() -> Self {
        let health = Self(HealthReporter::new());
        health.0.set_service_status(LIVENESS, ServingStatus::Serving).await;
        health.serving().await;
        health
    }

    pub(crate) async fn serving(&self) {
        self.report(ServingStatus::Serving).await;
    }

    pub(crate) async fn not_serving(&self) {
        self.report(ServingStatus::NotServing).await;
    }

    /// The whole server (the empty name) and each service stand and fall together.
    async fn report(&self, status: ServingStatus) {
        for service in ["", MATCHES, MATCHMAKING, PLAYERS, FEED] {
            self.0.set_service_status(service, status).await;
        }
    }

    /// The service that tells it.
    pub(crate) fn server(&self) -> HealthServer<HealthService> {
        HealthServer::new(HealthService::from_health_reporter(self.0.clone()))
    }
}
