//! What is measured of a call.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Extensions, HeaderMap, Request};
use opentelemetry::global::BoxedTracer;
use opentelemetry::metrics::{Counter, Histogram, UpDownCounter};
use opentelemetry::trace::{Span as _, SpanKind, Status as SpanStatus, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, ContextGuard, KeyValue};
use tonic::{Code, Status};
use wire::v1::ErrorReason;
use wire::{ApiError, ErrorRow};

use crate::policy::{OTHER, Rpc};
use crate::traceparent;

/// The kind of caller of a call that ended before anybody knew who called.
const UNKNOWN: &str = "unknown";

/// What calls are measured with. No label depends on what a caller sends: they come from the policy table,
/// the codes of gRPC, the error table and the kinds of principals.
#[derive(Clone, Debug)]
pub struct CallInstruments {
    /// How long calls took, s, from their headers to the end of their answer.
    pub duration: Histogram<f64>,
    /// Calls that were refused.
    pub refused: Counter<u64>,
    /// Streams that are open now.
    pub open_streams: UpDownCounter<i64>,
    /// Makes the spans of calls.
    pub tracer: Arc<BoxedTracer>,
}

/// The labels' names.
pub(crate) mod label {
    pub(crate) const SYSTEM: &str = "rpc.system.name";
    pub(crate) const METHOD: &str = "rpc.method";
    pub(crate) const CODE: &str = "rpc.response.status_code";
    pub(crate) const ERROR: &str = "error.type";
    pub(crate) const PRINCIPAL: &str = "wts.principal";
    pub(crate) const REASON: &str = "wts.reason";
}

/// The kind of caller, as soon as somebody knows it: in the extensions of a request that is measured.
#[derive(Clone, Default)]
pub(crate) struct CallerKind(Arc<OnceLock<&'static str>>);

impl CallerKind {
    /// Tells whoever measures the call.
    pub(crate) fn tell(extensions: &Extensions, kind: &'static str) {
        if let Some(caller) = extensions.get::<Self>() {
            // It is told once.
            let _ = caller.0.set(kind);
        }
    }
}

/// A call that is measured.
pub(crate) struct Measured {
    instruments: Arc<CallInstruments>,
    /// Its name.
    method: &'static str,
    streams: bool,
    caller: CallerKind,
    /// With the span of the call, if that is recorded.
    context: Option<Context>,
    reason: Option<ErrorReason>,
    /// It counts as an open stream.
    is_open_stream: bool,
}

impl Measured {
    pub(crate) fn new<B>(
        instruments: &Arc<CallInstruments>,
        rpc: Option<&'static Rpc>,
        request: &mut Request<B>,
    ) -> Self {
        let caller = CallerKind::default();
        request.extensions_mut().insert(caller.clone());
        let method = rpc.map_or(OTHER, Rpc::full_name);
        let streams = rpc.is_some_and(|rpc| rpc.streams);
        let context = begin_span(&instruments.tracer, method, request.headers());
        let instruments = Arc::clone(instruments);
        Self { instruments, method, streams, caller, context, reason: None, is_open_stream: false }
    }

    /// Makes the call's span the current one for as long as the guard is there.
    pub(crate) fn attach(&self) -> Option<ContextGuard> {
        self.context.clone().map(Context::attach)
    }

    /// The answer has begun.
    pub(crate) fn answered(&mut self) {
        if self.streams && self.reason.is_none() {
            self.instruments.open_streams.add(1, &[KeyValue::new(label::METHOD, self.method)]);
            self.is_open_stream = true;
        }
    }

    /// The call was refused, as these headers or trailers say.
    pub(crate) fn refused(&mut self, headers: &HeaderMap) {
        let error = Status::from_header_map(headers).as_ref().and_then(ApiError::from_status);
        self.reason = Some(error.map_or(ErrorReason::Unspecified, |error| error.reason()));
    }

    /// The call is over.
    pub(crate) fn end(&mut self, code: Code, elapsed: Duration) {
        if self.is_open_stream {
            self.instruments.open_streams.add(-1, &[KeyValue::new(label::METHOD, self.method)]);
        }
        let principal = self.caller.0.get().copied().unwrap_or(UNKNOWN);
        let labels = [
            KeyValue::new(label::METHOD, self.method),
            KeyValue::new(label::CODE, code_name(code)),
            KeyValue::new(label::SYSTEM, "grpc"),
            KeyValue::new(label::PRINCIPAL, principal),
        ];
        self.instruments.duration.record(elapsed.as_secs_f64(), &labels);
        let reason = self.reason.map(|reason| KeyValue::new(label::REASON, ErrorRow::of(reason).name()));
        if let Some(reason) = &reason {
            self.instruments.refused.add(1, std::slice::from_ref(reason));
        }
        if let Some(context) = &self.context {
            let span = context.span();
            span.set_attributes(labels);
            if let Some(reason) = reason {
                span.set_attribute(reason);
            }
            if is_server_error(code) {
                span.set_attribute(KeyValue::new(label::ERROR, code_name(code)));
                span.set_status(SpanStatus::error(""));
            }
            span.end();
        }
    }
}

/// Begins the span of a call, below the one that the caller names. None if it is not recorded.
fn begin_span(tracer: &BoxedTracer, method: &'static str, headers: &HeaderMap) -> Option<Context> {
    let root = Context::new();
    let parent = match traceparent::remote_span(headers) {
        Some(remote) => root.with_remote_span_context(remote),
        None => root,
    };
    let builder = tracer.span_builder(method).with_kind(SpanKind::Server);
    let span = tracer.build_with_context(builder, &parent);
    span.is_recording().then(|| parent.with_span(span))
}

/// The code as gRPC writes it.
const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// Whether the conventions count a code as an error of the server.
const fn is_server_error(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}
