//! The layer that bounds what a node does, and what it does for one principal.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::Either;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tonic::Status;
use tower::{Layer, Service};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::allowance::{Open, Usages};
use crate::peer::Peer;
use crate::policy::{Access, Rpc};
use crate::principal::Principal;
use crate::refusals::{Limit, Refusals};

/// The service that is to be asked how a node is when there is too much to do.
const HEALTH: &str = "grpc.health.v1.Health";

/// The least time after which a caller is told to try again: sooner, he would only be told again.
const RETRY_DELAY_MIN: Duration = Duration::from_millis(10);

/// Refuses calls beyond what a node takes (OVERLOADED), and beyond what its principal may use of it (RATE_LIMITED,
/// STREAM_LIMIT). It must be within the auth layer, which says who calls.
///
/// Health checks and operators are let through, whatever else goes on. Streams do not count as calls in flight:
/// they have bounds of their own.
#[derive(Clone, Debug)]
pub struct LimitLayer {
    usages: Arc<Usages>,
    in_flight: Arc<InFlight>,
    refusals: Arc<Refusals>,
}

impl LimitLayer {
    /// A layer of one core of a node, whose `usages` are those of all of them. No more than `in_flight_max` unary
    /// calls are in flight on this core.
    #[must_use]
    pub fn new(usages: Arc<Usages>, in_flight_max: usize, refusals: Arc<Refusals>) -> Self {
        let in_flight = Arc::new(InFlight { count: AtomicUsize::new(0), max: in_flight_max });
        Self { usages, in_flight, refusals }
    }

    /// The places that a call takes while it is open, or why it may not begin.
    fn admit<B>(&self, request: &mut Request<B>) -> Result<Places, ApiError> {
        let Some(rpc) = Rpc::by_path(request.uri().path()) else { return Ok(Places::default()) };
        let extensions = request.extensions();
        let peer = extensions.get::<Arc<Peer>>();
        let mut places = Places { _peer: peer.cloned(), ..Places::default() };
        if rpc.access == Access::Operators || rpc.service == HEALTH {
            return Ok(places);
        }
        if !rpc.streams {
            places.in_flight = Some(self.in_flight.enter().ok_or_else(|| {
                self.refusals.count(Limit::CallsInFlight);
                ApiError::new(ErrorReason::Overloaded)
            })?);
        }
        let Some(usage) = self.usages.of(extensions.get::<Principal>(), peer.map(AsRef::as_ref)) else {
            return Ok(places);
        };
        usage.calls().map_err(|wait| {
            self.refusals.count(Limit::CallRate);
            ApiError::new(ErrorReason::RateLimited).with_retry_delay(wait.max(RETRY_DELAY_MIN))
        })?;
        places.open = Some(usage.open(rpc.streams).ok_or_else(|| self.too_many_open(rpc.streams))?);
        if rpc.streams {
            request.extensions_mut().insert(usage);
        }
        Ok(places)
    }

    fn too_many_open(&self, streams: bool) -> ApiError {
        if streams {
            self.refusals.count(Limit::StreamsPerPrincipal);
            ApiError::new(ErrorReason::StreamLimit)
        } else {
            self.refusals.count(Limit::CallsPerPrincipal);
            ApiError::new(ErrorReason::RateLimited).with_message("too many calls in flight; wait for some")
        }
    }
}

/// The unary calls in flight on one core.
#[derive(Debug)]
struct InFlight {
    count: AtomicUsize,
    max: usize,
}

impl InFlight {
    fn enter(self: &Arc<Self>) -> Option<Entered> {
        let entered = Entered { in_flight: Arc::clone(self) };
        (self.count.fetch_add(1, Ordering::Relaxed) < self.max).then_some(entered)
    }
}

/// A call in flight.
struct Entered {
    in_flight: Arc<InFlight>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.in_flight.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What an open call holds until its end.
#[derive(Default)]
struct Places {
    in_flight: Option<Entered>,
    open: Option<Open>,
    /// Its connection is in use.
    _peer: Option<Arc<Peer>>,
}

impl<S> Layer<S> for LimitLayer {
    type Service = LimitService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        LimitService { inner, layer: self.clone() }
    }
}

/// The service of [`LimitLayer`].
#[derive(Clone, Debug)]
pub struct LimitService<S> {
    inner: S,
    layer: LimitLayer,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for LimitService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: Default,
{
    type Response = Response<LimitBody<ResBody>>;
    type Error = S::Error;
    type Future = Either<Ready<Result<Self::Response, S::Error>>, LimitFuture<S::Future>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        match self.layer.admit(&mut request) {
            Ok(places) => Either::Right(LimitFuture { call: self.inner.call(request), places: Some(places) }),
            Err(error) => Either::Left(ready(Ok(Status::from(error).into_http()))),
        }
    }
}

pin_project! {
    /// The future of [`LimitService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct LimitFuture<F> {
        #[pin]
        call: F,
        // Moves on into the body of the answer.
        places: Option<Places>,
    }
}

impl<F, ResBody, E> Future for LimitFuture<F>
where
    F: Future<Output = Result<Response<ResBody>, E>>,
{
    type Output = Result<Response<LimitBody<ResBody>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.call.poll(cx).map_ok(|response| {
            let places = this.places.take();
            response.map(|body| LimitBody { body, _places: places })
        })
    }
}

pin_project! {
    /// A response's body: with it the places of its call are given back.
    #[derive(Default)]
    pub struct LimitBody<B> {
        #[pin]
        body: B,
        _places: Option<Places>,
    }
}

impl<B: Body> Body for LimitBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
