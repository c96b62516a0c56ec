//! Stamps and spans of time.

use prost_types::{Duration, Timestamp};
use referee::Stamp;
use wire::ApiError;
use wire::v1::ErrorReason;

const MS_PER_SECOND: u64 = 1_000;
const NANOS_PER_MS: u64 = 1_000_000;

/// A stamp as the wire has it; it is exact.
pub(crate) fn timestamp(stamp: Stamp) -> Timestamp {
    let (seconds, nanos) = split(stamp.as_ms());
    Timestamp { seconds, nanos }
}

/// Milliseconds as the wire has them.
pub(crate) fn duration(ms: u64) -> Duration {
    let (seconds, nanos) = split(ms);
    Duration { seconds, nanos }
}

fn split(ms: u64) -> (i64, i32) {
    // Both fit: u64::MAX / 1000 is below i64::MAX, and a rest of milliseconds below 10^9 ns.
    ((ms / MS_PER_SECOND) as i64, (ms % MS_PER_SECOND * NANOS_PER_MS) as i32)
}

/// Milliseconds since 1970 of a moment that this service once said.
pub(crate) fn timestamp_ms(field: &str, timestamp: &Timestamp) -> Result<u64, ApiError> {
    let since = Duration { seconds: timestamp.seconds, nanos: timestamp.nanos };
    let what = "a time of this server is whole milliseconds after 1970";
    ms(&since).ok_or_else(|| ApiError::field(ErrorReason::FieldInvalid, field, what))
}

/// Milliseconds of a span that came from outside: whole, and not negative.
pub(crate) fn duration_ms(field: &str, reason: ErrorReason, duration: &Duration) -> Result<u64, ApiError> {
    let what = "a duration is whole milliseconds and not negative";
    ms(duration).ok_or_else(|| ApiError::field(reason, field, what))
}

fn ms(span: &Duration) -> Option<u64> {
    let whole = |value: i64, unit: u64| u64::try_from(value).ok().filter(|value| value % unit == 0);
    u64::try_from(span.seconds)
        .ok()
        .and_then(|seconds| seconds.checked_mul(MS_PER_SECOND))
        .zip(whole(i64::from(span.nanos), NANOS_PER_MS).filter(|nanos| *nanos < 1_000_000_000))
        .and_then(|(ms, nanos)| ms.checked_add(nanos / NANOS_PER_MS))
}
