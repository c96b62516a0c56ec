//! The layer that gives every refusal of this API a reason.

use std::task::{Context, Poll};

use futures::TryFutureExt as _;
use futures::future::{Either, MapOk};
use http::{HeaderName, Request, Response};
use tonic::{Code, Status};
use tower::{Layer, Service};
use wire::ApiError;
use wire::v1::ErrorReason;

/// What the paths of this API's calls begin with. Health and reflection have refusals of their own.
const OWN_PATHS: &str = "/whattheshell.";

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// Gives a reason to what the transport refuses by itself, before a handler sees it: a request that is no
/// message of its call, too long, or compressed. It must be the innermost layer: everything else that is
/// refused has its reason already.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReasonLayer;

impl<S> Layer<S> for ReasonLayer {
    type Service = ReasonService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ReasonService { inner }
    }
}

/// The service of [`ReasonLayer`].
#[derive(Clone, Debug)]
pub struct ReasonService<S> {
    inner: S,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for ReasonService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, MapOk<S::Future, fn(S::Response) -> S::Response>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let is_own = request.uri().path().starts_with(OWN_PATHS);
        let answer = self.inner.call(request);
        if is_own { Either::Right(answer.map_ok(with_reason)) } else { Either::Left(answer) }
    }
}

/// The answer, its refusal as the error table says it.
fn with_reason<B>(mut response: Response<B>) -> Response<B> {
    let headers = response.headers_mut();
    if !headers.contains_key(&STATUS) || headers.contains_key(&DETAILS) {
        return response;
    }
    if let Some(error) = Status::from_header_map(headers).as_ref().and_then(reason_of) {
        headers.remove(&MESSAGE);
        // It fails only for messages that no header can carry; the code is there then all the same.
        let _ = Status::from(error).add_header(headers);
    }
    response
}

/// The error that the transport's own status stands for. Its texts may quote the request: none is kept.
fn reason_of(status: &Status) -> Option<ApiError> {
    let at_fault = |what| Some(ApiError::field(ErrorReason::FieldInvalid, "request", what));
    match status.code() {
        Code::Internal => at_fault("it is not a message of this call"),
        Code::OutOfRange => at_fault("it is longer than GetServerInfo allows"),
        Code::Unimplemented => {
            let what = "this server takes no compressed requests";
            Some(ApiError::new(ErrorReason::Unimplemented).with_message(what))
        }
        _ => None,
    }
}
