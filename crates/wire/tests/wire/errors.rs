//! Every error reason: its code, its details, and its way to a client and back.

use std::collections::BTreeMap;
use std::time::Duration;

use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::{ErrorDetail, StatusExt as _};
use wire::v1::ErrorReason;
use wire::{ApiError, ErrorRow, METADATA_RETRY_PUSHBACK, error_rows};

/// The reasons by code, as the API's documentation lists them.
const BY_CODE: [(Code, &[&str]); 11] = [
    (
        Code::InvalidArgument,
        &[
            "FIELD_REQUIRED",
            "FIELD_INVALID",
            "CELL_OUT_OF_RANGE",
            "SALT_INVALID",
            "COMMITMENT_MALFORMED",
            "SETTINGS_INVALID",
            "PAGE_TOKEN_INVALID",
            "REQUEST_ID_REUSED",
        ],
    ),
    (Code::NotFound, &["NOT_FOUND"]),
    (
        Code::FailedPrecondition,
        &[
            "MATCH_NOT_STARTED",
            "MATCH_FINISHED",
            "TURN_CLOSED",
            "TURN_NOT_OPEN_YET",
            "ALREADY_SEALED",
            "CELL_OCCUPIED",
            "SEAL_MODE_MISMATCH",
            "NOT_IN_REVEAL_PHASE",
            "COMMITMENT_MISMATCH",
            "NO_OPEN_OFFER",
            "ALREADY_OFFERED",
            "INVITE_NOT_OPEN",
            "TICKET_NOT_OPEN",
            "ALREADY_IN_MATCH",
        ],
    ),
    (Code::PermissionDenied, &["NOT_A_PARTICIPANT", "SCOPE_MISSING", "GUARDIAN_REQUIRED", "PLAYER_BANNED"]),
    (Code::Unauthenticated, &["TOKEN_MISSING", "TOKEN_INVALID", "TOKEN_EXPIRED"]),
    (Code::ResourceExhausted, &["RATE_LIMITED", "TICKET_LIMIT", "STREAM_LIMIT", "OVERLOADED"]),
    (Code::DataLoss, &["HISTORY_REGRESSED", "FEED_TRIMMED"]),
    (Code::Unavailable, &["STORE_UNAVAILABLE", "SHUTTING_DOWN", "RESUME_ELSEWHERE", "CONTENDED"]),
    (Code::DeadlineExceeded, &["DEADLINE_EXCEEDED"]),
    (Code::Unimplemented, &["UNIMPLEMENTED"]),
    (Code::Internal, &["INTERNAL"]),
];

/// The error of a row as the service would make it.
fn example(row: &ErrorRow) -> ApiError {
    match row.code {
        Code::InvalidArgument => ApiError::field(row.reason, "open.cell", "must be from 1 to 81"),
        Code::FailedPrecondition => {
            ApiError::precondition(row.reason, "matches/m1").with_metadata("turn", "8")
        }
        _ => ApiError::new(row.reason),
    }
}

#[test]
fn every_reason_has_one_row_with_its_code() {
    let mut expected = BTreeMap::new();
    for (code, names) in BY_CODE {
        expected.extend(names.iter().map(|name| (*name, code)));
    }
    let rows: Vec<_> = error_rows().collect();
    let actual: BTreeMap<_, _> = rows.iter().map(|row| (row.name(), row.code)).collect();
    assert_eq!(actual, expected);
    assert_eq!(rows.len(), expected.len(), "no reason twice");
    assert_eq!(rows.len(), declared_reasons() - 1, "every value but the unspecified one");
}

fn declared_reasons() -> usize {
    let set = prost_types::FileDescriptorSet::decode(wire::FILE_DESCRIPTOR_SET).unwrap();
    let mut enums = set.file.into_iter().flat_map(|file| file.enum_type);
    enums.find(|candidate| candidate.name() == "ErrorReason").unwrap().value.len()
}

#[test]
fn every_error_has_one_error_info_and_the_details_of_its_code() {
    for row in error_rows() {
        let status = Status::from(example(&row));
        assert_eq!(status.code(), row.code);
        assert!(!status.message().is_empty());
        let (mut infos, mut fields, mut preconditions, mut retries) = (0, 0, 0, 0);
        for detail in status.get_error_details_vec() {
            match detail {
                ErrorDetail::ErrorInfo(info) => {
                    infos += 1;
                    assert_eq!((info.domain.as_str(), info.reason.as_str()), ("whattheshell", row.name()));
                }
                ErrorDetail::BadRequest(bad) => {
                    fields += 1;
                    assert_eq!(bad.field_violations[0].field, "open.cell");
                    assert_eq!(bad.field_violations[0].reason, row.name());
                }
                ErrorDetail::PreconditionFailure(failure) => {
                    preconditions += 1;
                    assert_eq!(failure.violations[0].r#type, row.name());
                    assert_eq!(failure.violations[0].subject, "matches/m1");
                }
                ErrorDetail::RetryInfo(retry) => {
                    retries += 1;
                    assert_eq!(retry.retry_delay, row.retry_delay);
                }
                other => panic!("{}: {other:?}", row.name()),
            }
        }
        let later = matches!(row.code, Code::Unavailable | Code::ResourceExhausted);
        let expected = (
            1,
            u32::from(row.code == Code::InvalidArgument),
            u32::from(row.code == Code::FailedPrecondition),
            u32::from(later),
        );
        assert_eq!((infos, fields, preconditions, retries), expected, "{}", row.name());
        let pushback = status.metadata().get(METADATA_RETRY_PUSHBACK);
        assert_eq!(pushback.is_some(), row.code == Code::Unavailable, "{}", row.name());
    }
}

#[test]
fn an_error_comes_back_as_it_was_sent() {
    for row in error_rows() {
        let error = example(&row);
        assert_eq!(ApiError::from_status(&Status::from(error.clone())), Some(error));
    }
    let error =
        ApiError::resume_after(ErrorReason::ResumeElsewhere, 8).with_retry_delay(Duration::from_millis(30));
    let status = Status::from(error);
    assert_eq!(status.metadata().get(METADATA_RETRY_PUSHBACK).unwrap(), "30");
    let back = ApiError::from_status(&status).unwrap();
    assert_eq!((back.after_turn(), back.retry_delay()), (Some(8), Some(Duration::from_millis(30))));
    assert_eq!(back.to_string(), format!("RESUME_ELSEWHERE: {}", back.message()));
}

#[test]
fn an_internal_error_tells_its_incident_and_nothing_else() {
    let status = Status::from(ApiError::internal("0190-17"));
    let error = ApiError::from_status(&status).unwrap();
    assert_eq!(error.metadata("incident"), Some("0190-17"));
    assert_eq!((error.fields(), error.subject()), (&[][..], None));
}

#[test]
fn a_reason_of_a_newer_server_keeps_its_name() {
    let mut details = tonic_types::ErrorDetails::new();
    details.set_error_info("BOARD_ON_FIRE", wire::ERROR_DOMAIN, std::collections::HashMap::new());
    let status = Status::with_error_details(Code::FailedPrecondition, "run", details);
    let error = ApiError::from_status(&status).unwrap();
    assert_eq!(error.reason(), ErrorReason::Unspecified);
    assert_eq!((error.name(), error.code()), ("BOARD_ON_FIRE", Code::FailedPrecondition));
}

#[test]
fn a_status_of_somebody_else_is_no_error_of_this_api() {
    assert_eq!(ApiError::from_status(&Status::unavailable("connection refused")), None);
    let garbage = Status::with_details(Code::Internal, "", vec![0xff; 9].into());
    assert_eq!(ApiError::from_status(&garbage), None);
    let mut details = tonic_types::ErrorDetails::new();
    details.set_error_info("NOT_FOUND", "other.example", std::collections::HashMap::new());
    assert_eq!(ApiError::from_status(&Status::with_error_details(Code::NotFound, "", details)), None);
}

#[test]
fn the_largest_error_fits_into_the_trailers_of_every_client() {
    let long = "ü".repeat(10_000);
    let mut error = ApiError::field(ErrorReason::FieldInvalid, &long, &long).with_message(&long);
    for number in 0..100 {
        error = error.and_field(&long, &long).with_metadata(&format!("{number}{long}"), &long);
    }
    let status = Status::from(error);
    let trailers = status.details().len().div_ceil(3) * 4 + status.message().len() * 3;
    assert!(trailers < 8 * 1024, "{trailers} bytes");
}
