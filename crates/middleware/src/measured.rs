//! What is measured of a call.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Extensions, HeaderMap, Request};
use opentelemetry::global::BoxedTracer;
use opentelemetry::metrics::{Counter, Histogram, UpDownCounter};
use opentelemetry::trace::{Span as _, SpanKind, Status as SpanStatus, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, ContextGuard, KeyValue};
use tonic::{Code, Status};
use wire::ApiError;
use wire::v1::ErrorReason;

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
    rpc: Option<&'static Rpc>,
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
        let context = begin_span(&instruments.tracer, rpc, request.headers());
        let instruments = Arc::clone(instruments);
        Self { instruments, rpc, caller, context, reason: None, is_open_stream: false }
    }

    /// Makes the call's span the current one for as long as the guard is there.
    pub(crate) fn attach(&self) -> Option<ContextGuard> {
        self.context.clone().map(Context::attach)
    }

    /// The answer has begun.
    pub(crate) fn answered(&mut self) {
        if let Some(rpc) = self.rpc.filter(|rpc| rpc.streams && self.reason.is_none()) {
            self.instruments.open_streams.add(1, &[KeyValue::new(label::METHOD, rpc.full_name())]);
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
        let method = method(self.rpc);
        if self.is_open_stream {
            self.instruments.open_streams.add(-1, &[KeyValue::new(label::METHOD, method)]);
        }
        let principal = self.caller.0.get().copied().unwrap_or(UNKNOWN);
        let labels = [
            KeyValue::new(label::METHOD, method),
            KeyValue::new(label::CODE, code_name(code)),
            KeyValue::new(label::SYSTEM, "grpc"),
            KeyValue::new(label::PRINCIPAL, principal),
        ];
        self.instruments.duration.record(elapsed.as_secs_f64(), &labels);
        if let Some(reason) = self.reason {
            self.instruments.refused.add(1, &[KeyValue::new(label::REASON, reason_name(reason))]);
        }
        if let Some(context) = &self.context {
            let span = context.span();
            span.set_attributes(labels);
            if let Some(reason) = self.reason {
                span.set_attribute(KeyValue::new(label::REASON, reason_name(reason)));
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
fn begin_span(tracer: &BoxedTracer, rpc: Option<&'static Rpc>, headers: &HeaderMap) -> Option<Context> {
    let root = Context::new();
    let parent = match traceparent::remote_span(headers) {
        Some(remote) => root.with_remote_span_context(remote),
        None => root,
    };
    let builder = tracer.span_builder(method(rpc)).with_kind(SpanKind::Server);
    let span = tracer.build_with_context(builder, &parent);
    span.is_recording().then(|| parent.with_span(span))
}

fn method(rpc: Option<&'static Rpc>) -> &'static str {
    rpc.map_or(OTHER, Rpc::full_name)
}

/// The reason as the error table has it: `CELL_OUT_OF_RANGE`.
fn reason_name(reason: ErrorReason) -> &'static str {
    let name = reason.as_str_name();
    name.strip_prefix("ERROR_REASON_").unwrap_or(name)
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
