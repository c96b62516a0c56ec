//! Match settings.

use referee::{Mode, RulesVersion, SealMode, SealStatus, Settings, Spectators, TimeControl};
use wire::ApiError;
use wire::v1::{self, ErrorReason, match_settings};

use super::time::{duration, duration_ms};

const DEFAULT_RANKED_START_MS: u64 = 20_000;

/// Settings from a request: defaults filled in, every range checked. `field` is where they stand in it.
pub(crate) fn from_wire(field: &str, wire: Option<&v1::MatchSettings>) -> Result<Settings, ApiError> {
    let default = v1::MatchSettings::default();
    let wire = wire.unwrap_or(&default);
    let read = Reader { field, wire };
    let mode = read.mode()?;
    let time = read.time_control()?;
    let settings = Settings {
        rules_version: read.rules_version()?,
        time,
        seal_mode: read.seal_mode()?,
        mode,
        spectators: read.spectators()?,
        seal_status: read.seal_status(mode, time)?,
        start_ms: read.start_ms(mode)?,
        turn_limit: if wire.turn_limit == 0 { Settings::TURN_LIMIT_DEFAULT } else { wire.turn_limit },
        idle_ms: read.span("idle_limit", wire.idle_limit.as_ref())?.unwrap_or(Settings::IDLE_DEFAULT_MS),
        bot: None,
    };
    if wire.bot.is_some() {
        return Err(read.invalid("bot", "it is set by CreateBotMatch only; leave it unset"));
    }
    settings.validate().map_err(|error| read.invalid(error.field(), &error.to_string()))?;
    Ok(settings)
}

/// Settings as they are shown: every field that applies is set.
pub(crate) fn to_wire(settings: &Settings) -> v1::MatchSettings {
    let fields = settings.fields();
    let time_control = match settings.time {
        TimeControl::PerTurn { turn_ms } => match_settings::TimeControl::TurnTime(duration(turn_ms)),
        TimeControl::Bank { initial_ms, increment_ms } => match_settings::TimeControl::Bank(v1::BankClock {
            initial: Some(duration(initial_ms)),
            increment: Some(duration(increment_ms)),
        }),
    };
    // The numbers of the domain's fields are those of the wire: both are hashed into h_0.
    v1::MatchSettings {
        rules_version: fields.rules_version,
        time_control: Some(time_control),
        seal_mode: fields.seal_mode as i32,
        reveal_time: fields.reveal_time_ms.map(duration),
        mode: fields.mode as i32,
        spectators: fields.spectators as i32,
        seal_status: fields.seal_status as i32,
        start_time: fields.start_time_ms.map(duration),
        turn_limit: settings.turn_limit,
        idle_limit: Some(duration(fields.idle_limit_ms)),
        bot: settings
            .bot
            .map(|bot| v1::BotSeat { seat: super::seat(bot.seat).into(), level: i32::from(bot.level) }),
    }
}

/// Reads one field after the other and knows where they stand.
struct Reader<'a> {
    field: &'a str,
    wire: &'a v1::MatchSettings,
}

impl Reader<'_> {
    fn invalid(&self, name: &str, what: &str) -> ApiError {
        ApiError::field(ErrorReason::SettingsInvalid, &format!("{}.{name}", self.field), what)
    }

    fn span(&self, name: &str, span: Option<&prost_types::Duration>) -> Result<Option<u64>, ApiError> {
        let field = format!("{}.{name}", self.field);
        span.map(|span| duration_ms(&field, ErrorReason::SettingsInvalid, span)).transpose()
    }

    fn rules_version(&self) -> Result<RulesVersion, ApiError> {
        if self.wire.rules_version.is_empty() {
            return Ok(Settings::default().rules_version);
        }
        RulesVersion::from_name(&self.wire.rules_version)
            .ok_or_else(|| self.invalid("rules_version", "this server does not know it; see GetServerInfo"))
    }

    fn time_control(&self) -> Result<TimeControl, ApiError> {
        match &self.wire.time_control {
            None => Ok(Settings::default().time),
            Some(match_settings::TimeControl::TurnTime(time)) => {
                Ok(TimeControl::PerTurn { turn_ms: self.span("turn_time", Some(time))?.unwrap_or_default() })
            }
            Some(match_settings::TimeControl::Bank(bank)) => Ok(TimeControl::Bank {
                initial_ms: self.span("bank.initial", bank.initial.as_ref())?.unwrap_or_default(),
                increment_ms: self.span("bank.increment", bank.increment.as_ref())?.unwrap_or_default(),
            }),
        }
    }

    fn seal_mode(&self) -> Result<SealMode, ApiError> {
        let reveal_ms = self.span("reveal_time", self.wire.reveal_time.as_ref())?;
        match v1::SealMode::try_from(self.wire.seal_mode) {
            Ok(v1::SealMode::CommitReveal) => {
                Ok(SealMode::CommitReveal { reveal_ms: reveal_ms.unwrap_or(Settings::REVEAL_DEFAULT_MS) })
            }
            Ok(v1::SealMode::Unspecified | v1::SealMode::ServerSealed) if reveal_ms.is_some() => {
                Err(self.invalid("reveal_time", "it is for SEAL_MODE_COMMIT_REVEAL only"))
            }
            Ok(v1::SealMode::Unspecified | v1::SealMode::ServerSealed) => Ok(SealMode::ServerSealed),
            Err(_) => Err(self.invalid("seal_mode", UNKNOWN_VALUE)),
        }
    }

    fn mode(&self) -> Result<Mode, ApiError> {
        match v1::MatchMode::try_from(self.wire.mode) {
            Ok(v1::MatchMode::Unspecified | v1::MatchMode::Casual) => Ok(Mode::Casual),
            Ok(v1::MatchMode::Ranked) => Ok(Mode::Ranked),
            Err(_) => Err(self.invalid("mode", UNKNOWN_VALUE)),
        }
    }

    fn spectators(&self) -> Result<Spectators, ApiError> {
        match v1::Spectators::try_from(self.wire.spectators) {
            Ok(v1::Spectators::Unspecified | v1::Spectators::None) => Ok(Spectators::None),
            Ok(v1::Spectators::Live) => Ok(Spectators::Live),
            Err(_) => Err(self.invalid("spectators", UNKNOWN_VALUE)),
        }
    }

    fn seal_status(&self, mode: Mode, time: TimeControl) -> Result<SealStatus, ApiError> {
        let hidden_by_default = mode == Mode::Ranked && matches!(time, TimeControl::PerTurn { .. });
        match v1::SealStatus::try_from(self.wire.seal_status) {
            Ok(v1::SealStatus::Unspecified) if hidden_by_default => Ok(SealStatus::Hidden),
            Ok(v1::SealStatus::Unspecified | v1::SealStatus::Visible) => Ok(SealStatus::Visible),
            Ok(v1::SealStatus::Hidden) => Ok(SealStatus::Hidden),
            Err(_) => Err(self.invalid("seal_status", UNKNOWN_VALUE)),
        }
    }

    fn start_ms(&self, mode: Mode) -> Result<Option<u64>, ApiError> {
        let start_ms = self.span("start_time", self.wire.start_time.as_ref())?;
        Ok(start_ms.or((mode == Mode::Ranked).then_some(DEFAULT_RANKED_START_MS)))
    }
}

const UNKNOWN_VALUE: &str = "this server does not know the value";
