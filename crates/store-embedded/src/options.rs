//! How a store is opened.

use store::Stored;

use crate::disk::Durability;

/// A day, ms.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How a store is opened. A [`Durability`] alone is one with everything else by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) ends_unopenable: bool,
    pub(crate) retention_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        let retention_ms = retention_ms(Self::RETENTION_DAYS_DEFAULT);
        Self { durability: Durability::Power, ends_unopenable: false, retention_ms }
    }
}

/// So many days, within what can be chosen.
pub(crate) fn retention_ms(days: u32) -> u64 {
    u64::from(days.clamp(Options::RETENTION_DAYS_MIN, Options::RETENTION_DAYS_MAX)) * DAY_MS
}

impl From<Durability> for Options {
    fn from(durability: Durability) -> Self {
        Self { durability, ..Self::default() }
    }
}

impl Options {
    /// How long a finished match can be read if nothing else is said, days: longer than any claim or invite.
    pub const RETENTION_DAYS_DEFAULT: u32 = (Stored::RETENTION_DEFAULT_MS / DAY_MS) as u32;

    /// The shortest retention, days: an invite that was accepted, and a request that made a match, are
    /// remembered for a day, and whoever reads them makes a match that is not there.
    pub const RETENTION_DAYS_MIN: u32 = 1;

    /// The longest retention, days: ten years.
    pub const RETENTION_DAYS_MAX: u32 = 3_650;

    /// What an acknowledged commit survives; by default the end of the power.
    #[must_use]
    pub const fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How long a finished match can be read, days; what is below the least or above the most is taken for
    /// that. A match that is over already keeps the time that it was given then.
    #[must_use]
    pub fn with_retention_days(mut self, days: u32) -> Self {
        self.retention_ms = retention_ms(days);
        self
    }

    /// Ends the matches that wait with a sealed move that no key of the keyring opens: they are void. Not by
    /// default, as the key may be found again; then the store does not open.
    #[must_use]
    pub const fn ending_unopenable(mut self) -> Self {
        self.ends_unopenable = true;
        self
    }
}
