//! Times and time controls as people write them: `30s`, `1m30s`, `3m+2s`, `1d`.

use std::fmt;
use std::str::FromStr;

use whattheshell::{prost_types, v1};

use crate::words;

/// The units by what they count in milliseconds, the longest first.
const UNITS: [(&str, u64); 5] =
    [("d", 24 * 60 * 60 * 1_000), ("h", 60 * 60 * 1_000), ("m", 60 * 1_000), ("s", 1_000), ("ms", 1)];

/// What is said of a text that is no time.
const NO_TIME: &str = "it is written like 30s, 1m30s, 2h or 1d";

/// What is said of a text that is no time control.
const NO_CONTROL: &str =
    "it is the time of each turn, like 30s or 1d, or a clock and what each turn adds, like 3m+2s";

/// A length of time, ms, as people write it: each unit once, the longest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeText(pub(crate) u64);

impl FromStr for TimeText {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut rest = text.trim();
        let (mut total_ms, mut units) = (0_u64, UNITS.iter());
        while !rest.is_empty() {
            let digits = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or(NO_TIME)?;
            let (number, after) = rest.split_at(digits);
            let unit_end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
            let (unit, after) = after.split_at(unit_end);
            // A unit that stands before is gone already.
            let (_, unit_ms) = units.by_ref().find(|(name, _)| *name == unit).ok_or(NO_TIME)?;
            let part_ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*unit_ms));
            total_ms = part_ms.and_then(|part_ms| total_ms.checked_add(part_ms)).ok_or(NO_TIME)?;
            rest = after;
        }
        if text.trim().is_empty() { Err(NO_TIME) } else { Ok(Self(total_ms)) }
    }
}

impl fmt::Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut left_ms = self.0;
        for (unit, unit_ms) in UNITS {
            let count = left_ms / unit_ms;
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
            left_ms %= unit_ms;
        }
        Ok(())
    }
}

/// A time control as people write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlText {
    /// Each turn has this long, ms.
    Turn(u64),
    /// A clock for the whole match, ms.
    Bank {
        /// To begin with.
        initial_ms: u64,
        /// What each turn adds.
        increment_ms: u64,
    },
}

impl FromStr for ControlText {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = |text: &str| text.parse::<TimeText>().map(|time| time.0).map_err(|_| NO_CONTROL);
        match text.split_once('+') {
            None => Ok(Self::Turn(time(text)?)),
            Some((initial, increment)) => {
                Ok(Self::Bank { initial_ms: time(initial)?, increment_ms: time(increment)? })
            }
        }
    }
}

impl fmt::Display for ControlText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Turn(turn_ms) => TimeText(turn_ms).fmt(f),
            Self::Bank { initial_ms, increment_ms } => {
                write!(f, "{}+{}", TimeText(initial_ms), TimeText(increment_ms))
            }
        }
    }
}

impl ControlText {
    /// A time control of the API; none if it is of a kind that only a newer client knows.
    pub(crate) fn of(control: &v1::TimeControl) -> Option<Self> {
        use v1::time_control::Control;
        let span_ms = |span: &Option<prost_types::Duration>| span.as_ref().map_or(0, words::span_ms);
        Some(match control.control.as_ref()? {
            Control::TurnTime(time) => Self::Turn(words::span_ms(time)),
            Control::Bank(bank) => {
                Self::Bank { initial_ms: span_ms(&bank.initial), increment_ms: span_ms(&bank.increment) }
            }
        })
    }

    /// The same for the API.
    pub(crate) fn to_wire(self) -> v1::TimeControl {
        use v1::time_control::Control;
        let control = match self {
            Self::Turn(turn_ms) => Control::TurnTime(span(turn_ms)),
            Self::Bank { initial_ms, increment_ms } => Control::Bank(v1::BankClock {
                initial: Some(span(initial_ms)),
                increment: Some(span(increment_ms)),
            }),
        };
        v1::TimeControl { control: Some(control) }
    }

    /// What a turn has at least, ms: where a clock is for the whole match, what a turn adds.
    pub(crate) fn turn_ms(self) -> u64 {
        match self {
            Self::Turn(turn_ms) => turn_ms,
            Self::Bank { increment_ms, .. } => increment_ms,
        }
    }
}

/// A length of time for the API.
pub(crate) fn span(ms: u64) -> prost_types::Duration {
    let seconds = i64::try_from(ms / 1_000).unwrap_or(i64::MAX);
    // Below a second, so it fits.
    let nanos = i32::try_from(ms % 1_000 * 1_000_000).unwrap_or_default();
    prost_types::Duration { seconds, nanos }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_shown_alike() {
        for (text, ms) in [
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1s500ms", 1_500),
            ("0s", 0),
        ] {
            assert_eq!(text.parse(), Ok(TimeText(ms)), "{text}");
            assert_eq!(TimeText(ms).to_string(), text);
        }
        assert_eq!("90s".parse(), Ok(TimeText(90_000)));
        for control in ["30s", "3m+2s", "1d", "10s+0s"] {
            assert_eq!(control.parse::<ControlText>().unwrap().to_string(), control);
            let wire = control.parse::<ControlText>().unwrap().to_wire();
            assert_eq!(ControlText::of(&wire).unwrap().to_string(), control);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "30", "s", "30 s", "1s1m", "1s1s", "-1s", "1w", "99999999999999999999s", "300000000000d"]
        {
            assert!(text.parse::<TimeText>().is_err(), "{text}");
        }
        for text in ["", "+2s", "3m+", "3m+2s+1s", "3m+2"] {
            assert!(text.parse::<ControlText>().is_err(), "{text}");
        }
    }
}
