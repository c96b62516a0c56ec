//! How a player calls: any node, again with the same request until he has an answer.

use std::future::Future;
use std::sync::Arc;

use middleware::{PlayerPrincipal, Principal, Scope};
use tonic::{Response, Status};
use wire::ApiError;
use wire::v1::ErrorReason;
use wire::v1::match_service_client::MatchServiceClient;
use wire::v1::matchmaking_service_client::MatchmakingServiceClient;

use crate::network::{Line, Network};

/// How long a player waits for one try, ms.
const TRY_MS: u64 = 2_500;

/// Pause between two tries at most, ms.
const PAUSE_MS: u64 = 400;

/// Tries of one request. Bad times end long before.
const TRIES_MAX: u32 = 400;

/// A player's clients to one node.
pub(crate) struct Clients {
    pub(crate) matches: MatchServiceClient<Line>,
    pub(crate) matchmaking: MatchmakingServiceClient<Line>,
}

/// Somebody who calls.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) network: Arc<Network>,
    /// `players/{player}`.
    pub(crate) player: String,
}

impl Caller {
    /// A node, drawn, and this player's clients to it.
    pub(crate) fn clients(&self, doubles: bool) -> (usize, Clients) {
        let node = self.network.handle.below(self.network.nodes.len() as u64) as usize;
        (node, self.clients_to(node, doubles))
    }

    /// This player's clients to one node.
    pub(crate) fn clients_to(&self, node: usize, doubles: bool) -> Clients {
        let principal = Principal::Player(PlayerPrincipal {
            player: self.player.clone(),
            scopes: Scope::ALL.to_vec(),
            public_key: None,
            issued_ms: u64::MAX,
            expires_ms: u64::MAX,
            age: None,
            is_sheltered: false,
        });
        let line = Line { network: Arc::clone(&self.network), node, principal, doubles };
        Clients {
            matches: MatchServiceClient::new(line.clone()),
            matchmaking: MatchmakingServiceClient::new(line),
        }
    }

    /// Calls until there is an answer that stands: success, or a refusal that trying again would not change.
    /// None if there is none after many tries.
    pub(crate) async fn ask<Q, T, F>(
        &self,
        what: &str,
        request: &Q,
        call: impl Fn(Clients, Q) -> F,
    ) -> Option<Result<T, ApiError>>
    where
        Q: Clone,
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let handle = &self.network.handle;
        for _ in 0..TRIES_MAX {
            let (node, clients) = self.clients(true);
            let outcome = handle.within(TRY_MS, call(clients, request.clone())).await;
            handle.note(|| format!("{} at node {node}: {what}: {}", self.player, told(outcome.as_ref())));
            match outcome {
                Some(Ok(response)) => return Some(Ok(response.into_inner())),
                Some(Err(status)) => match ApiError::from_status(&status) {
                    Some(error) if stands(error.reason()) => return Some(Err(error)),
                    _ => {}
                },
                None => {}
            }
            handle.sleep(handle.below(PAUSE_MS)).await;
        }
        None
    }
}

/// Whether a refusal would be the same again.
fn stands(reason: ErrorReason) -> bool {
    !matches!(
        reason,
        ErrorReason::StoreUnavailable
            | ErrorReason::Contended
            | ErrorReason::ShuttingDown
            | ErrorReason::ResumeElsewhere
            | ErrorReason::Overloaded
    )
}

/// An outcome in a word.
pub(crate) fn told<T>(outcome: Option<&Result<T, Status>>) -> String {
    match outcome {
        None => "no answer in time".to_owned(),
        Some(Ok(_)) => "ok".to_owned(),
        Some(Err(status)) => match ApiError::from_status(status) {
            Some(error) => error.name().to_owned(),
            None => format!("{:?}", status.code()),
        },
    }
}
