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

/// Milliseconds of a span that came from outside: whole, and not negative.
pub(crate) fn duration_ms(field: &str, reason: ErrorReason, duration: &Duration) -> Result<u64, ApiError> {
    let whole = |value: i64, unit: u64| u64::try_from(value).ok().filter(|value| value % unit == 0);
    let ms = u64::try_from(duration.seconds)
        .ok()
        .and_then(|seconds| seconds.checked_mul(MS_PER_SECOND))
        .zip(whole(i64::from(duration.nanos), NANOS_PER_MS).filter(|nanos| *nanos < 1_000_000_000))
        .and_then(|(ms, nanos)| ms.checked_add(nanos / NANOS_PER_MS));
    ms.ok_or_else(|| ApiError::field(reason, field, "a duration is whole milliseconds and not negative"))
}
