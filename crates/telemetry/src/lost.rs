//! Queues that lose rather than wait, and count what they lose.
//!
//! The SDK's queues drop what finds no place as well, but say so in a log line at their end. Here the places
//! are counted before them: what the SDK is given always fits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogBatch, LogExporter, LogProcessor, SdkLogRecord};
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter, SpanProcessor};

/// Spans, or log records, that wait for their export at most, some kilobyte each: several seconds of what a busy
/// node makes.
pub(crate) const QUEUE_MAX: usize = 8_192;

/// Those that go in one export.
pub(crate) const BATCH_MAX: usize = 512;

/// How it stands with the queue of one signal.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

impl Tally {
    /// How many were lost so far: found no place, or were not taken by the collector.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether one more has a place.
    fn admits(&self) -> bool {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < QUEUE_MAX {
            return true;
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.lost.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// An export of so many is over.
    fn exported(&self, count: usize, result: &OTelSdkResult) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        if result.is_err() {
            self.lost.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

/// Something with a tally: a processor in front of its queue, or an exporter behind it.
#[derive(Debug)]
pub(crate) struct Tallied<P> {
    pub(crate) inner: P,
    pub(crate) tally: Arc<Tally>,
}

impl<P: SpanProcessor> SpanProcessor for Tallied<P> {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.tally.admits() {
            self.inner.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl<E: SpanExporter> SpanExporter for Tallied<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let result = self.inner.export(batch).await;
        self.tally.exported(count, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl<P: LogProcessor> LogProcessor for Tallied<P> {
    fn emit(&self, record: &mut SdkLogRecord, scope: &InstrumentationScope) {
        if self.tally.admits() {
            self.inner.emit(record, scope);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl<E: LogExporter> LogExporter for Tallied<E> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let count = batch.iter().count();
        let result = self.inner.export(batch).await;
        self.tally.exported(count, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
