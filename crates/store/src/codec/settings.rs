//! Settings and players of matches and invites.

use referee::{Bot, Mode, RulesVersion, SealMode, SealStatus, Settings, Spectators, TimeControl};
use sealing::{Party, PublicKey};

use super::field::{bytes, damaged, optional, required, seat, seat_number};
use super::record::settings::TimeControl as StoredTime;
use super::{CodecError, record};

pub(super) fn write(settings: &Settings) -> record::Settings {
    let time_control = match settings.time {
        TimeControl::PerTurn { turn_ms } => StoredTime::TurnMs(turn_ms),
        TimeControl::Bank { initial_ms, increment_ms } => {
            StoredTime::Bank(record::Bank { initial_ms, increment_ms })
        }
    };
    let mode = match settings.mode {
        Mode::Casual => record::Mode::Casual,
        Mode::Ranked => record::Mode::Ranked,
    };
    let spectators = match settings.spectators {
        Spectators::None => record::Spectators::None,
        Spectators::Live => record::Spectators::Live,
    };
    let seal_status = match settings.seal_status {
        SealStatus::Visible => record::SealStatus::Visible,
        SealStatus::Hidden => record::SealStatus::Hidden,
    };
    let reveal_ms = match settings.seal_mode {
        SealMode::ServerSealed => None,
        SealMode::CommitReveal { reveal_ms } => Some(reveal_ms),
    };
    let bot = settings
        .bot
        .map(|bot| record::Bot { seat: seat_number(Some(bot.seat)), level: u32::from(bot.level) });
    record::Settings {
        rules_version: settings.rules_version.name().to_owned(),
        time_control: Some(time_control),
        reveal_ms,
        mode: mode.into(),
        spectators: spectators.into(),
        seal_status: seal_status.into(),
        start_ms: settings.start_ms,
        turn_limit: settings.turn_limit,
        idle_ms: settings.idle_ms,
        bot,
    }
}

pub(super) fn read(settings: &record::Settings) -> Result<Settings, CodecError> {
    let bot = |bot: &record::Bot| {
        let level = u8::try_from(bot.level).map_err(|_| damaged("Bot.level"))?;
        Ok::<_, CodecError>(Bot { seat: seat(bot.seat, "Bot.seat")?, level })
    };
    Ok(Settings {
        rules_version: read_rules_version(&settings.rules_version)?,
        time: match required(settings.time_control, "Settings.time_control")? {
            StoredTime::TurnMs(turn_ms) => TimeControl::PerTurn { turn_ms },
            StoredTime::Bank(record::Bank { initial_ms, increment_ms }) => {
                TimeControl::Bank { initial_ms, increment_ms }
            }
        },
        seal_mode: match settings.reveal_ms {
            None => SealMode::ServerSealed,
            Some(reveal_ms) => SealMode::CommitReveal { reveal_ms },
        },
        mode: match record::Mode::try_from(settings.mode) {
            Ok(record::Mode::Casual) => Mode::Casual,
            Ok(record::Mode::Ranked) => Mode::Ranked,
            Ok(record::Mode::Unspecified) | Err(_) => return Err(damaged("Settings.mode")),
        },
        spectators: match record::Spectators::try_from(settings.spectators) {
            Ok(record::Spectators::None) => Spectators::None,
            Ok(record::Spectators::Live) => Spectators::Live,
            Ok(record::Spectators::Unspecified) | Err(_) => return Err(damaged("Settings.spectators")),
        },
        seal_status: match record::SealStatus::try_from(settings.seal_status) {
            Ok(record::SealStatus::Visible) => SealStatus::Visible,
            Ok(record::SealStatus::Hidden) => SealStatus::Hidden,
            Ok(record::SealStatus::Unspecified) | Err(_) => return Err(damaged("Settings.seal_status")),
        },
        start_ms: settings.start_ms,
        turn_limit: settings.turn_limit,
        idle_ms: settings.idle_ms,
        bot: settings.bot.as_ref().map(bot).transpose()?,
    })
}

fn read_rules_version(version: &str) -> Result<RulesVersion, CodecError> {
    if version.is_empty() {
        return Err(damaged("Settings.rules_version"));
    }
    RulesVersion::from_name(version).ok_or_else(|| CodecError::UnknownRules { version: version.to_owned() })
}

pub(super) fn write_party(player: &str, public_key: Option<&PublicKey>) -> record::Party {
    record::Party { player: player.to_owned(), public_key: bytes(public_key) }
}

pub(super) fn read_party(party: record::Party) -> Result<Party, CodecError> {
    let public_key = optional(&party.public_key, "Party.public_key", PublicKey::from_bytes)?;
    Ok(Party { player: party.player, public_key })
}
