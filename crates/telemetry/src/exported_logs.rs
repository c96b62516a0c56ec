//! What of the log leaves over OTLP.

use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Targets that are not exported: an export makes events there itself.
const OWN_TARGETS: [&str; 5] = ["h2", "hyper", "opentelemetry", "tonic", "tower"];

/// The layer that hands events over for their export.
pub(crate) fn layer<S>(provider: &SdkLoggerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    OpenTelemetryTracingBridge::new(provider)
        .with_filter(filter_fn(|metadata| is_exported(metadata.target())))
}

/// Whether events of this target may leave.
fn is_exported(target: &str) -> bool {
    !OWN_TARGETS.iter().any(|own| {
        // `h2` and `h2::codec`, also `opentelemetry_sdk` and `opentelemetry-otlp`, but not `h2o`.
        target.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '_', '-']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exporting_says_of_itself_is_not_exported() {
        for own in ["h2::codec::framed_write", "hyper_util::client", "tonic::transport", "opentelemetry-otlp"]
        {
            assert!(!is_exported(own), "{own}");
        }
        for other in ["service::clockwork", "store_redis::bus", "middleware::trace", "h2o"] {
            assert!(is_exported(other), "{other}");
        }
    }
}
