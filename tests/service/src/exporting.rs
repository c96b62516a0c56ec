//! Telemetry of a test's own nodes: beside it run others, which have theirs.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use service::metrics::Instruments;
use telemetry::{LogFormat, Options, Pipelines};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::soon;

/// Pipelines, and the instruments that lead to them.
#[derive(Debug)]
pub struct Exporting {
    /// Where it goes.
    pub pipelines: Pipelines,
    /// For a cluster's [`crate::Setup`].
    pub instruments: Instruments,
}

impl Exporting {
    /// Metrics for scrapes, and everything over OTLP to this address, each call with a trace.
    #[must_use]
    pub fn to(otlp_endpoint: &str) -> Self {
        Self::start(Some(otlp_endpoint), 1.0)
    }

    /// The same, but with a trace only of calls whose caller asks for it.
    #[must_use]
    pub fn asked(otlp_endpoint: &str) -> Self {
        Self::start(Some(otlp_endpoint), 0.0)
    }

    /// Metrics for scrapes alone.
    #[must_use]
    pub fn metrics() -> Self {
        Self::start(None, 0.0)
    }

    fn start(otlp_endpoint: Option<&str>, trace_ratio: f64) -> Self {
        let options = Options {
            service: "wts-tests",
            version: "0",
            log_filter: "off".to_owned(),
            audit_target: middleware::AUDIT_TARGET,
            audit_log: None,
            log_format: LogFormat::Pretty,
            otlp_endpoint: otlp_endpoint.map(str::to_owned),
            trace_ratio,
            metrics_listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        };
        let pipelines = Pipelines::start(&options).expect("telemetry can be set up");
        let scope = Instruments::scope();
        let instruments = Instruments::new(&pipelines.meter(scope.clone()), pipelines.tracer(scope));
        Self { pipelines, instruments }
    }

    /// What Prometheus would scrape now.
    ///
    /// # Panics
    /// If nothing is answered.
    pub async fn scrape(&self) -> String {
        let address = self.pipelines.metrics_address().expect("metrics are served");
        let scraping = async {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: wts\r\nconnection: close\r\n\r\n").await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        let answer = soon("a scrape", scraping).await.expect("a scrape is answered");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    }

    /// The series that Prometheus would keep: names with their labels, without values.
    pub async fn series(&self) -> BTreeSet<String> {
        let text = self.scrape().await;
        let lines = text.lines().filter(|line| line.starts_with(['r', 't', 'w']));
        lines.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
    }
}
