//! Every refusal has a reason, also the transport's own.

use std::convert::Infallible;

use http::Response;
use middleware::ReasonLayer;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer as _, ServiceExt as _, service_fn};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::calls::{GET_MATCH, error, request};

/// The answer to a call that the service refuses with this status.
async fn refused(path: &str, status: Status) -> Response<Body> {
    let service = service_fn(move |_| {
        let response = status.clone().into_http::<Body>();
        async { Ok::<_, Infallible>(response) }
    });
    let Ok(response) = ReasonLayer.layer(service).oneshot(request(path, &[])).await;
    response
}

#[tokio::test]
async fn what_the_transport_refuses_gets_a_reason_and_loses_its_text() {
    for (status, code, reason) in [
        (Status::internal("failed to decode \u{1f422}"), Code::InvalidArgument, ErrorReason::FieldInvalid),
        (Status::out_of_range("too large"), Code::InvalidArgument, ErrorReason::FieldInvalid),
        (Status::unimplemented("gzip"), Code::Unimplemented, ErrorReason::Unimplemented),
    ] {
        let text = status.message().to_owned();
        let response = refused(GET_MATCH, status).await;
        let told = error(response.headers()).expect("it has a reason");
        assert_eq!((told.code(), told.reason()), (code, reason), "{text}");
        assert!(!told.message().contains(&text));
        assert_eq!(response.headers().get_all("grpc-status").iter().count(), 1);
        assert_eq!(response.headers().get_all("grpc-message").iter().count(), 1);
    }
}

#[tokio::test]
async fn what_has_a_reason_keeps_it() {
    let own = ApiError::internal("0b6c");
    let response = refused(GET_MATCH, own.clone().into()).await;
    assert_eq!(error(response.headers()), Some(own));
}

#[tokio::test]
async fn what_is_served_is_left_alone_and_so_are_calls_of_other_apis() {
    let response = refused(GET_MATCH, Status::ok("")).await;
    assert!(response.headers().get("grpc-status-details-bin").is_none());
    let response = refused("/grpc.health.v1.Health/Check", Status::internal("failed to decode")).await;
    assert_eq!(Status::from_header_map(response.headers()).map(|status| status.code()), Some(Code::Internal));
    assert!(response.headers().get("grpc-status-details-bin").is_none());
}
