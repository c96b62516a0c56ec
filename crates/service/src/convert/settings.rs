//! Match settings.

use referee::{Bot, Mode, RulesVersion, SealMode, SealStatus, Settings, Spectators, TimeControl};
use wire::ApiError;
use wire::v1::{self, ErrorReason, match_settings, time_control};

use super::time::{duration, duration_ms};

const DEFAULT_RANKED_START_MS: u64 = 20_000;

/// Settings from a request: defaults filled in, every range checked. `field` is where they stand in it.
pub(crate) fn from_wire(field: &str, wire: Option<&v1::MatchSettings>) -> Result<Settings, ApiError> {
    let default = v1::MatchSettings::default();
    let wire = wire.unwrap_or(&default);
    Reader { field, wire }.settings(None)
}

/// Settings of a match against a bot, from a request.
pub(crate) fn against_bot(wire: Option<&v1::MatchSettings>, bot: Bot) -> Result<Settings, ApiError> {
    let default = v1::MatchSettings::default();
    let wire = wire.unwrap_or(&default);
    Reader { field: "settings", wire }.settings(Some(bot))
}

/// Settings as they are shown: every field that applies is set.
pub(crate) fn to_wire(settings: &Settings) -> v1::MatchSettings {
    let fields = settings.fields();
    let time_control = match settings.time {
        TimeControl::PerTurn { turn_ms } => match_settings::TimeControl::TurnTime(duration(turn_ms)),
        TimeControl::Bank { initial_ms, increment_ms } => {
            match_settings::TimeControl::Bank(bank_to_wire(initial_ms, increment_ms))
        }
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

/// A time control that stands by itself, at `field` of a request.
pub(crate) fn time_control(field: &str, wire: &v1::TimeControl) -> Result<TimeControl, ApiError> {
    let reason = ErrorReason::FieldInvalid;
    match &wire.control {
        None => Err(ApiError::required(field)),
        Some(time_control::Control::TurnTime(time)) => {
            Ok(TimeControl::PerTurn { turn_ms: duration_ms(&format!("{field}.turn_time"), reason, time)? })
        }
        Some(time_control::Control::Bank(bank)) => read_bank(field, bank, reason),
    }
}

/// A time control that stands by itself.
pub(crate) fn time_control_to_wire(time: TimeControl) -> v1::TimeControl {
    let control = match time {
        TimeControl::PerTurn { turn_ms } => time_control::Control::TurnTime(duration(turn_ms)),
        TimeControl::Bank { initial_ms, increment_ms } => {
            time_control::Control::Bank(bank_to_wire(initial_ms, increment_ms))
        }
    };
    v1::TimeControl { control: Some(control) }
}

fn read_bank(field: &str, bank: &v1::BankClock, reason: ErrorReason) -> Result<TimeControl, ApiError> {
    let span = |name: &str, span: Option<&prost_types::Duration>| {
        span.map_or(Ok(0), |span| duration_ms(&format!("{field}.bank.{name}"), reason, span))
    };
    Ok(TimeControl::Bank {
        initial_ms: span("initial", bank.initial.as_ref())?,
        increment_ms: span("increment", bank.increment.as_ref())?,
    })
}

fn bank_to_wire(initial_ms: u64, increment_ms: u64) -> v1::BankClock {
    v1::BankClock { initial: Some(duration(initial_ms)), increment: Some(duration(increment_ms)) }
}

/// Reads one field after the other and knows where they stand.
struct Reader<'a> {
    field: &'a str,
    wire: &'a v1::MatchSettings,
}

impl Reader<'_> {
    fn settings(&self, bot: Option<Bot>) -> Result<Settings, ApiError> {
        let (mode, time) = (self.mode()?, self.time_control()?);
        let idle_ms = self.span("idle_limit", self.wire.idle_limit.as_ref())?;
        let settings = Settings {
            rules_version: self.rules_version()?,
            time,
            seal_mode: self.seal_mode()?,
            mode,
            spectators: self.spectators()?,
            seal_status: self.seal_status(mode, time)?,
            start_ms: self.start_ms(mode)?,
            turn_limit: match self.wire.turn_limit {
                0 => Settings::TURN_LIMIT_DEFAULT,
                turn_limit => turn_limit,
            },
            idle_ms: idle_ms.unwrap_or(Settings::IDLE_DEFAULT_MS),
            bot,
        };
        if self.wire.bot.is_some() {
            return Err(self.invalid("bot", "it is set by CreateBotMatch only; leave it unset"));
        }
        settings.validate().map_err(|error| self.invalid(error.field(), &error.to_string()))?;
        Ok(settings)
    }

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
            Some(match_settings::TimeControl::Bank(bank)) => {
                read_bank(self.field, bank, ErrorReason::SettingsInvalid)
            }
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
        match v1::SealStatus::try_from(self.wire.seal_status) {
            Ok(v1::SealStatus::Unspecified) => Ok(SealStatus::usual(mode, time)),
            Ok(v1::SealStatus::Visible) => Ok(SealStatus::Visible),
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
