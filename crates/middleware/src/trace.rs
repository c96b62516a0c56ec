//! The layer that makes a span of each call, and measures it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tonic::{Code, Status};
use tower::{Layer, Service};
use tracing::Span;
use tracing::field::Empty;

use crate::measured::{CallInstruments, Measured};
use crate::policy::{OTHER, Rpc};

/// Makes a debug span `call` of each call, from its headers to the end of its answer's body, and tells the
/// instruments, if it has any.
///
/// Fields: `rpc.system`, `rpc.service`, `rpc.method`, `principal` (its kind; the auth layer within tells),
/// `code` (gRPC's, by name) and `latency_us`. The last two also end the span as an event. Nothing else of
/// a call is recorded: no body, no header, no name a player chose.
///
/// A call that is sampled is a server span of OpenTelemetry as well, which is current while the call is at
/// work. Of its headers `traceparent` alone is read, for the span that it belongs to.
#[derive(Clone, Default, Debug)]
pub struct TraceLayer {
    /// Shared by the calls of one layer only: cores that count at one place take turns.
    instruments: Option<Arc<CallInstruments>>,
}

impl TraceLayer {
    /// A layer that measures calls. The default one measures nothing.
    #[must_use]
    pub fn new(instruments: CallInstruments) -> Self {
        Self { instruments: Some(Arc::new(instruments)) }
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = TraceService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TraceService { inner, instruments: self.instruments.clone() }
    }
}

/// The service of [`TraceLayer`].
#[derive(Clone, Debug)]
pub struct TraceService<S> {
    inner: S,
    instruments: Option<Arc<CallInstruments>>,
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

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let rpc = Rpc::by_path(request.uri().path());
        let measured =
            self.instruments.as_ref().map(|instruments| Measured::new(instruments, rpc, &mut request));
        let call = Call::new(rpc, measured);
        let future = call.within(|| self.inner.call(request));
        TraceFuture { future, call: Some(call) }
    }
}

/// The status that headers or trailers have. Where the headers of an answer have one, they are all of it: a refusal,
/// or an answer without a message.
#[must_use]
pub fn status_code(headers: &HeaderMap) -> Option<Code> {
    headers.get(Status::GRPC_STATUS).map(|value| Code::from_bytes(value.as_bytes()))
}

/// A call under way. Dropped before its end it counts as cancelled: the client has gone.
struct Call {
    span: Span,
    /// Not measured where nobody is told.
    started: Option<Instant>,
    code: Option<Code>,
    measured: Option<Measured>,
}

impl Call {
    fn new(rpc: Option<&'static Rpc>, measured: Option<Measured>) -> Self {
        let (service, method) = rpc.map_or((OTHER, OTHER), |rpc| (rpc.service, rpc.method));
        let span = tracing::debug_span!(
            "call",
            rpc.system = "grpc",
            rpc.service = service,
            rpc.method = method,
            principal = Empty,
            code = Empty,
            latency_us = Empty,
        );
        let started = (measured.is_some() || !span.is_disabled()).then(Instant::now);
        Self { span, started, code: None, measured }
    }

    /// Does a part of the call's work with its spans as the current ones.
    fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let _current = self.measured.as_ref().and_then(Measured::attach);
        self.span.in_scope(work)
    }

    /// The answer's headers are there.
    fn answered(&mut self, headers: &HeaderMap) {
        self.read_status(headers);
        if let Some(measured) = &mut self.measured {
            measured.answered();
        }
    }

    /// Takes the status out of headers or trailers, if they have one.
    fn read_status(&mut self, headers: &HeaderMap) {
        if let Some(code) = status_code(headers) {
            self.code = Some(code);
            if let Some(measured) = self.measured.as_mut().filter(|_| code != Code::Ok) {
                measured.refused(headers);
            }
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
        let elapsed = started.elapsed();
        if let Some(measured) = &mut self.measured {
            measured.end(code, elapsed);
        }
        let latency_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
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
        let answer = match this.call.as_ref() {
            Some(call) => ready!(call.within(|| this.future.poll(cx))),
            None => ready!(this.future.poll(cx)),
        };
        let mut call = this.call.take();
        match &answer {
            Ok(response) => call.iter_mut().for_each(|call| call.answered(response.headers())),
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
        let frame = ready!(call.within(|| this.body.poll_frame(cx)));
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
