//! A match between two turns, as one who looks at it may know it: what each seat does, and the clocks.

use rules::{Cell, PerSeat, Position, Seat, Status};
use serde_json::{Value, json};
use whattheshell::{prost_types, v1};

use crate::words;

/// Below this the tenths of a second are shown.
const TENTHS_BELOW_MS: u64 = 10_000;

/// A status and who looks at it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// What goes on now.
    pub(crate) status: &'a v1::MatchStatus,
    /// The seat of who looks, if he plays.
    pub(crate) seat: Option<Seat>,
    /// The move that he has sealed, with its turn.
    pub(crate) sealed: Option<(u32, Cell)>,
}

impl View<'_> {
    /// Whether a seat is known to have sealed the open turn.
    pub(crate) fn has_sealed(self, seat: Seat) -> bool {
        let told = words::seat_status(self.status, seat).and_then(|status| status.sealed);
        let is_own =
            self.seat == Some(seat) && (self.status.own_seal.is_some() || self.own_cell(seat).is_some());
        told.unwrap_or(false) || is_own
    }

    /// The cell that a seat has sealed, if it is the viewer's own.
    pub(crate) fn own_cell(self, seat: Seat) -> Option<Cell> {
        let is_own = self.seat == Some(seat);
        self.sealed.filter(|(turn, _)| is_own && *turn == self.status.turn).map(|(_, cell)| cell)
    }

    /// What a seat does, and whether it offers a draw; empty before anything is known.
    pub(crate) fn seat_words(self, seat: Seat) -> String {
        let mut said = self.deed(seat);
        let status = words::seat_status(self.status, seat);
        if status.is_some_and(|status| status.draw_offer() == v1::DrawOffer::Open) {
            said.push_str("; offers a draw");
        }
        said
    }

    /// What a seat does; empty before anything is known.
    pub(crate) fn deed(self, seat: Seat) -> String {
        let Some(status) = words::seat_status(self.status, seat) else { return String::new() };
        let is_own = self.seat == Some(seat);
        match self.status.state() {
            v1::MatchState::Waiting if status.joined => "is here".to_owned(),
            v1::MatchState::Waiting => "has not joined yet".to_owned(),
            v1::MatchState::Revealing if status.revealed == Some(true) => "has revealed".to_owned(),
            v1::MatchState::Revealing => "has sealed, reveals now".to_owned(),
            v1::MatchState::Open if self.has_sealed(seat) => match self.own_cell(seat) {
                Some(cell) => format!("sealed {cell}, which only you know"),
                None => "has sealed".to_owned(),
            },
            v1::MatchState::Open if is_own => "to choose".to_owned(),
            v1::MatchState::Open if status.sealed.is_none() => "hidden until both have sealed".to_owned(),
            v1::MatchState::Open => "chooses".to_owned(),
            v1::MatchState::BotDue if self.seat == Some(seat.opponent()) => "chooses first".to_owned(),
            _ => String::new(),
        }
    }

    /// What a seat has left, at the server's time `now_ms`. None: no clock of the seat's is known.
    pub(crate) fn clock(self, seat: Seat, now_ms: u64) -> Option<String> {
        let status = words::seat_status(self.status, seat)?;
        let until = |stamp: Option<&prost_types::Timestamp>| {
            Some(length(words::stamp_ms(stamp?).saturating_sub(now_ms)))
        };
        match self.status.state() {
            v1::MatchState::Open if self.has_sealed(seat) => {
                status.clock_left.as_ref().map(words::span_ms).map(length)
            }
            v1::MatchState::Open => until(status.deadline.as_ref()),
            v1::MatchState::Revealing if status.revealed != Some(true) => {
                until(self.status.reveal_deadline.as_ref())
            }
            v1::MatchState::Waiting if !status.joined => until(self.status.start_deadline.as_ref()),
            _ => None,
        }
    }

    /// A line for each seat: its player, what he does, what his clock has left.
    pub(crate) fn lines(self, players: &PerSeat<String>, now_ms: u64) -> Vec<String> {
        let line = |seat: Seat| {
            let you = if self.seat == Some(seat) { " (you)" } else { "" };
            let player = players[seat].trim_start_matches("players/");
            let clock = self.clock(seat, now_ms).map(|clock| format!(", {clock}")).unwrap_or_default();
            format!("{seat}, {player}{you}: {}{clock}", self.seat_words(seat))
        };
        Seat::BOTH.map(line).to_vec()
    }

    /// The same for programs.
    pub(crate) fn object(self) -> Value {
        let status = self.status;
        let stamp = |stamp: &Option<prost_types::Timestamp>| stamp.as_ref().map(words::stamp_ms);
        let seat = |seat: Seat| {
            let side = words::seat_status(status, seat)?;
            Some(json!({
                "joined": side.joined,
                "sealed": if self.has_sealed(seat) { Some(true) } else { side.sealed },
                "revealed": side.revealed,
                "deadline_ms": stamp(&side.deadline),
                "clock_left_ms": side.clock_left.as_ref().map(words::span_ms),
                "draw_offer": side.draw_offer().as_str_name(),
            }))
        };
        json!({
            "event": "status",
            "state": status.state().as_str_name(),
            "turn": status.turn,
            "black": seat(Seat::Black),
            "white": seat(Seat::White),
            "own_cell": self.seat.and_then(|seat| self.own_cell(seat)).map(|cell| cell.to_string()),
            "start_deadline_ms": stamp(&status.start_deadline),
            "reveal_deadline_ms": stamp(&status.reveal_deadline),
        })
    }
}

/// The cell that a status says the viewer has sealed, with its turn.
pub(crate) fn own_seal(status: &v1::MatchStatus) -> Option<(u32, Cell)> {
    let cell = u8::try_from(status.own_seal.as_ref()?.cell?).ok()?;
    Some((status.turn, Cell::from_number(cell)?))
}

/// The eggs by age.
pub(crate) fn eggs(position: &Position) -> String {
    let eggs: Vec<_> = position.eggs().iter().zip(1..).map(|(cell, age)| format!("e{age} {cell}")).collect();
    let eggs = if eggs.is_empty() { "none".to_owned() } else { eggs.join(", ") };
    format!("Eggs, oldest first: {eggs}")
}

/// The winning turtles, once there are any.
pub(crate) fn counts(position: &Position) -> Option<String> {
    let winning = position.outcome().winning_turtles;
    let (black, white) = (winning.black, winning.white);
    (black > 0 || white > 0).then(|| format!("Winning turtles: black {black}, white {white}"))
}

/// That it is sudden death, if it is.
pub(crate) fn sudden_death(position: &Position) -> Option<&'static str> {
    (position.outcome().status == Status::SuddenDeath).then_some("SUDDEN DEATH: the next lead wins")
}

/// A length of time: `9.5 s`, `4:32`, `1:04:32`, `3 d 4 h`.
pub(crate) fn length(ms: u64) -> String {
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
