//! The layer that starts no call on a node that is about to stop.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::Either;
use http::{Request, Response};
use middleware::Peer;
use tokio::sync::watch;
use tonic::Status;
use tower::{Layer, Service};
use wire::ApiError;
use wire::v1::ErrorReason;

/// What the paths of the API's own services begin with. Health is still to be asked.
pub(crate) const OWN_PATHS: &str = "/whattheshell.";

/// Refuses with SHUTTING_DOWN the calls that arrive once the node drains and their connection was told so: those
/// that its client sent before it heard. Calls that have begun pass it by, and so do those of connections whose
/// turn to go has not come yet.
#[derive(Clone, Debug)]
pub(crate) struct DrainLayer {
    draining: watch::Receiver<bool>,
}

impl DrainLayer {
    /// `draining` has seen the value false; the next one it is to see is true.
    pub(crate) const fn new(draining: watch::Receiver<bool>) -> Self {
        Self { draining }
    }
}

impl<S> Layer<S> for DrainLayer {
    type Service = DrainService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        DrainService { inner, draining: Arc::new(self.draining.clone()) }
    }
}

/// The service of [`DrainLayer`].
#[derive(Clone, Debug)]
pub(crate) struct DrainService<S> {
    inner: S,
    draining: Arc<watch::Receiver<bool>>,
}

/// Whether the node drains. Each call asks, and to look at the value is to lock it for a moment: it is enough
/// to know whether it has ever been set, or never will be.
fn is_set(draining: &watch::Receiver<bool>) -> bool {
    draining.has_changed().unwrap_or(true)
}

/// Whether the connection of a call was told to go.
fn is_leaving<B>(request: &Request<B>) -> bool {
    request.extensions().get::<Arc<Peer>>().is_none_or(|peer| peer.is_leaving())
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for DrainService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<Ready<Result<S::Response, S::Error>>, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let is_own = || request.uri().path().starts_with(OWN_PATHS);
        if is_set(&self.draining) && is_own() && is_leaving(&request) {
            let refused = Status::from(ApiError::new(ErrorReason::ShuttingDown));
            return Either::Left(ready(Ok(refused.into_http())));
        }
        Either::Right(self.inner.call(request))
    }
}
