//! What players may agree on.

use referee::{
    Bot, Mode, RulesVersion, SealMode, SealStatus, Settings, SettingsError, Spectators, TimeControl,
};
use rules::Seat;

/// A casual match of 30 s turns, spelled out so that a change of a default is seen here.
pub(crate) const DEFAULT: Settings = Settings {
    rules_version: RulesVersion::Wts2026_1,
    time: TimeControl::PerTurn { turn_ms: 30_000 },
    seal_mode: SealMode::ServerSealed,
    mode: Mode::Casual,
    spectators: Spectators::None,
    seal_status: SealStatus::Visible,
    start_ms: None,
    turn_limit: 500,
    idle_ms: 30 * 24 * 60 * 60 * 1_000,
    bot: None,
};

/// The same by commit and reveal, with 10 s to reveal.
pub(crate) const REVEALED: Settings =
    Settings { seal_mode: SealMode::CommitReveal { reveal_ms: 10_000 }, ..DEFAULT };

#[track_caller]
fn check_field(settings: Settings, field: Option<&str>) {
    assert_eq!(settings.validate().as_ref().map_err(SettingsError::field).err(), field, "{settings:?}");
}

#[test]
fn the_default_is_a_casual_match_of_30_s_turns() {
    assert_eq!(Settings::default(), DEFAULT);
    check_field(DEFAULT, None);
}

#[test]
fn every_range_is_inclusive_and_nothing_beyond_it_is_taken() {
    let turn = |turn_ms| Settings { time: TimeControl::PerTurn { turn_ms }, ..DEFAULT };
    let bank = |initial_ms, increment_ms| Settings {
        time: TimeControl::Bank { initial_ms, increment_ms },
        ..DEFAULT
    };
    let reveal = |reveal_ms| Settings { seal_mode: SealMode::CommitReveal { reveal_ms }, ..DEFAULT };
    let day_ms = 86_400_000;
    for (settings, field) in [
        (turn(999), Some("turn_time")),
        (turn(1_000), None),
        (turn(14 * day_ms), None),
        (turn(14 * day_ms + 1), Some("turn_time")),
        (bank(9_999, 0), Some("bank.initial")),
        (bank(10_000, 0), None),
        (bank(14 * day_ms, day_ms), None),
        (bank(14 * day_ms + 1, 0), Some("bank.initial")),
        (bank(60_000, day_ms + 1), Some("bank.increment")),
        (reveal(999), Some("reveal_time")),
        (reveal(1_000), None),
        (reveal(day_ms), None),
        (reveal(day_ms + 1), Some("reveal_time")),
        (Settings { start_ms: Some(4_999), ..DEFAULT }, Some("start_time")),
        (Settings { start_ms: Some(5_000), ..DEFAULT }, None),
        (Settings { start_ms: Some(day_ms), ..DEFAULT }, None),
        (Settings { start_ms: Some(day_ms + 1), ..DEFAULT }, Some("start_time")),
        (Settings { turn_limit: 0, ..DEFAULT }, Some("turn_limit")),
        (Settings { turn_limit: 1, ..DEFAULT }, None),
        (Settings { turn_limit: 501, ..DEFAULT }, Some("turn_limit")),
        (Settings { idle_ms: Settings::IDLE_MIN_MS - 1, ..DEFAULT }, Some("idle_limit")),
        (Settings { idle_ms: Settings::IDLE_MIN_MS, ..DEFAULT }, None),
        (Settings { idle_ms: 30 * day_ms + 1, ..DEFAULT }, Some("idle_limit")),
    ] {
        check_field(settings, field);
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let bank = TimeControl::Bank { initial_ms: 60_000, increment_ms: 0 };
    let ranked = Settings { mode: Mode::Ranked, start_ms: Some(20_000), ..DEFAULT };
    let against_bot = Settings { bot: Some(Bot { seat: Seat::Black, level: 1 }), ..DEFAULT };
    for (settings, field) in [
        (Settings { start_ms: None, ..ranked.clone() }, "start_time"),
        (Settings { bot: against_bot.bot, ..ranked.clone() }, "mode"),
        (Settings { seal_status: SealStatus::Hidden, ..against_bot.clone() }, "seal_status"),
        (Settings { seal_status: SealStatus::Hidden, time: bank, ..DEFAULT }, "seal_status"),
    ] {
        check_field(settings, Some(field));
    }
    check_field(ranked, None);
    check_field(against_bot, None);
    check_field(Settings { seal_status: SealStatus::Hidden, ..DEFAULT }, None);
    check_field(Settings { spectators: Spectators::Live, ..DEFAULT }, None);
    check_field(Settings { seal_status: SealStatus::Hidden, ..REVEALED }, None);
    check_field(Settings { time: bank, ..REVEALED }, None);
}

#[test]
fn a_rules_version_is_found_by_its_name() {
    assert_eq!(RulesVersion::from_name("wts-2026.1"), Some(RulesVersion::Wts2026_1));
    assert_eq!(RulesVersion::from_name("wts-2027.1"), None);
    assert_eq!(RulesVersion::Wts2026_1.name(), sealing::RULES_VERSION);
}

#[test]
fn every_setting_is_part_of_the_first_hash() {
    let first_hash = |settings: Settings| crate::script::Played::new(settings).game.hash;
    let ms = 40_000;
    let different = [
        DEFAULT,
        Settings { time: TimeControl::PerTurn { turn_ms: ms }, ..DEFAULT },
        Settings { time: TimeControl::Bank { initial_ms: ms, increment_ms: 0 }, ..DEFAULT },
        Settings { time: TimeControl::Bank { initial_ms: ms, increment_ms: ms }, ..DEFAULT },
        Settings { seal_mode: SealMode::CommitReveal { reveal_ms: ms }, ..DEFAULT },
        Settings { seal_mode: SealMode::CommitReveal { reveal_ms: ms + 1 }, ..DEFAULT },
        Settings { mode: Mode::Ranked, ..DEFAULT },
        Settings { spectators: Spectators::Live, ..DEFAULT },
        Settings { seal_status: SealStatus::Hidden, ..DEFAULT },
        Settings { start_ms: Some(ms), ..DEFAULT },
        Settings { turn_limit: 499, ..DEFAULT },
        Settings { idle_ms: Settings::IDLE_MIN_MS, ..DEFAULT },
        Settings { bot: Some(Bot { seat: Seat::Black, level: 1 }), ..DEFAULT },
        Settings { bot: Some(Bot { seat: Seat::White, level: 1 }), ..DEFAULT },
        Settings { bot: Some(Bot { seat: Seat::Black, level: 2 }), ..DEFAULT },
    ];
    let hashes: std::collections::BTreeSet<_> = different.iter().cloned().map(first_hash).collect();
    assert_eq!(hashes.len(), different.len());
}
