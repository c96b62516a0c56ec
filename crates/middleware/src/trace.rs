//! The layer that makes a span of each call.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tonic::{Code, Status};
use tower::{Layer, Service};
use tracing::Span;
use tracing::field::Empty;

use crate::policy::Rpc;

/// What a call that is not in the policy table is named: a caller must not choose what is logged.
const OTHER: &str = "_OTHER";

/// Makes a debug span `call` of each call, from its headers to the end of its answer's body.
///
/// Fields: `rpc.system`, `rpc.service`, `rpc.method`, `principal` (its kind; the auth layer within tells),
/// `code` (gRPC's, by name) and `latency_us`. The last two also end the span as an event. Nothing else of
/// a call is recorded: no body, no header, no name a player chose.
#[derive(Clone, Copy, Default, Debug)]
pub struct TraceLayer;

impl<S> Layer<S> for TraceLayer {
    type Service = TraceService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TraceService { inner }
    }
}

/// The service of [`TraceLayer`].
#[derive(Clone, Debug)]
pub struct TraceService<S> {
    inner: S,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for TraceService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
{
    type Response = Response<TraceBody<ResBody>>;
    type Error = S::Error;
    type Future = TraceFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let call = Call::new(request.uri().path());
        let future = call.span.in_scope(|| self.inner.call(request));
        TraceFuture { future, call: Some(call) }
    }
}

/// A call under way. Dropped before its end it counts as cancelled: the client has gone.
struct Call {
    span: Span,
    /// Not measured where nobody is told.
    started: Option<Instant>,
    code: Option<Code>,
}

impl Call {
    fn new(path: &str) -> Self {
        let (service, method) = Rpc::by_path(path).map_or((OTHER, OTHER), |rpc| (rpc.service, rpc.method));
        let span = tracing::debug_span!(
            "call",
            rpc.system = "grpc",
            rpc.service = service,
            rpc.method = method,
            principal = Empty,
            code = Empty,
            latency_us = Empty,
        );
        let started = (!span.is_disabled()).then(Instant::now);
        Self { span, started, code: None }
    }

    /// Takes the status out of headers or trailers, if they have one.
    fn read_status(&mut self, headers: &HeaderMap) {
        if let Some(value) = headers.get(Status::GRPC_STATUS) {
            self.code = Some(Code::from_bytes(value.as_bytes()));
        }
    }

    /// The answer ended without a status of its own.
    fn fail(&mut self) {
        self.code.get_or_insert(Code::Unknown);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some(started) = self.started else { return };
        let code = self.code.unwrap_or(Code::Cancelled);
        let latency_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.span.record("code", tracing::field::debug(code)).record("latency_us", latency_us);
        tracing::debug!(parent: &self.span, ?code, latency_us, "call ended");
    }
}

pin_project! {
    /// The future of [`TraceService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct TraceFuture<F> {
        #[pin]
        future: F,
        // Moves on into the body of the answer.
        call: Option<Call>,
    }
}

impl<F, ResBody, E> Future for TraceFuture<F>
where
    F: Future<Output = Result<Response<ResBody>, E>>,
{
    type Output = Result<Response<TraceBody<ResBody>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = {
            let _entered = this.call.as_ref().map(|call| call.span.enter());
            ready!(this.future.poll(cx))
        };
        let mut call = this.call.take();
        match &answer {
            Ok(response) => call.iter_mut().for_each(|call| call.read_status(response.headers())),
            Err(_) => call.iter_mut().for_each(Call::fail),
        }
        Poll::Ready(answer.map(|response| response.map(|body| TraceBody { body, call })))
    }
}

pin_project! {
    /// A response's body, whose end is the end of the call.
    pub struct TraceBody<B> {
        #[pin]
        body: B,
        call: Option<Call>,
    }
}

impl<B: Body> Body for TraceBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        let Some(call) = this.call else { return this.body.poll_frame(cx) };
        let frame = {
            let _entered = call.span.enter();
            ready!(this.body.poll_frame(cx))
        };
        match &frame {
            Some(Ok(frame)) => {
                frame.trailers_ref().into_iter().for_each(|trailers| call.read_status(trailers))
            }
            Some(Err(_)) | None => call.fail(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
