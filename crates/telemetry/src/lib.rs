//! What the Shell: logs, traces and metrics of a process.
//!
//! Libraries instrument by the APIs of `tracing` and OpenTelemetry; the binary sets up here where that goes, from
//! plain [`Options`]: a log on standard error, metrics for Prometheus to scrape, and logs, traces and metrics
//! over OTLP (gRPC) to a collector. Nothing is on that was not asked for, except the log.
//!
//! # Invariants
//! - Nobody who is measured ever waits for an exporter: what leaves the process goes through queues with a bound,
//!   and what finds no place there is dropped and counted (`wts.telemetry.lost`).
//! - Exporters and the scrape endpoint run on a thread of their own. A collector that is slow, hangs or is dead
//!   costs the rest of the process nothing, and its end at most [`SHUTDOWN_MAX`].
//! - What is exported does not speak of exporting it: with no collector there, telemetry would feed itself.
//! - Who calls can ask for a trace of his call, but not for more than [`ASKED_PER_SECOND_MAX`] of them.

mod audit;
mod exported_logs;
mod lines;
mod lost;
mod pipelines;
mod sampler;
mod scrape;

pub use lines::LogFormat;
pub use pipelines::{Pipelines, SHUTDOWN_MAX, TelemetryError};
pub use sampler::ASKED_PER_SECOND_MAX;

use std::net::SocketAddr;
use std::path::PathBuf;

use opentelemetry::global;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// What the log says of telemetry itself where its filter does not speak of it: what goes wrong.
const OWN_LOG: &str = "opentelemetry=warn";

/// What leaves a process, and whereto.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the process is named where `OTEL_SERVICE_NAME` does not say.
    pub service: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What is logged, in `tracing`'s syntax of filters; holds for the log and for logs over OTLP.
    pub log_filter: String,
    /// How lines of the log look.
    pub log_format: LogFormat,
    /// The target of the audit log's events. They leave over OTLP under no circumstances: they name players.
    pub audit_target: &'static str,
    /// The file that they are written to, at any level; none: they are lines of the log, as its filter has it.
    pub audit_log: Option<PathBuf>,
    /// The collector's address, `http://HOST:PORT` or `https://HOST:PORT`; none: nothing goes over OTLP.
    pub otlp_endpoint: Option<String>,
    /// The part of the calls that is traced, 0 to 1, where nobody has decided that before.
    pub trace_ratio: f64,
    /// Where Prometheus can scrape `/metrics`; port 0 takes a free one. None: nowhere.
    pub metrics_listen: Option<SocketAddr>,
}

/// Sets up the process's log and telemetry, once, before anything is instrumented. It all ends, within
/// [`SHUTDOWN_MAX`], with [`Pipelines::shutdown`], or when the pipelines are dropped.
///
/// # Errors
/// The filter is none, the collector's address is none, the audit log cannot be opened, or the address for scrapes
/// cannot be listened on.
pub fn start(options: &Options) -> Result<Pipelines, TelemetryError> {
    let mut pipelines = Pipelines::start(options)?;
    let audit_target = options.audit_target;
    let mut filter = log_filter(&options.log_filter)?;
    let audit = match &options.audit_log {
        None => None,
        Some(path) => {
            let wrong = |error| TelemetryError::LogFilter { error };
            filter = filter.add_directive(format!("{audit_target}=trace").parse().map_err(wrong)?);
            let (layer, guard) = audit::layer(audit_target, path).map_err(TelemetryError::AuditLog)?;
            pipelines.keep(guard);
            Some(layer)
        }
    };
    // Nothing is told twice.
    let in_log = audit.is_none();
    let lines = lines::layer(options.log_format)
        .with_filter(filter_fn(move |metadata| in_log || metadata.target() != audit_target));
    let exported =
        pipelines.exported_logs().with_filter(filter_fn(move |metadata| metadata.target() != audit_target));
    tracing_subscriber::registry().with(filter).with(lines).with(exported).with(audit).init();
    if let Some(provider) = pipelines.tracer_provider() {
        global::set_tracer_provider(provider.clone());
    }
    if let Some(provider) = pipelines.meter_provider() {
        global::set_meter_provider(provider.clone());
    }
    Ok(pipelines)
}

fn log_filter(text: &str) -> Result<EnvFilter, TelemetryError> {
    let wrong = |error| TelemetryError::LogFilter { error };
    if text.contains("opentelemetry") {
        return EnvFilter::try_new(text).map_err(wrong);
    }
    EnvFilter::try_new(format!("{OWN_LOG},{text}")).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_says_what_goes_wrong_with_telemetry_unless_it_is_told_otherwise() {
        assert!(log_filter("info").unwrap().to_string().contains(OWN_LOG));
        assert!(!log_filter("info,opentelemetry=trace").unwrap().to_string().contains(OWN_LOG));
        assert!(log_filter("no=such=filter").is_err());
    }
}
