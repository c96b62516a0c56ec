//! The audit log: a file of its own.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use tracing::Subscriber;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt as subscriber_fmt;
use tracing_subscriber::registry::LookupSpan;

/// Lines that wait for the disk, at most. None is ever dropped: with as many waiting, whoever writes another one waits,
/// too.
const LINES_MAX: usize = 16 * 1024;

/// The layer that writes what is of `target`, whatever its level, to the end of a file: an object a line. Dropping the
/// guard waits until all of it is written.
///
/// # Errors
/// The file cannot be opened or made.
pub(crate) fn layer<S>(target: &'static str, path: &Path) -> io::Result<(impl Layer<S> + use<S>, WorkerGuard)>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let (writer, guard) =
        NonBlockingBuilder::default().lossy(false).buffered_lines_limit(LINES_MAX).finish(file);
    let lines = subscriber_fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_writer(writer)
        .with_filter(filter_fn(move |metadata| metadata.target() == target));
    Ok((lines, guard))
}
