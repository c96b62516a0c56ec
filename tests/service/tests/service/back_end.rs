//! What a back end decides on players: what the tests of bans and of players' data share.

use std::sync::atomic::{AtomicU64, Ordering};

use service_tests::{Caller, Cluster, soon};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, ErrorReason};

/// A request id that no other one of this process has.
pub(crate) fn fresh_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("back-end-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A ban for good of `players/{id}`.
pub(crate) fn ban_of(id: &str) -> v1::BanPlayerRequest {
    let (player, request_id) = (format!("players/{id}"), fresh_id());
    v1::BanPlayerRequest { player, request_id, reason: "case 4711".to_owned(), ttl: None }
}

pub(crate) async fn ban_with(
    backend: &Caller,
    request: v1::BanPlayerRequest,
) -> Result<Option<v1::PlayerBan>, Status> {
    Ok(soon("BanPlayer", backend.players().ban_player(request)).await?.into_inner().ban)
}

/// Bans a player for good.
pub(crate) async fn ban(cluster: &Cluster, node: usize, id: &str) {
    ban_with(&cluster.backend(node).await, ban_of(id)).await.unwrap().unwrap();
}

pub(crate) async fn unban_with(
    backend: &Caller,
    request: v1::UnbanPlayerRequest,
) -> Result<Option<v1::PlayerBan>, Status> {
    Ok(soon("UnbanPlayer", backend.players().unban_player(request)).await?.into_inner().ban)
}

/// Lifts a player's ban.
pub(crate) async fn unban(cluster: &Cluster, node: usize, id: &str) {
    let request = v1::UnbanPlayerRequest { player: format!("players/{id}"), request_id: fresh_id() };
    assert_eq!(unban_with(&cluster.backend(node).await, request).await.unwrap(), None);
}

/// Calls back a player's tokens, by a request of this id.
pub(crate) async fn revoke(backend: &Caller, id: &str, request_id: &str) -> v1::RevokePlayerTokensResponse {
    let (player, request_id) = (format!("players/{id}"), request_id.to_owned());
    let request = v1::RevokePlayerTokensRequest { player, request_id };
    soon("RevokePlayerTokens", backend.players().revoke_player_tokens(request)).await.unwrap().into_inner()
}

/// A page of what is kept of a player.
pub(crate) async fn export(backend: &Caller, id: &str, page_token: &str) -> v1::ExportPlayerResponse {
    let (player, page_token) = (format!("players/{id}"), page_token.to_owned());
    let request = v1::ExportPlayerRequest { player, page_size: 2, page_token };
    soon("ExportPlayer", backend.players().export_player(request)).await.unwrap().into_inner()
}

pub(crate) async fn delete(backend: &Caller, id: &str, request_id: &str) -> Result<(), Status> {
    let (player, request_id) = (format!("players/{id}"), request_id.to_owned());
    let request = v1::DeletePlayerRequest { player, request_id };
    soon("DeletePlayer", backend.players().delete_player(request)).await.map(drop)
}

/// The refusal of what would bring a banned player into a match: it names him.
pub(crate) fn is_banned(status: &Status, id: &str) {
    let error = ApiError::from_status(status).unwrap();
    assert_eq!(error.reason(), ErrorReason::PlayerBanned);
    assert_eq!(error.metadata("player"), Some(format!("players/{id}").as_str()));
}
