//! What the players agreed on before the match.

use rules::{RulesVersion, Seat};
use sealing::{Bank, BotSeat, SettingsFields};
use thiserror::Error;

const SECOND_MS: u64 = 1_000;
const DAY_MS: u64 = 24 * 60 * 60 * SECOND_MS;

/// How long a seat may think.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeControl {
    /// Both seats have this long for every turn, ms.
    PerTurn {
        /// Time for one turn, ms.
        turn_ms: u64,
    },
    /// A seat's clock runs from a turn's opening until it seals.
    Bank {
        /// On the clock before turn 1, ms.
        initial_ms: u64,
        /// Added for every sealed turn, ms.
        increment_ms: u64,
    },
}

/// Who keeps a move secret until both are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SealMode {
    /// The client sends cell and salt, the server keeps them.
    ServerSealed,
    /// The client sends a commitment and reveals it once both are in.
    CommitReveal {
        /// Time to reveal, from the second commitment on, ms.
        reveal_ms: u64,
    },
}

/// Whether the match counts for ratings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It does not count.
    Casual,
    /// It counts.
    Ranked,
}

/// Who may watch without a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spectators {
    /// Nobody.
    None,
    /// Any authenticated player, as it happens.
    Live,
}

/// Whether the opponent learns *that* a seat has sealed before the turn resolves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SealStatus {
    /// He sees the flag and the commitment.
    Visible,
    /// He sees nothing; gives up the proof of order.
    Hidden,
}

impl SealStatus {
    /// Whether sealing shows where nobody has chosen: a ranked match hides it, unless its clock would tell.
    #[must_use]
    pub const fn usual(mode: Mode, time: TimeControl) -> Self {
        match (mode, time) {
            (Mode::Ranked, TimeControl::PerTurn { .. }) => Self::Hidden,
            (Mode::Ranked, TimeControl::Bank { .. }) | (Mode::Casual, _) => Self::Visible,
        }
    }
}

/// A seat that the service itself plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bot {
    /// Where it sits.
    pub seat: Seat,
    /// Its level's number on the wire, 1 to 7.
    pub level: u8,
}

/// The settings of a match. They never change once it exists and are part of h_0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The rules it is played by.
    pub rules_version: RulesVersion,
    /// How long a seat may think.
    pub time: TimeControl,
    /// Who keeps the moves.
    pub seal_mode: SealMode,
    /// Whether it counts.
    pub mode: Mode,
    /// Who may watch.
    pub spectators: Spectators,
    /// Whether sealing shows.
    pub seal_status: SealStatus,
    /// Time for both to join after creation, ms; without it only the idle limit bounds the wait.
    pub start_ms: Option<u64>,
    /// The match is a draw after this many turns: the rules alone allow endless repetition.
    pub turn_limit: u32,
    /// The match is void after this long without a change, ms, so that it always ends.
    pub idle_ms: u64,
    /// The seat a bot plays, if any.
    pub bot: Option<Bot>,
}

impl Default for Settings {
    /// A casual match of 30 s turns that nobody else may watch.
    fn default() -> Self {
        Self {
            rules_version: RulesVersion::NEWEST,
            time: TimeControl::PerTurn { turn_ms: Self::TURN_DEFAULT_MS },
            seal_mode: SealMode::ServerSealed,
            mode: Mode::Casual,
            spectators: Spectators::None,
            seal_status: SealStatus::Visible,
            start_ms: None,
            turn_limit: Self::TURN_LIMIT_DEFAULT,
            idle_ms: Self::IDLE_DEFAULT_MS,
            bot: None,
        }
    }
}

/// A setting outside its range. The name is that of the field in `MatchSettings`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SettingsError {
    /// A number is out of its range.
    #[error("{field} must be from {min} to {max} {unit}")]
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// The least allowed.
        min: u64,
        /// The most allowed.
        max: u64,
        /// The unit of both.
        unit: &'static str,
    },
    /// The referee cannot run such a match.
    #[error("{field}: {what}")]
    Unsupported {
        /// The field's name.
        field: &'static str,
        /// What cannot be had, and what can.
        what: &'static str,
    },
}

impl SettingsError {
    /// The field at fault, as `MatchSettings` names it.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::OutOfRange { field, .. } | Self::Unsupported { field, .. } => field,
        }
    }
}

impl Settings {
    /// The least time for a turn, ms: below a second the network decides.
    pub const TURN_MIN_MS: u64 = SECOND_MS;
    /// The most time for a turn, ms: two weeks, for correspondence.
    pub const TURN_MAX_MS: u64 = 14 * DAY_MS;
    /// The time for a turn where none is named, ms.
    pub const TURN_DEFAULT_MS: u64 = 30 * SECOND_MS;
    /// The least on a bank clock, ms: below it the network decides.
    pub const BANK_MIN_MS: u64 = 10 * SECOND_MS;
    /// The most on a bank clock, ms, increments included.
    pub const BANK_MAX_MS: u64 = 14 * DAY_MS;
    /// The most increment a turn, ms.
    pub const INCREMENT_MAX_MS: u64 = DAY_MS;
    /// The least time to reveal, ms: clients reveal by themselves, over a slow network.
    pub const REVEAL_MIN_MS: u64 = SECOND_MS;
    /// The most time to reveal, ms.
    pub const REVEAL_MAX_MS: u64 = DAY_MS;
    /// The time to reveal where none is named, ms.
    pub const REVEAL_DEFAULT_MS: u64 = 10 * SECOND_MS;
    /// The least time to join, ms: a phone must wake up.
    pub const START_MIN_MS: u64 = 5 * SECOND_MS;
    /// The most time to join, ms: a match that takes longer to begin is an invite.
    pub const START_MAX_MS: u64 = DAY_MS;
    /// The most turns: it bounds a match's stored history.
    pub const TURN_LIMIT_MAX: u32 = 500;
    /// The turn limit where none is named.
    pub const TURN_LIMIT_DEFAULT: u32 = 500;
    /// The least idle limit, ms: the longest clock. Were it shorter, a player who is losing could leave
    /// his turn unsealed and get a void before his flag falls.
    pub const IDLE_MIN_MS: u64 = 14 * DAY_MS;
    /// The most idle limit, ms: a month without a move is nobody's match any more.
    pub const IDLE_MAX_MS: u64 = 30 * DAY_MS;
    /// The idle limit where none is named, ms.
    pub const IDLE_DEFAULT_MS: u64 = 30 * DAY_MS;

    /// Whether a bot plays this seat.
    #[must_use]
    pub fn is_bot(&self, seat: Seat) -> bool {
        self.bot.is_some_and(|bot| bot.seat == seat)
    }

    /// Checks every range, and that this referee can run such a match.
    ///
    /// # Errors
    /// The first field at fault.
    pub fn validate(&self) -> Result<(), SettingsError> {
        match self.time {
            TimeControl::PerTurn { turn_ms } => {
                in_range("turn_time", turn_ms, Self::TURN_MIN_MS, Self::TURN_MAX_MS, "ms")?;
            }
            TimeControl::Bank { initial_ms, increment_ms } => {
                in_range("bank.initial", initial_ms, Self::BANK_MIN_MS, Self::BANK_MAX_MS, "ms")?;
                in_range("bank.increment", increment_ms, 0, Self::INCREMENT_MAX_MS, "ms")?;
                if self.seal_status == SealStatus::Hidden {
                    let what = "a bank clock shows when a seat seals; use VISIBLE or turn_time";
                    return Err(unsupported("seal_status", what));
                }
            }
        }
        if let SealMode::CommitReveal { reveal_ms } = self.seal_mode {
            in_range("reveal_time", reveal_ms, Self::REVEAL_MIN_MS, Self::REVEAL_MAX_MS, "ms")?;
        }
        if let Some(start_ms) = self.start_ms {
            in_range("start_time", start_ms, Self::START_MIN_MS, Self::START_MAX_MS, "ms")?;
        }
        if self.mode == Mode::Ranked && self.start_ms.is_none() {
            let what = "players are reserved for a ranked match, which must begin or end soon; set it";
            return Err(unsupported("start_time", what));
        }
        if self.bot.is_some() && self.mode == Mode::Ranked {
            return Err(unsupported("mode", "a match against a bot does not count; use CASUAL"));
        }
        if self.bot.is_some() && self.seal_status == SealStatus::Hidden {
            let what = "a bot's seal shows, so that it cannot have seen yours; use VISIBLE";
            return Err(unsupported("seal_status", what));
        }
        in_range("turn_limit", u64::from(self.turn_limit), 1, u64::from(Self::TURN_LIMIT_MAX), "turns")?;
        in_range("idle_limit", self.idle_ms, Self::IDLE_MIN_MS, Self::IDLE_MAX_MS, "ms")
    }

    /// The settings as h_0 sees them.
    #[must_use]
    pub fn fields(&self) -> SettingsFields {
        let (turn_time_ms, bank) = match self.time {
            TimeControl::PerTurn { turn_ms } => (Some(turn_ms), None),
            TimeControl::Bank { initial_ms, increment_ms } => (None, Some(Bank { initial_ms, increment_ms })),
        };
        let (seal_mode, reveal_time_ms) = match self.seal_mode {
            SealMode::ServerSealed => (1, None),
            SealMode::CommitReveal { reveal_ms } => (2, Some(reveal_ms)),
        };
        SettingsFields {
            rules_version: self.rules_version.name().to_owned(),
            turn_time_ms,
            bank,
            seal_mode,
            reveal_time_ms,
            mode: if self.mode == Mode::Casual { 1 } else { 2 },
            spectators: if self.spectators == Spectators::None { 1 } else { 2 },
            seal_status: if self.seal_status == SealStatus::Visible { 1 } else { 2 },
            start_time_ms: self.start_ms,
            turn_limit: u64::from(self.turn_limit),
            idle_limit_ms: self.idle_ms,
            bot: self.bot.map(|bot| BotSeat { seat: bot.seat, level: u64::from(bot.level) }),
        }
    }
}

const fn unsupported(field: &'static str, what: &'static str) -> SettingsError {
    SettingsError::Unsupported { field, what }
}

fn in_range(
    field: &'static str,
    value: u64,
    min: u64,
    max: u64,
    unit: &'static str,
) -> Result<(), SettingsError> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(SettingsError::OutOfRange { field, min, max, unit })
    }
}
