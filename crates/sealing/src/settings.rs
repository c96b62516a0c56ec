//! The settings of a match as h_0 sees them.

use alloc::string::String;

use rules::{RulesVersion, Seat};

use crate::preimage::Preimage;

/// The name of the newest version of the rules. [`Transcript::verify`](crate::Transcript::verify) replays
/// every one of [`RulesVersion::ALL`].
pub const RULES_VERSION: &str = RulesVersion::NEWEST.name();

/// A bank clock: a seat's time for the whole match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bank {
    /// The time a seat starts with, in milliseconds.
    pub initial_ms: u64,
    /// The time a seat gains with each of its seals, in milliseconds.
    pub increment_ms: u64,
}

/// The seat a bot plays, and how well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BotSeat {
    /// The bot's seat.
    pub seat: Seat,
    /// The number of its level in the API: 1 is level 0, 7 is level 6.
    pub level: u64,
}

/// The settings of a match: one value for each field of the API's `MatchSettings`, in the order of
/// its field numbers.
///
/// h_0 takes `lp` of each in this order: a number as u64 big-endian, a text as UTF-8, `bank` as
/// `initial ‖ increment` and `bot` as `seat ‖ level` (two u64 big-endian each), and `lp` of nothing
/// for what is absent. Durations are in milliseconds. Enumerations are the API's numbers; whether
/// the values make sense is for the service to say, the hash takes all. A field added later enters after
/// f12 only where it is set, as `lp(field number u32)` and its own `lp`, so that no stored h_0 changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsFields {
    /// 1: the version of the rules, such as [`RULES_VERSION`].
    pub rules_version: String,
    /// 2: the time for each turn, where the match is played so.
    pub turn_time_ms: Option<u64>,
    /// 3: the clock for the whole match, where it is played so.
    pub bank: Option<Bank>,
    /// 4: who holds a sealed move: 1 server-sealed, 2 commit-reveal.
    pub seal_mode: u64,
    /// 5: the time to reveal, in commit-reveal.
    pub reveal_time_ms: Option<u64>,
    /// 6: 1 casual, 2 ranked.
    pub mode: u64,
    /// 7: who may watch: 1 none, 2 live.
    pub spectators: u64,
    /// 8: whether the opponent sees that a seat has sealed: 1 visible, 2 hidden.
    pub seal_status: u64,
    /// 9: the time to join, where there is a ready check.
    pub start_time_ms: Option<u64>,
    /// 10: the turn after which the match is a draw.
    pub turn_limit: u64,
    /// 11: the time without a command after which the match is void.
    pub idle_limit_ms: u64,
    /// 12: the bot, where one plays.
    pub bot: Option<BotSeat>,
}

impl SettingsFields {
    /// The number of commit-reveal in `seal_mode`.
    pub(crate) const COMMIT_REVEAL: u64 = 2;

    /// Writes each field as h_0 takes it.
    pub(crate) fn write(&self, preimage: Preimage) -> Preimage {
        let pair = |preimage: Preimage, pair: Option<(u64, u64)>| match pair {
            Some((first, second)) => preimage.joined(&[&first.to_be_bytes(), &second.to_be_bytes()]),
            None => preimage.field(&[]),
        };
        let preimage = preimage.field(self.rules_version.as_bytes()).optional_number(self.turn_time_ms);
        let preimage = pair(preimage, self.bank.map(|bank| (bank.initial_ms, bank.increment_ms)))
            .number(self.seal_mode)
            .optional_number(self.reveal_time_ms)
            .number(self.mode)
            .number(self.spectators)
            .number(self.seal_status)
            .optional_number(self.start_time_ms)
            .number(self.turn_limit)
            .number(self.idle_limit_ms);
        pair(preimage, self.bot.map(|bot| (u64::from(bot.seat.number()), bot.level)))
    }
}
