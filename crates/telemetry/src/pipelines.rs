//! What leaves the process: its providers, the thread that works for them, and their end.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry::global::{self, BoxedTracer, ObjectSafeTracerProvider as _};
use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry::{InstrumentationScope, Key, KeyValue};
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{ExporterBuildError, WithExportConfig as _, WithTonicConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{self as sdk_logs, BatchLogProcessor, SdkLoggerProvider};
use opentelemetry_sdk::metrics::{MeterProviderBuilder, SdkMeterProvider};
use opentelemetry_sdk::trace::{self as sdk_trace, BatchSpanProcessor, SdkTracerProvider};
use prometheus::Registry;
use thiserror::Error;
use tokio::runtime::Runtime;
use tracing::Subscriber;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::lost::{BATCH_MAX, QUEUE_MAX, Tallied, Tally};
use crate::sampler::HeadSampler;
use crate::scrape::Scrapes;
use crate::{Options, exported_logs};

/// How long the end of all pipelines may take: one last export of each, and no wait for a collector that hangs.
pub const SHUTDOWN_MAX: Duration = Duration::from_secs(3);

/// How long an export may take: what comes meanwhile has to fit the queue.
const EXPORT_MAX: Duration = Duration::from_secs(5);

/// What the SDK names a service of which it was told no name.
const NO_NAME: &str = "unknown_service";

/// Why telemetry cannot be set up.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The filter of the log does not parse.
    #[error("the log's filter is none: {error}")]
    LogFilter {
        /// Why.
        error: tracing_subscriber::filter::ParseError,
    },
    /// The collector's address cannot be used.
    #[error("the collector's address cannot be used: {0}")]
    Endpoint(#[from] ExporterBuildError),
    /// The audit log cannot be opened.
    #[error("the audit log cannot be written: {0}")]
    AuditLog(io::Error),
    /// The endpoint for scrapes, or the thread that serves it, cannot be had.
    #[error("metrics cannot be served: {0}")]
    Listen(#[from] io::Error),
    /// The metrics cannot be put together.
    #[error("metrics cannot be exported: {0}")]
    Metrics(#[from] opentelemetry_sdk::error::OTelSdkError),
}

/// What was set up, until [`Pipelines::shutdown`]. Without any target it is nothing at all.
pub struct Pipelines {
    tracer_provider: Option<SdkTracerProvider>,
    meter_provider: Option<SdkMeterProvider>,
    logger_provider: Option<SdkLoggerProvider>,
    metrics_address: Option<SocketAddr>,
    /// The audit log, whose lines are all written before it is let go.
    audit: Option<WorkerGuard>,
    /// A thread for connections to the collector, and for scrapes. Dropped after the providers.
    runtime: Option<Runtime>,
}

impl fmt::Debug for Pipelines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipelines").field("metrics_address", &self.metrics_address).finish_non_exhaustive()
    }
}

impl Pipelines {
    /// Starts what the options ask for, for whoever takes its providers from here. The process's own log and
    /// providers are set by [`crate::start`].
    ///
    /// # Errors
    /// The collector's address is none, or the address for scrapes cannot be listened on.
    pub fn start(options: &Options) -> Result<Self, TelemetryError> {
        let mut pipelines = Self {
            tracer_provider: None,
            meter_provider: None,
            logger_provider: None,
            metrics_address: None,
            audit: None,
            runtime: None,
        };
        if options.otlp_endpoint.is_none() && options.metrics_listen.is_none() {
            return Ok(pipelines);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("telemetry")
            .enable_all()
            .build()?;
        let resource = resource(options);
        let mut metrics = SdkMeterProvider::builder().with_resource(resource.clone());
        let (spans, logs) = (Arc::<Tally>::default(), Arc::<Tally>::default());
        if let Some(endpoint) = &options.otlp_endpoint {
            // Connections are begun in a runtime.
            let _entered = runtime.enter();
            let collector = Collector { endpoint };
            let sampler = HeadSampler::new(options.trace_ratio);
            pipelines.tracer_provider = Some(collector.traces(&resource, sampler, &spans)?);
            pipelines.logger_provider = Some(collector.logs(&resource, &logs)?);
            metrics = collector.metrics(metrics)?;
        }
        if let Some(address) = options.metrics_listen {
            let registry = Registry::new();
            let exporter = opentelemetry_prometheus::exporter()
                .with_registry(registry.clone())
                .scope_info_enabled(false)
                .build()?;
            metrics = metrics.with_reader(exporter);
            let scrapes = Scrapes::listen(address, registry)?;
            pipelines.metrics_address = Some(scrapes.address()?);
            runtime.spawn(scrapes.serve());
        }
        let provider = metrics.build();
        if options.otlp_endpoint.is_some() {
            count_lost(&provider, [("traces", spans), ("logs", logs)]);
        }
        pipelines.meter_provider = Some(provider);
        pipelines.runtime = Some(runtime);
        Ok(pipelines)
    }

    /// Where Prometheus scrapes.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// A meter of these pipelines; of the process, where they have no metrics.
    #[must_use]
    pub fn meter(&self, scope: InstrumentationScope) -> Meter {
        match &self.meter_provider {
            Some(provider) => provider.meter_with_scope(scope),
            None => global::meter_with_scope(scope),
        }
    }

    /// A tracer of these pipelines; of the process, where they have no traces.
    #[must_use]
    pub fn tracer(&self, scope: InstrumentationScope) -> BoxedTracer {
        match &self.tracer_provider {
            Some(provider) => BoxedTracer::new(provider.boxed_tracer(scope)),
            None => global::tracer_with_scope(scope),
        }
    }

    pub(crate) fn tracer_provider(&self) -> Option<&SdkTracerProvider> {
        self.tracer_provider.as_ref()
    }

    pub(crate) fn meter_provider(&self) -> Option<&SdkMeterProvider> {
        self.meter_provider.as_ref()
    }

    /// The layer of a subscriber by which events leave over OTLP, where they do.
    #[must_use]
    pub fn exported_logs<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        self.logger_provider.as_ref().map(exported_logs::layer)
    }

    /// Exports what waits, now. It may take as long as an export: nobody who serves may wait for it.
    pub fn flush(&self) {
        // What fails is counted.
        let _ = self.tracer_provider.as_ref().map(SdkTracerProvider::force_flush);
        let _ = self.logger_provider.as_ref().map(SdkLoggerProvider::force_flush);
        let _ = self.meter_provider.as_ref().map(SdkMeterProvider::force_flush);
    }

    /// Exports what is left, and ends, within [`SHUTDOWN_MAX`]. It blocks: whoever serves calls it last.
    pub fn shutdown(mut self) {
        self.end();
    }

    /// Keeps the audit log open until the end.
    pub(crate) fn keep(&mut self, audit: WorkerGuard) {
        self.audit = Some(audit);
    }

    fn end(&mut self) {
        self.audit = None;
        let Some(runtime) = self.runtime.take() else { return };
        type End = Box<dyn FnOnce() -> OTelSdkResult + Send>;
        let traces = self
            .tracer_provider
            .take()
            .map(|provider| -> End { Box::new(move || provider.shutdown_with_timeout(SHUTDOWN_MAX)) });
        let logs = self
            .logger_provider
            .take()
            .map(|provider| -> End { Box::new(move || provider.shutdown_with_timeout(SHUTDOWN_MAX)) });
        let metrics = self
            .meter_provider
            .take()
            .map(|provider| -> End { Box::new(move || provider.shutdown_with_timeout(SHUTDOWN_MAX)) });
        let ends: Vec<End> = [traces, logs, metrics].into_iter().flatten().collect();
        let (ended, end) = sync_channel(ends.len());
        let waited_for = ends.len();
        for shut_down in ends {
            let ended = ended.clone();
            // Each on its own: what hangs at the one must not take the others' time. One that still hangs at the
            // end goes with the process.
            thread::spawn(move || {
                let _ = ended.send(shut_down());
            });
        }
        let until = Instant::now() + SHUTDOWN_MAX;
        for _ in 0..waited_for {
            match end.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "what was left of telemetry is lost"),
                Err(_) => {
                    tracing::warn!("what was left of telemetry is lost: the collector hangs");
                    break;
                }
            }
        }
        runtime.shutdown_background();
    }
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        self.end();
    }
}

/// Who the process is: as the environment says (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`), with what it
/// leaves open.
fn resource(options: &Options) -> Resource {
    let told = Resource::builder().build();
    let has = |name: &'static str| told.get(&Key::from_static_str(name)).is_some();
    let named = told.get(&Key::from_static_str("service.name"));
    let mut builder = Resource::builder();
    if named.is_none_or(|name| name.as_str().starts_with(NO_NAME)) {
        builder = builder.with_service_name(options.service);
    }
    if !has("service.version") {
        builder = builder.with_attribute(KeyValue::new("service.version", options.version));
    }
    if !has("service.instance.id") {
        let instance = uuid::Uuid::new_v4().to_string();
        builder = builder.with_attribute(KeyValue::new("service.instance.id", instance));
    }
    builder.build()
}

/// Counts what queues have lost, in the metrics.
fn count_lost(provider: &SdkMeterProvider, signals: [(&'static str, Arc<Tally>); 2]) {
    provider
        .meter("whattheshell.telemetry")
        .u64_observable_counter("wts.telemetry.lost")
        .with_unit("{record}")
        .with_description("Spans and log records that found no place in their queue or were not exported")
        .with_callback(move |observer| {
            for (signal, tally) in &signals {
                observer.observe(tally.lost(), &[KeyValue::new("wts.signal", *signal)]);
            }
        })
        .build();
}

/// Where OTLP goes.
struct Collector<'a> {
    endpoint: &'a str,
}

/// The builder of an exporter, with what all exporters have in common.
macro_rules! exporter {
    ($collector:expr, $kind:ident) => {{
        let builder = opentelemetry_otlp::$kind::builder()
            .with_tonic()
            .with_endpoint($collector.endpoint)
            .with_timeout(EXPORT_MAX);
        if $collector.endpoint.starts_with("https:") {
            builder.with_tls_config(ClientTlsConfig::new().with_enabled_roots()).build()
        } else {
            builder.build()
        }
    }};
}

impl Collector<'_> {
    fn traces(
        &self,
        resource: &Resource,
        sampler: HeadSampler,
        tally: &Arc<Tally>,
    ) -> Result<SdkTracerProvider, ExporterBuildError> {
        let exporter = Tallied { inner: exporter!(self, SpanExporter)?, tally: Arc::clone(tally) };
        let config = sdk_trace::BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE_MAX)
            .with_max_export_batch_size(BATCH_MAX)
            .build();
        let queue = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let processor = Tallied { inner: queue, tally: Arc::clone(tally) };
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_sampler(sampler)
            .with_span_processor(processor);
        Ok(provider.build())
    }

    fn logs(&self, resource: &Resource, tally: &Arc<Tally>) -> Result<SdkLoggerProvider, ExporterBuildError> {
        let exporter = Tallied { inner: exporter!(self, LogExporter)?, tally: Arc::clone(tally) };
        let config = sdk_logs::BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE_MAX)
            .with_max_export_batch_size(BATCH_MAX)
            .build();
        let queue = BatchLogProcessor::builder(exporter).with_batch_config(config).build();
        let processor = Tallied { inner: queue, tally: Arc::clone(tally) };
        let provider =
            SdkLoggerProvider::builder().with_resource(resource.clone()).with_log_processor(processor);
        Ok(provider.build())
    }

    fn metrics(&self, builder: MeterProviderBuilder) -> Result<MeterProviderBuilder, ExporterBuildError> {
        Ok(builder.with_periodic_exporter(exporter!(self, MetricExporter)?))
    }
}
