//! What goes wrong inside, as the error table says it.

use referee::{Match, Refusal};
use sealing::MatchId;
use store::StoreError;
use tracing::error;
use wire::ApiError;
use wire::v1::ErrorReason;

use super::match_name;

/// A store that could not answer.
pub(crate) fn store(error: StoreError) -> ApiError {
    match error {
        StoreError::Unavailable(_) => ApiError::new(ErrorReason::StoreUnavailable),
        StoreError::Full { .. } => ApiError::new(ErrorReason::Overloaded).with_message(&error.to_string()),
        StoreError::NotFound => ApiError::new(ErrorReason::NotFound),
    }
}

/// A store that could not answer about this resource. One that is not there is refused like one that is
/// not the caller's to see.
pub(crate) fn store_on(resource: &str, error: StoreError) -> ApiError {
    match error {
        StoreError::NotFound => ApiError::not_found(resource),
        StoreError::Unavailable(_) | StoreError::Full { .. } => store(error),
    }
}

/// Somebody else was faster every time.
pub(crate) fn contended() -> ApiError {
    ApiError::new(ErrorReason::Contended)
}

/// A command for a turn that the referee refused.
pub(crate) fn refusal_in_turn(refused: Refusal, game: &Match, turn: u32) -> ApiError {
    match refused {
        Refusal::HistoryRegressed => regressed(game),
        refused => refusal(refused, game.id).with_metadata("turn", &turn.to_string()),
    }
}

/// The caller knows another history of the match than the store has.
pub(crate) fn regressed(game: &Match) -> ApiError {
    ApiError::new(ErrorReason::HistoryRegressed)
        .with_metadata("resource", &match_name(game.id))
        .with_metadata("turn", &game.resolved.to_string())
}

/// A command that the referee refused.
pub(crate) fn refusal(refusal: Refusal, id: MatchId) -> ApiError {
    let reason = match refusal {
        Refusal::MatchNotStarted => ErrorReason::MatchNotStarted,
        Refusal::MatchFinished => ErrorReason::MatchFinished,
        Refusal::TurnClosed { .. } => ErrorReason::TurnClosed,
        Refusal::TurnNotOpenYet { .. } => ErrorReason::TurnNotOpenYet,
        Refusal::AlreadySealed { .. } => ErrorReason::AlreadySealed,
        Refusal::RequestIdReused => {
            let what = "it was used for another request; draw a new one for a new intent";
            return ApiError::field(ErrorReason::RequestIdReused, "request_id", what);
        }
        Refusal::CellOccupied => ErrorReason::CellOccupied,
        Refusal::SealModeMismatch => ErrorReason::SealModeMismatch,
        Refusal::SignatureInvalid => {
            return ApiError::field(ErrorReason::FieldInvalid, "player_signature", &refusal.to_string());
        }
        Refusal::NotInRevealPhase { .. } => ErrorReason::NotInRevealPhase,
        Refusal::CommitmentMismatch => ErrorReason::CommitmentMismatch,
        Refusal::NoOpenOffer => ErrorReason::NoOpenOffer,
        Refusal::AlreadyOffered => ErrorReason::AlreadyOffered,
        Refusal::HistoryRegressed => ErrorReason::HistoryRegressed,
        Refusal::Damaged => return fault("a stored match is damaged", id),
    };
    ApiError::precondition(reason, &match_name(id)).with_message(&refusal.to_string())
}

/// A fault of the server in one match.
pub(crate) fn fault(what: &str, id: MatchId) -> ApiError {
    incident(&format!("{what} ({})", match_name(id)))
}

/// A fault of the server: the caller gets an id to quote, the log what it stands for.
pub(crate) fn incident(what: &str) -> ApiError {
    let incident = uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string();
    error!(%incident, what, "fault");
    ApiError::internal(&incident)
}
