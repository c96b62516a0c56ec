//! Where a store's time comes from.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use tokio::sync::watch;

/// A gap between two operations on a shard above this counts as an outage, ms: three of the pauses of at most
/// a second that whoever keeps a shard's time makes.
pub const OUTAGE_MIN_MS: u64 = 3_000;

/// A clock, so that tests can script time instead of waiting for it.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch; never goes back.
    fn now_ms(&self) -> u64;

    /// Returns once [`Clock::now_ms`] is at least `at_ms`.
    async fn sleep_until_ms(&self, at_ms: u64);
}

/// The machine's clock: its wall time at start, then monotonic time, so that a step of the wall clock
/// never moves a deadline.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
    started_ms: u64,
}

impl SystemClock {
    /// A clock that starts at the machine's wall time.
    #[must_use]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_ms: whole_ms(since_epoch) }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        self.started_ms.saturating_add(whole_ms(self.started.elapsed()))
    }

    async fn sleep_until_ms(&self, at_ms: u64) {
        let wait_ms = at_ms.saturating_sub(self.now_ms());
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A clock that stands still until it is told to go on.
///
/// ```
/// use store::{Clock, ScriptedClock};
/// let clock = ScriptedClock::at_ms(1_000);
/// clock.advance_ms(500);
/// assert_eq!(clock.now_ms(), 1_500);
/// ```
#[derive(Debug)]
pub struct ScriptedClock {
    now_ms: watch::Sender<u64>,
}

impl ScriptedClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn at_ms(now_ms: u64) -> Self {
        Self { now_ms: watch::Sender::new(now_ms) }
    }

    /// Moves the clock on and wakes whoever slept until then.
    pub fn advance_ms(&self, ms: u64) {
        self.now_ms.send_modify(|now_ms| *now_ms = now_ms.saturating_add(ms));
    }
}

#[async_trait]
impl Clock for ScriptedClock {
    fn now_ms(&self) -> u64 {
        *self.now_ms.borrow()
    }

    async fn sleep_until_ms(&self, at_ms: u64) {
        let mut now_ms = self.now_ms.subscribe();
        // The sender lives in `self`, so the wait cannot fail while somebody can call it.
        let _ = now_ms.wait_for(|now_ms| *now_ms >= at_ms).await;
    }
}
