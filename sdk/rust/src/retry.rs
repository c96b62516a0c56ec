//! When a call is repeated: the policy that the service config gives to every client.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tonic::Status;

/// The time a call has, its retries included, unless the client is built with another.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// The most tries of a call, the first one included.
pub(crate) const TRIES_MAX: u32 = 4;

/// The longest wait before the second try; it doubles with each further one.
const BACKOFF_FIRST: Duration = Duration::from_millis(100);

/// The longest wait before any try.
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// Thousandths of a token that a client starts with, and has at most.
const TOKENS_MAX_MILLI: u32 = 100_000;

/// Thousandths of a token that a call which gets no answer costs.
const FAILURE_COST_MILLI: u32 = 1_000;

/// Thousandths of a token that an answered call gives back.
const SUCCESS_GAIN_MILLI: u32 = 100;

/// A wait before try `tries + 1`: anything up to `first` doubled with each try, at most `max`. Spread
/// over the whole range, so that clients which lost the same node do not come back at once.
pub(crate) fn backoff(first: Duration, max: Duration, tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(16);
    let longest = first.saturating_mul(1 << doublings).min(max);
    longest.mul_f64(rand::random_range(0.0..=1.0))
}

/// The wait before the next try of a call that was tried `tries` times; the server's word goes first.
/// None: no further try.
pub(crate) fn delay(pushback: Pushback, asked: Option<Duration>, tries: u32) -> Option<Duration> {
    if tries >= TRIES_MAX {
        return None;
    }
    match pushback {
        Pushback::Never => None,
        Pushback::After(delay) => Some(delay),
        Pushback::None => Some(asked.unwrap_or_else(|| backoff(BACKOFF_FIRST, BACKOFF_MAX, tries))),
    }
}

/// What `grpc-retry-pushback-ms` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pushback {
    /// Nothing.
    None,
    /// Try again after this.
    After(Duration),
    /// Do not try again: a value that is negative or no number.
    Never,
}

impl Pushback {
    pub(crate) fn of(status: &Status) -> Self {
        let Some(value) = status.metadata().get(wire::METADATA_RETRY_PUSHBACK) else { return Self::None };
        match value.to_str().ok().and_then(|text| text.parse().ok()) {
            Some(delay_ms) => Self::After(Duration::from_millis(delay_ms)),
            None => Self::Never,
        }
    }
}

/// Stops retries while most calls fail, so that they do not bury a server that is down.
#[derive(Debug)]
pub(crate) struct Throttle {
    tokens_milli: AtomicU32,
}

impl Throttle {
    pub(crate) const fn new() -> Self {
        Self { tokens_milli: AtomicU32::new(TOKENS_MAX_MILLI) }
    }

    /// Counts a call that got an answer.
    pub(crate) fn succeeded(&self) {
        self.update(|tokens| (tokens + SUCCESS_GAIN_MILLI).min(TOKENS_MAX_MILLI));
    }

    /// Counts a try that got none; says whether another one is allowed.
    pub(crate) fn failed(&self) -> bool {
        self.update(|tokens| tokens.saturating_sub(FAILURE_COST_MILLI)) > TOKENS_MAX_MILLI / 2
    }

    fn update(&self, change: impl Fn(u32) -> u32) -> u32 {
        let changed = |tokens| Some(change(tokens));
        let before = self.tokens_milli.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
        change(before.unwrap_or_else(|tokens| tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: &serde_json::Value) -> Duration {
        let text = value.as_str().and_then(|text| text.strip_suffix('s')).unwrap();
        Duration::from_secs_f64(text.parse().unwrap())
    }

    #[test]
    fn the_policy_is_the_service_configs() {
        let config: serde_json::Value = serde_json::from_str(wire::SERVICE_CONFIG).unwrap();
        let calls = &config["methodConfig"][0];
        let policy = &calls["retryPolicy"];
        assert_eq!(seconds(&calls["timeout"]), DEADLINE);
        assert_eq!(policy["maxAttempts"], TRIES_MAX);
        assert_eq!(seconds(&policy["initialBackoff"]), BACKOFF_FIRST);
        assert_eq!(seconds(&policy["maxBackoff"]), BACKOFF_MAX);
        assert_eq!(policy["backoffMultiplier"], 2);
        assert_eq!(policy["retryableStatusCodes"], serde_json::json!(["UNAVAILABLE"]));
        let throttling = &config["retryThrottling"];
        assert_eq!(throttling["maxTokens"], TOKENS_MAX_MILLI / FAILURE_COST_MILLI);
        let ratio = f64::from(SUCCESS_GAIN_MILLI) / f64::from(FAILURE_COST_MILLI);
        assert_eq!(throttling["tokenRatio"], ratio);
    }

    #[test]
    fn a_wait_doubles_up_to_its_bound() {
        for _ in 0..100 {
            assert!(backoff(BACKOFF_FIRST, BACKOFF_MAX, 1) <= BACKOFF_FIRST);
            assert!(backoff(BACKOFF_FIRST, BACKOFF_MAX, 3) <= 4 * BACKOFF_FIRST);
            assert!(backoff(BACKOFF_FIRST, BACKOFF_MAX, u32::MAX) <= BACKOFF_MAX);
        }
    }

    #[test]
    fn retries_stop_while_most_calls_fail() {
        let throttle = Throttle::new();
        let allowed = (0..100).take_while(|_| throttle.failed()).count();
        assert_eq!(allowed, 49);
        for _ in 0..20 {
            throttle.succeeded();
        }
        assert!(throttle.failed());
    }
}
