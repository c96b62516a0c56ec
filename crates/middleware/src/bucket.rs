//! A rate with a burst.

use std::fmt;
use std::num::NonZero;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

/// So much a second, and so much at once after a pause. It has no lock: whoever takes from it counts up one number.
///
/// ```
/// use middleware::Bucket;
///
/// let bucket = Bucket::new(1, 2);
/// assert!(bucket.take(2).is_ok());
/// assert!(bucket.take(1).is_err());
/// ```
pub struct Bucket {
    limiter: RateLimiter<NotKeyed, InMemoryState, RuntimeClock, NoOpMiddleware<Nanos>>,
    burst: u32,
}

impl Bucket {
    /// A full one. Of either number at least 1.
    #[must_use]
    pub fn new(per_s: u32, burst: u32) -> Self {
        let [per_s, burst] = [per_s, burst].map(|count| NonZero::new(count).unwrap_or(NonZero::<u32>::MIN));
        let quota = Quota::per_second(per_s).allow_burst(burst);
        let limiter = RateLimiter::direct_with_clock(quota, RuntimeClock { start: Instant::now() });
        Self { limiter, burst: burst.get() }
    }

    /// Takes so much. More than fits in at once takes all.
    ///
    /// # Errors
    /// There is not so much in it now, but will be after this time.
    pub fn take(&self, count: u32) -> Result<(), Duration> {
        let Some(count) = NonZero::new(count.min(self.burst)) else { return Ok(()) };
        match self.limiter.check_n(count) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => {
                let now = self.limiter.clock().now();
                Err(not_until.wait_time_from(now))
            }
            // It cannot ask for more than fits.
            Err(_) => Ok(()),
        }
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").finish_non_exhaustive()
    }
}

/// The runtime's clock, from the moment that the bucket was made.
#[derive(Clone, Debug)]
struct RuntimeClock {
    start: Instant,
}

impl Clock for RuntimeClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::from(self.start.elapsed())
    }
}
