//! What an inviter may ask for: the settings of the match, and a seat.

use clap::{Args, ValueEnum};
use whattheshell::{prost_types, v1};

use crate::seating;

/// Options of an invite, and of a match against a bot.
#[derive(Args)]
#[command(next_help_heading = "The match, when inviting or against a bot")]
pub(crate) struct Terms {
    /// Seconds that each turn has
    #[arg(long, default_value_t = 300, value_name = "SECONDS", conflicts_with = "queue")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_209_600))]
    turn_time_s: u32,

    /// A clock for the whole match instead: seconds to begin with, and seconds more for each turn, as in
    /// 300+5
    #[arg(long, value_name = "INITIAL+MORE", value_parser = bank)]
    #[arg(requires = "made", conflicts_with = "turn_time_s")]
    bank_s: Option<Bank>,

    /// Seconds for both to be there, else the match never begins; 0: wait as long as it takes
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = start_time_s)]
    #[arg(conflicts_with = "queue")]
    start_time_s: u32,

    /// Turns after which the match is a draw
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u32).range(1..=500))]
    #[arg(requires = "made")]
    turn_limit: Option<u32>,

    /// Your seat; drawn if not given
    #[arg(long, requires = "made")]
    seat: Option<Seat>,

    /// Do not show who has sealed before both have
    #[arg(long, requires = "invite", conflicts_with = "bank_s")]
    hide_seals: bool,

    /// Commit and reveal: the server learns no move before both are bound to theirs
    #[arg(long, requires = "made")]
    commit_reveal: bool,

    /// Seconds to reveal once both are bound; 10 if not given
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    #[arg(requires = "commit_reveal")]
    reveal_time_s: Option<u32>,

    /// Let everyone watch who has a token
    #[arg(long, requires = "made")]
    spectators: bool,
}

/// A seat by its name.
#[derive(Clone, Copy, ValueEnum)]
enum Seat {
    Black,
    White,
}

#[derive(Clone, Copy)]
struct Bank {
    initial_s: u32,
    increment_s: u32,
}

fn bank(text: &str) -> Result<Bank, String> {
    let parts = text.split_once('+').map(|(initial, increment)| (initial.parse(), increment.parse()));
    match parts {
        Some((Ok(initial_s @ 10..=1_209_600), Ok(increment_s @ 0..=86_400))) => {
            Ok(Bank { initial_s, increment_s })
        }
        _ => Err("it is INITIAL+MORE: 10 to 1209600 seconds, and 0 to 86400".to_owned()),
    }
}

fn start_time_s(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(seconds @ (0 | 5..=86_400)) => Ok(seconds),
        _ => Err("it is 5 to 86400 seconds, or 0".to_owned()),
    }
}

fn span(seconds: u32) -> prost_types::Duration {
    prost_types::Duration { seconds: seconds.into(), nanos: 0 }
}

impl Terms {
    /// The settings that are asked for.
    pub(crate) fn settings(&self) -> v1::MatchSettings {
        use v1::match_settings::TimeControl;
        let time_control = match self.bank_s {
            Some(bank) => TimeControl::Bank(v1::BankClock {
                initial: Some(span(bank.initial_s)),
                increment: Some(span(bank.increment_s)),
            }),
            None => TimeControl::TurnTime(span(self.turn_time_s)),
        };
        let seal_status = if self.hide_seals { v1::SealStatus::Hidden } else { v1::SealStatus::Unspecified };
        let spectators = if self.spectators { v1::Spectators::Live } else { v1::Spectators::None };
        v1::MatchSettings {
            time_control: Some(time_control),
            seal_mode: seating::seal_mode(self.commit_reveal).into(),
            reveal_time: self.reveal_time_s.map(span),
            spectators: spectators.into(),
            seal_status: seal_status.into(),
            start_time: Some(self.start_time_s).filter(|seconds| *seconds > 0).map(span),
            turn_limit: self.turn_limit.unwrap_or_default(),
            ..v1::MatchSettings::default()
        }
    }

    /// The inviter's seat.
    pub(crate) fn seat(&self) -> v1::Seat {
        match self.seat {
            None => v1::Seat::Unspecified,
            Some(Seat::Black) => v1::Seat::Black,
            Some(Seat::White) => v1::Seat::White,
        }
    }
}
