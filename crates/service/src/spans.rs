//! Traces, where they pass a place that knows nothing of them: a commit and the hint of it.

use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, TraceContextExt as _, TraceFlags, TraceId, TraceState, Tracer as _,
};
use store::TraceContext;

use crate::metrics::Instruments;

/// The span that this work is done in, if it is recorded.
pub(crate) fn current() -> Option<TraceContext> {
    Context::map_current(|current| {
        let span = current.span().span_context().clone();
        let is_recorded = span.is_valid() && span.is_sampled();
        is_recorded.then(|| TraceContext {
            trace_id: span.trace_id().to_bytes(),
            span_id: span.span_id().to_bytes(),
        })
    })
}

/// Begins the span of what a stream delivers because of a change that was made in another span, perhaps on
/// another node. None if it is not recorded. It ends when it is dropped.
pub(crate) fn delivery(instruments: &Instruments, cause: TraceContext) -> Option<Context> {
    let (trace, span) = (TraceId::from_bytes(cause.trace_id), SpanId::from_bytes(cause.span_id));
    let above = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
    let parent = Context::new().with_remote_span_context(above);
    let tracer = instruments.tracer();
    let builder = tracer.span_builder("deliver turn").with_kind(SpanKind::Consumer);
    let context = parent.with_span(tracer.build_with_context(builder, &parent));
    context.span().is_recording().then_some(context)
}
