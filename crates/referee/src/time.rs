//! Moments, as the store's clock tells them.

use std::fmt;

/// A moment of a store's clock: milliseconds since the Unix epoch.
///
/// Stamps of one match are comparable; stamps of different store shards are not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp(u64);

impl Stamp {
    /// The stamp this many milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// The stamp `ms` milliseconds later, or the last one there is.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this stamp, zero if it lies ahead.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// What a command is judged by: the store's time, and how long the store has been out so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    /// The moment.
    pub stamp: Stamp,
    /// The sum of all outages of the match's shard, ms. Deadlines move by what was added to it since
    /// they were set, so nobody flags because the service was down.
    pub outage_ms: u64,
}

impl Now {
    /// A moment of a store that was never out.
    #[must_use]
    pub const fn at_ms(ms: u64) -> Self {
        Self { stamp: Stamp::from_ms(ms), outage_ms: 0 }
    }
}
