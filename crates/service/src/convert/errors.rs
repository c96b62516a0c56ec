//! What goes wrong inside, as the error table says it.

use referee::Refusal;
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

/// Somebody else was faster every time.
pub(crate) fn contended() -> ApiError {
    ApiError::new(ErrorReason::Contended)
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
