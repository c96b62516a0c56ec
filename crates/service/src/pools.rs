//! The pools in which tickets find each other, as a server is set up.

use std::sync::Arc;

use matchmaker::{Policy, SpeedClass, TimeControlPlace, TimeControls};
use referee::{Mode, SealStatus, Settings, SettingsError, TimeControl};
use rules::Seat;
use store::{PoolName, Ticket};
use thiserror::Error;

/// A pool, not checked yet: [`Pools::new`] does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Its name.
    pub name: PoolName,
    /// The region it is meant for, as the operator names it, or empty.
    pub region: String,
    /// What its matches are played by, apart from the time control.
    pub settings: Settings,
    /// The time controls that can be asked for, 1 to 16. Of a pool with several, players who would play more
    /// than one find each other sooner.
    pub time_controls: Vec<TimeControl>,
    /// How much its players put up with, and after how long.
    pub policy: Policy,
}

/// The pools of a server, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pools(Arc<[Pool]>);

/// Why there are no such pools.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PoolsError {
    /// Two have one name.
    #[error("pool {0}: there are two of this name")]
    Twice(PoolName),
    /// There are too many.
    #[error("{0} pools; a server has at most {max}: each is looked after by itself", max = Pools::COUNT_MAX)]
    TooMany(usize),
    /// A pool cannot have this number of time controls.
    #[error("pool {pool}: it has {count} time controls; a pool has 1 to {}", TimeControlPlace::COUNT_MAX)]
    TimeControls {
        /// Which pool.
        pool: PoolName,
        /// How many it has.
        count: usize,
    },
    /// A match of the pool cannot be had.
    #[error("pool {pool}: {error}")]
    Settings {
        /// Which pool.
        pool: PoolName,
        /// What is wrong.
        error: SettingsError,
    },
    /// Players who were paired must come soon, or be known not to.
    #[error("pool {pool}: start_time must be set, at most {} ms", Pools::START_MAX_MS)]
    Start {
        /// Which pool.
        pool: PoolName,
    },
}

impl Pools {
    /// The most pools of a server: each is looked after twenty times a second by one of the nodes.
    pub const COUNT_MAX: usize = 64;

    /// The longest ready check of a pool, ms: tickets can be read long enough after it for the one who was let
    /// down to wait again, an outage of some minutes included.
    pub const START_MAX_MS: u64 = Ticket::RETENTION_MS / 2;

    /// The ready check of a pool that names none, ms: a phone wakes up, and nobody waits long for who is gone.
    pub const START_DEFAULT_MS: u64 = 20_000;

    /// Checks pools.
    ///
    /// # Errors
    /// The first that cannot be had.
    pub fn new(pools: Vec<Pool>) -> Result<Self, PoolsError> {
        if pools.len() > Self::COUNT_MAX {
            return Err(PoolsError::TooMany(pools.len()));
        }
        for (place, pool) in pools.iter().enumerate() {
            if pools[..place].iter().any(|other| other.name == pool.name) {
                return Err(PoolsError::Twice(pool.name.clone()));
            }
            pool.check()?;
        }
        Ok(Self(pools.into()))
    }

    /// None: nobody can queue.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::default())
    }

    /// The pool of this name.
    pub(crate) fn named(&self, name: &PoolName) -> Option<&Pool> {
        self.iter().find(|pool| pool.name == *name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Pool> {
        self.0.iter()
    }
}

impl Default for Pools {
    /// `casual` and `ranked`, each with 10 s and 30 s a turn, 3 minutes with 2 s more a turn, and a day a turn.
    fn default() -> Self {
        let time_controls = vec![
            TimeControl::PerTurn { turn_ms: 10_000 },
            TimeControl::PerTurn { turn_ms: 30_000 },
            TimeControl::Bank { initial_ms: 180_000, increment_ms: 2_000 },
            TimeControl::PerTurn { turn_ms: 24 * 60 * 60 * 1_000 },
        ];
        let pool = |name: &str, mode| {
            PoolName::new(name).ok().map(|name| Pool {
                name,
                region: String::new(),
                settings: Settings { mode, start_ms: Some(Self::START_DEFAULT_MS), ..Settings::default() },
                time_controls: time_controls.clone(),
                policy: Policy::default(),
            })
        };
        Self(pool("casual", Mode::Casual).into_iter().chain(pool("ranked", Mode::Ranked)).collect())
    }
}

impl Pool {
    fn check(&self) -> Result<(), PoolsError> {
        let (pool, count) = (self.name.clone(), self.time_controls.len());
        if !(1..=usize::from(TimeControlPlace::COUNT_MAX)).contains(&count) {
            return Err(PoolsError::TimeControls { pool, count });
        }
        for time in &self.time_controls {
            let error = self.settings_with(*time).validate().err();
            if let Some(error) = error {
                return Err(PoolsError::Settings { pool, error });
            }
        }
        match self.settings.start_ms {
            Some(start_ms) if start_ms <= Pools::START_MAX_MS => Ok(()),
            _ => Err(PoolsError::Start { pool }),
        }
    }

    /// What a match with this time control is played by. A ranked match hides seals where its clock can.
    pub(crate) fn settings_with(&self, time: TimeControl) -> Settings {
        let seal_status = match SealStatus::usual(self.settings.mode, time) {
            SealStatus::Hidden => SealStatus::Hidden,
            SealStatus::Visible => self.settings.seal_status,
        };
        Settings { time, seal_status, ..self.settings.clone() }
    }

    /// What a match against a bot is played by: one that does not count, and whose bot shows its seal.
    pub(crate) fn settings_with_bot(&self, time: TimeControl, bot: Seat, level: u8) -> Settings {
        Settings {
            mode: Mode::Casual,
            seal_status: SealStatus::Visible,
            bot: Some(referee::Bot { seat: bot, level }),
            ..self.settings_with(time)
        }
    }

    /// These of the pool's time controls; none of those that it does not have.
    pub(crate) fn places(&self, wished: &[TimeControl]) -> TimeControls {
        let place = |time: &TimeControl| {
            let at = self.time_controls.iter().position(|own| own == time)?;
            TimeControlPlace::new(u8::try_from(at).ok()?)
        };
        wished.iter().filter_map(place).collect()
    }
}

/// How fast a match is.
pub(crate) const fn speed_class(time: TimeControl) -> SpeedClass {
    match time {
        TimeControl::PerTurn { turn_ms } => SpeedClass::of_turn_ms(turn_ms),
        TimeControl::Bank { initial_ms, increment_ms } => SpeedClass::of_bank(initial_ms, increment_ms),
    }
}
