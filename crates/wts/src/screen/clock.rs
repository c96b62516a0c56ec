//! Clocks, at a time that is given.

use rules::Seat;
use whattheshell::{prost_types, v1};

use super::Screen;

/// Below this the tenths of a second are shown.
const TENTHS_BELOW_MS: u64 = 10_000;

impl Screen {
    /// What a seat has left, at the server's time `now_ms`. None: no clock of the seat's is known.
    pub(super) fn clock(&self, seat: Seat, now_ms: u64) -> Option<String> {
        let status = self.seat_status(seat)?;
        if self.finish.is_some() {
            return None;
        }
        let until = |stamp: Option<&prost_types::Timestamp>| Some(left(stamp_ms(stamp?)?, now_ms));
        match self.status.state() {
            v1::MatchState::Open if self.has_sealed(seat) => {
                status.clock_left.as_ref().and_then(span_ms).map(words)
            }
            v1::MatchState::Open => until(status.deadline.as_ref()),
            v1::MatchState::Revealing if status.revealed != Some(true) => {
                until(self.status.reveal_deadline.as_ref())
            }
            v1::MatchState::Waiting if !status.joined => until(self.status.start_deadline.as_ref()),
            _ => None,
        }
    }
}

/// A stamp as milliseconds since 1970.
pub(super) fn stamp_ms(stamp: &prost_types::Timestamp) -> Option<u64> {
    millis(stamp.seconds, stamp.nanos)
}

fn span_ms(span: &prost_types::Duration) -> Option<u64> {
    millis(span.seconds, span.nanos)
}

fn millis(seconds: i64, nanos: i32) -> Option<u64> {
    let (seconds, nanos) = (u64::try_from(seconds).ok()?, u64::try_from(nanos).ok()?);
    seconds.checked_mul(1_000)?.checked_add(nanos / 1_000_000)
}

fn left(deadline_ms: u64, now_ms: u64) -> String {
    words(deadline_ms.saturating_sub(now_ms))
}

/// A length of time: `9.5 s`, `4:32`, `1:04:32`, `3 d 4 h`.
pub(super) fn words(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if days > 0 {
        format!("{days} d {} h", hours % 24)
    } else if hours > 0 {
        format!("{hours}:{:02}:{:02}", minutes % 60, seconds % 60)
    } else if ms < TENTHS_BELOW_MS {
        format!("{seconds}.{} s", ms % 1_000 / 100)
    } else {
        format!("{minutes}:{:02}", seconds % 60)
    }
}
