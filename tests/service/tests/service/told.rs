//! What a refusal tells, against the error table.

use prost::Message;
use tonic::{Code, Status};
use wire::v1::ErrorReason;
use wire::{ApiError, ErrorRow};

/// `google.rpc.Status`, as far as it is looked at here.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The types of a status's details, in order.
fn details_of(status: &Status) -> Vec<String> {
    let decoded = RpcStatus::decode(status.details()).expect("details are a google.rpc.Status");
    let name = |detail: prost_types::Any| detail.type_url.rsplit('/').next().unwrap_or_default().to_owned();
    decoded.details.into_iter().map(name).collect()
}

/// The error that a refusal is: a row of the table with what belongs to its code, and nothing else.
pub(crate) fn assert_is_in_the_table(what: &str, status: &Status) -> ApiError {
    let error = ApiError::from_status(status);
    let error = error.unwrap_or_else(|| panic!("{what} is refused without a reason: {status:?}"));
    let reason = error.reason();
    assert_ne!(reason, ErrorReason::Unspecified, "{what}: {status:?}");
    assert_eq!(status.code(), ErrorRow::of(reason).code, "{what}: {status:?}");
    let also: &[&str] = match status.code() {
        Code::InvalidArgument => &["google.rpc.BadRequest"],
        Code::FailedPrecondition => &["google.rpc.PreconditionFailure"],
        Code::Unavailable | Code::ResourceExhausted => &["google.rpc.RetryInfo"],
        _ => &[],
    };
    let mut details = details_of(status);
    details.sort();
    let mut expected = [&["google.rpc.ErrorInfo"], also].concat();
    expected.sort_unstable();
    assert_eq!(details, expected, "{what}: {status:?}");
    error
}
