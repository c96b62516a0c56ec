//! The log on standard error.

use std::fmt;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{self as subscriber_fmt, FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// How lines of the log look.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// For programs: an object a line. What happened in a call that is traced names its `trace_id` and
    /// `span_id`.
    Json,
}

/// The layer that writes lines.
pub(crate) fn layer<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    match format {
        LogFormat::Pretty => Box::new(subscriber_fmt::layer().with_writer(std::io::stderr)),
        LogFormat::Json => Box::new(
            subscriber_fmt::layer()
                .event_format(Traced(subscriber_fmt::format().json()))
                .fmt_fields(JsonFields::new())
                .with_writer(std::io::stderr),
        ),
    }
}

/// Objects, with the span that they belong to.
struct Traced(Format<Json>);

impl<S, N> FormatEvent<S, N> for Traced
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        let span = Context::map_current(|current| current.span().span_context().clone());
        match line.strip_prefix('{').filter(|_| span.is_valid()) {
            Some(rest) => {
                let (trace, span) = (span.trace_id(), span.span_id());
                write!(writer, "{{\"trace_id\":\"{trace}\",\"span_id\":\"{span}\",{rest}")
            }
            None => writer.write_str(&line),
        }
    }
}
