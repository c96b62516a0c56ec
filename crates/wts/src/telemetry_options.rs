//! What of a server leaves it: its log, traces and metrics.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use telemetry::{LogFormat, Options};

/// Options about telemetry.
#[derive(Args)]
pub(crate) struct TelemetryOptions {
    /// What to log, as tracing's filters say it: `info`, `service=debug`
    #[arg(long, env = "WTS_LOG", value_name = "FILTER", default_value = "info")]
    log: String,

    /// How lines of the log look: `pretty` for people, `json` for programs, an object a line
    #[arg(long, env = "WTS_LOG_FORMAT", value_name = "FORMAT", value_enum, default_value_t)]
    log_format: Format,

    /// What back ends and operators did goes to this file, an object a line, and not to the log. Lines are added at its
    /// end; they name players and resources
    #[arg(long, env = "WTS_AUDIT_LOG", value_name = "FILE")]
    audit_log: Option<PathBuf>,

    /// The collector that gets traces, metrics and logs over OTLP (gRPC), `http://HOST:4317` or `https://HOST:4317`.
    /// Nothing leaves if not given. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` name the node,
    /// `OTEL_EXPORTER_OTLP_HEADERS` is sent along
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    otlp_endpoint: Option<String>,

    /// The part of the calls that is traced, 0 to 1, where the caller does not say. What callers ask for is traced
    /// too, 100 calls a second at most
    #[arg(long, env = "OTEL_TRACES_SAMPLER_ARG", value_name = "RATIO", default_value_t = 0.01)]
    trace_ratio: f64,

    /// Where Prometheus can scrape `/metrics`, ADDRESS:PORT; not for everyone to reach. Nowhere if not given
    #[arg(long, env = "WTS_METRICS_LISTEN", value_name = "ADDRESS:PORT")]
    metrics_listen: Option<SocketAddr>,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    #[default]
    Pretty,
    Json,
}

impl TelemetryOptions {
    /// As the telemetry takes them.
    ///
    /// # Errors
    /// The ratio is none.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        if !(0.0..=1.0).contains(&self.trace_ratio) {
            bail!("--trace-ratio is 0 to 1");
        }
        Ok(Options {
            service: "wts",
            version: env!("CARGO_PKG_VERSION"),
            log_filter: self.log.clone(),
            log_format: match self.log_format {
                Format::Pretty => LogFormat::Pretty,
                Format::Json => LogFormat::Json,
            },
            audit_target: middleware::AUDIT_TARGET,
            audit_log: self.audit_log.clone(),
            otlp_endpoint: self.otlp_endpoint.clone().filter(|endpoint| !endpoint.is_empty()),
            trace_ratio: self.trace_ratio,
            metrics_listen: self.metrics_listen,
        })
    }
}
