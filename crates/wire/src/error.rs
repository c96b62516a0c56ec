//! The API's errors: one table, and what goes over the wire.

use std::collections::HashMap;
use std::time::Duration;

use thiserror::Error;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, PreconditionViolation, StatusExt as _};

use crate::v1::ErrorReason;

/// The domain of every `ErrorInfo` of this API.
pub const ERROR_DOMAIN: &str = "whattheshell";

/// What the enum's names begin with; the reason on the wire is the name without it.
const REASON_PREFIX: &str = "ERROR_REASON_";

/// The metadata key by which gRPC's own retries learn how long to wait, ms.
pub const METADATA_RETRY_PUSHBACK: &str = "grpc-retry-pushback-ms";

/// The most fields an error lists: details travel in trailers, and clients refuse more than 8 KiB of them.
const VIOLATIONS_MAX: usize = 6;

/// The most metadata an error carries, for the same reason.
const METADATA_MAX: usize = 4;

/// The most bytes of a text in an error, for the same reason.
const TEXT_BYTES_MAX: usize = 200;

/// One row of the error table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorRow {
    /// The reason.
    pub reason: ErrorReason,
    /// Its gRPC code.
    pub code: Code,
    /// What is wrong and what to do next, unless the place that fails knows better.
    pub message: &'static str,
    /// When to try again, unless the place that fails knows better. None: not at all, or not before
    /// something has changed.
    pub retry_delay: Option<Duration>,
}

impl ErrorRow {
    /// The row of a reason. A reason that is never sent has that of [`ErrorReason::Internal`].
    #[must_use]
    pub const fn of(reason: ErrorReason) -> Self {
        let (code, message, retry_delay_ms) = entry(reason);
        let retry_delay = match retry_delay_ms {
            Some(delay_ms) => Some(Duration::from_millis(delay_ms)),
            None => None,
        };
        Self { reason, code, message, retry_delay }
    }

    /// The reason as `ErrorInfo` carries it: the enum's name without its prefix.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let name = self.reason.as_str_name();
        name.strip_prefix(REASON_PREFIX).unwrap_or(name)
    }
}

/// The whole table, in the order of the enum.
pub fn error_rows() -> impl Iterator<Item = ErrorRow> {
    let first = ErrorReason::Unspecified as i32 + 1;
    (first..).map_while(|number| ErrorReason::try_from(number).ok()).map(ErrorRow::of)
}

/// The table itself: code, message, retry delay in ms.
const fn entry(reason: ErrorReason) -> (Code, &'static str, Option<u64>) {
    use ErrorReason as R;
    match reason {
        R::FieldRequired => (Code::InvalidArgument, "a required field is empty; set it", None),
        R::FieldInvalid => (Code::InvalidArgument, "a field is out of range; correct it", None),
        R::CellOutOfRange => (Code::InvalidArgument, "a cell is a number from 1 to 81", None),
        R::SaltInvalid => (Code::InvalidArgument, "a salt is 32 random bytes; draw one for each turn", None),
        R::CommitmentMalformed => (Code::InvalidArgument, "a commitment is 32 bytes", None),
        R::SettingsInvalid => (Code::InvalidArgument, "no match can have these settings; correct them", None),
        R::PageTokenInvalid => {
            (Code::InvalidArgument, "the page token is not one of this list; start without one", None)
        }
        R::RequestIdReused => (
            Code::InvalidArgument,
            "the request id was used for another request, whose effect stands; draw a new one",
            None,
        ),

        R::NotFound => (Code::NotFound, "there is no such resource, or you may not see it", None),

        R::MatchNotStarted => {
            (Code::FailedPrecondition, "the match has not started; wait until both have joined", None)
        }
        R::MatchFinished => (Code::FailedPrecondition, "the match is over; read its result", None),
        R::TurnClosed => (Code::FailedPrecondition, "the turn has passed; seal the open one", None),
        R::TurnNotOpenYet => (Code::FailedPrecondition, "the turn is not open yet; wait for it", None),
        R::AlreadySealed => {
            (Code::FailedPrecondition, "this turn is sealed already and a seal is final; wait", None)
        }
        R::CellOccupied => (Code::FailedPrecondition, "the cell is occupied; choose an empty one", None),
        R::SealModeMismatch => {
            (Code::FailedPrecondition, "the match is played in the other seal mode; read its settings", None)
        }
        R::NotInRevealPhase => {
            (Code::FailedPrecondition, "there is nothing to reveal now; wait for both commitments", None)
        }
        R::CommitmentMismatch => (
            Code::FailedPrecondition,
            "cell and salt do not fit the commitment; reveal the ones it was made of",
            None,
        ),
        R::NoOpenOffer => (Code::FailedPrecondition, "there is no such draw offer, or it has lapsed", None),
        R::AlreadyOffered => {
            (Code::FailedPrecondition, "a draw was offered in this turn; wait for the next", None)
        }
        R::InviteNotOpen => (Code::FailedPrecondition, "the invite is not open any more; read it", None),
        R::TicketNotOpen => (Code::FailedPrecondition, "the ticket is not open any more; read it", None),
        R::AlreadyInMatch => (
            Code::FailedPrecondition,
            "the player is in a ranked match, or looks for one; finish or cancel it",
            None,
        ),

        R::NotAParticipant => (Code::PermissionDenied, "this is for those who take part", None),
        R::ScopeMissing => {
            (Code::PermissionDenied, "the credential does not allow this call; get one that does", None)
        }
        R::GuardianRequired => {
            (Code::PermissionDenied, "this needs an adult's or a guardian's account", None)
        }
        R::PlayerBanned => (Code::PermissionDenied, "the player is banned; ask who runs the game", None),

        R::TokenMissing => (Code::Unauthenticated, "send `authorization: Bearer <token>`", None),
        R::TokenInvalid => (Code::Unauthenticated, "the token is not valid here; get another", None),
        R::TokenExpired => {
            (Code::Unauthenticated, "the token has expired or was called back; get another", None)
        }

        R::RateLimited => (Code::ResourceExhausted, "too many calls; slow down", Some(1_000)),
        R::TicketLimit => {
            (Code::ResourceExhausted, "too many tickets or invites; close some or wait", Some(10_000))
        }
        R::StreamLimit => (Code::ResourceExhausted, "too many streams; close one", Some(5_000)),
        R::Overloaded => (Code::ResourceExhausted, "the server is overloaded; try again", Some(1_000)),

        R::HistoryRegressed => (
            Code::DataLoss,
            "the match's history here is another than yours; drop yours and read the match again",
            None,
        ),
        R::FeedTrimmed => {
            (Code::DataLoss, "the feed no longer has what follows the cursor; start without one", None)
        }

        R::StoreUnavailable => {
            (Code::Unavailable, "the store does not answer; repeat with the same request id", Some(500))
        }
        R::ShuttingDown => (Code::Unavailable, "this node is going down; try another", Some(100)),
        R::ResumeElsewhere => {
            (Code::Unavailable, "open the stream again, from the last turn you got", Some(100))
        }
        R::Contended => (Code::Unavailable, "others changed the same thing meanwhile; try again", Some(50)),

        R::DeadlineExceeded => (
            Code::DeadlineExceeded,
            "the deadline passed and the effect is unknown; repeat with the same request id",
            None,
        ),
        R::Unimplemented => (Code::Unimplemented, "this server does not offer this", None),
        R::Unspecified | R::Internal => (Code::Internal, "a fault of the server; report it", None),
    }
}

/// What is wrong with one field of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldViolation {
    /// The path of the field: `open.cell`.
    pub field: String,
    /// What it must be. Never the value that came: it may be secret.
    pub description: String,
}

/// An error of the API: on the server on its way to a client, on a client as it came.
///
/// ```
/// use wire::{ApiError, v1::ErrorReason};
///
/// let error = ApiError::field(ErrorReason::CellOutOfRange, "open.cell", "must be from 1 to 81");
/// let status = tonic::Status::from(error.clone());
/// assert_eq!(status.code(), tonic::Code::InvalidArgument);
/// assert_eq!(ApiError::from_status(&status), Some(error));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}: {}", .0.name, .0.message)]
pub struct ApiError(Box<Parts>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Parts {
    reason: ErrorReason,
    name: String,
    code: Code,
    message: String,
    fields: Vec<FieldViolation>,
    subject: Option<String>,
    metadata: HashMap<String, String>,
    retry_delay: Option<Duration>,
}

impl ApiError {
    /// An error as its row in the table says.
    #[must_use]
    pub fn new(reason: ErrorReason) -> Self {
        // A reason that is never sent would be one more thing for a client to puzzle over.
        let reason = if reason == ErrorReason::Unspecified { ErrorReason::Internal } else { reason };
        let row = ErrorRow::of(reason);
        Self(Box::new(Parts {
            reason,
            name: row.name().to_owned(),
            code: row.code,
            message: row.message.to_owned(),
            fields: Vec::new(),
            subject: None,
            metadata: HashMap::new(),
            retry_delay: row.retry_delay,
        }))
    }

    /// A field of the request is at fault: `description` says what it must be, and never repeats what
    /// came.
    #[must_use]
    pub fn field(reason: ErrorReason, field: &str, description: &str) -> Self {
        Self::new(reason).with_message(&format!("{field}: {description}")).and_field(field, description)
    }

    /// A required field is empty.
    #[must_use]
    pub fn required(field: &str) -> Self {
        Self::field(ErrorReason::FieldRequired, field, "is required")
    }

    /// The resource (`matches/0190…`) is not in the state that the call needs.
    #[must_use]
    pub fn precondition(reason: ErrorReason, subject: &str) -> Self {
        let mut error = Self::new(reason);
        error.0.subject = Some(bounded(subject));
        error
    }

    /// There is no such resource, or the caller may not know that there is.
    #[must_use]
    pub fn not_found(resource: &str) -> Self {
        Self::new(ErrorReason::NotFound).with_metadata("resource", resource)
    }

    /// A fault of the server. The log has the rest under `incident`; the client gets nothing else.
    #[must_use]
    pub fn internal(incident: &str) -> Self {
        Self::new(ErrorReason::Internal)
            .with_message(&format!("a fault of the server; report incident {incident}"))
            .with_metadata("incident", incident)
    }

    /// A stream of a match that must end early: the client resumes after this turn.
    #[must_use]
    pub fn resume_after(reason: ErrorReason, turn: u32) -> Self {
        Self::new(reason).with_metadata("after_turn", &turn.to_string())
    }

    /// Replaces the table's message.
    #[must_use]
    pub fn with_message(mut self, message: &str) -> Self {
        self.0.message = bounded(message);
        self
    }

    /// Adds a field that is at fault; more than 6 are dropped.
    #[must_use]
    pub fn and_field(mut self, field: &str, description: &str) -> Self {
        if self.0.fields.len() < VIOLATIONS_MAX {
            self.0.fields.push(FieldViolation { field: bounded(field), description: bounded(description) });
        }
        self
    }

    /// Adds a fact for programs; more than 4 are dropped. Public, and never dependent on a sealed cell.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: &str) -> Self {
        if self.0.metadata.len() < METADATA_MAX || self.0.metadata.contains_key(key) {
            self.0.metadata.insert(bounded(key), bounded(value));
        }
        self
    }

    /// Replaces the table's delay before the next try.
    #[must_use]
    pub fn with_retry_delay(mut self, delay: Duration) -> Self {
        self.0.retry_delay = Some(delay);
        self
    }

    /// The reason; [`ErrorReason::Unspecified`] for one that a newer server sent: see [`Self::name`].
    #[must_use]
    pub fn reason(&self) -> ErrorReason {
        self.0.reason
    }

    /// The reason's name as it goes over the wire: `CELL_OUT_OF_RANGE`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The gRPC code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What is wrong, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The fields at fault.
    #[must_use]
    pub fn fields(&self) -> &[FieldViolation] {
        &self.0.fields
    }

    /// The resource that is not in the state that the call needs.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// A fact for programs.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.0.metadata.get(key).map(String::as_str)
    }

    /// The turn after which a stream that ended early is to be resumed.
    #[must_use]
    pub fn after_turn(&self) -> Option<u32> {
        self.metadata("after_turn")?.parse().ok()
    }

    /// When to try again.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        self.0.retry_delay
    }

    /// The error in a status of this API. None: the status is not this API's (a proxy's, the
    /// transport's) or its details do not decode.
    #[must_use]
    pub fn from_status(status: &Status) -> Option<Self> {
        let details = status.check_error_details().ok()?;
        let info = details.error_info().filter(|info| info.domain == ERROR_DOMAIN)?;
        let reason = ErrorReason::from_str_name(&format!("{REASON_PREFIX}{}", info.reason));
        let fields = details.bad_request().map_or(&[][..], |bad| &bad.field_violations);
        let failures = details.precondition_failure().map_or(&[][..], |failure| &failure.violations);
        Some(Self(Box::new(Parts {
            reason: reason.unwrap_or(ErrorReason::Unspecified),
            name: info.reason.clone(),
            code: status.code(),
            message: status.message().to_owned(),
            fields: fields
                .iter()
                .map(|violation| FieldViolation {
                    field: violation.field.clone(),
                    description: violation.description.clone(),
                })
                .collect(),
            subject: failures.first().map(|violation| violation.subject.clone()),
            metadata: info.metadata.clone(),
            retry_delay: details.retry_info().and_then(|retry| retry.retry_delay),
        })))
    }
}

impl From<ApiError> for Status {
    fn from(ApiError(parts): ApiError) -> Self {
        let mut details = ErrorDetails::new();
        details.set_error_info(&parts.name, ERROR_DOMAIN, parts.metadata);
        if parts.code == Code::InvalidArgument {
            details.set_bad_request(
                parts
                    .fields
                    .into_iter()
                    .map(|violation| field_violation(violation, &parts.name))
                    .collect::<Vec<_>>(),
            );
        }
        if parts.code == Code::FailedPrecondition {
            let subject = parts.subject.unwrap_or_default();
            let violation = PreconditionViolation::new(&parts.name, subject, &parts.message);
            details.set_precondition_failure(vec![violation]);
        }
        if parts.retry_delay.is_some() {
            details.set_retry_info(parts.retry_delay);
        }
        let mut status = Self::with_error_details(parts.code, parts.message, details);
        if let (Code::Unavailable, Some(delay)) = (parts.code, parts.retry_delay) {
            let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            status.metadata_mut().insert(METADATA_RETRY_PUSHBACK, MetadataValue::from(delay_ms));
        }
        status
    }
}

fn field_violation(violation: FieldViolation, reason: &str) -> tonic_types::FieldViolation {
    let mut wire = tonic_types::FieldViolation::new(violation.field, violation.description);
    wire.reason = reason.to_owned();
    wire
}

/// The text, cut at a character if it is too long for a trailer.
fn bounded(text: &str) -> String {
    let longest = text.len().min(TEXT_BYTES_MAX);
    let end = (0..=longest).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}
