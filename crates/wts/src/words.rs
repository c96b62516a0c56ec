//! What happens in a match, in words.

use std::fmt;

use rules::{Event, Position, Seat, Status};
use whattheshell::sealing::{EndReason, Ending, MatchResult};
use whattheshell::{Error, Finish, VerifiedTurn, prost_types, v1};

/// What happened in a turn, a line each; what the board says now comes last, if it says anything.
pub(crate) fn turn(turn: &VerifiedTurn) -> Vec<String> {
    let mut lines: Vec<_> = turn.events.iter().map(event).collect();
    lines.extend(standing(&turn.position));
    lines
}

/// A turn in a line.
pub(crate) fn history(turn: &VerifiedTurn) -> String {
    let count = |is_meant: fn(&Event) -> bool| turn.events.iter().filter(|event| is_meant(event)).count();
    let mut line = format!("{:>3}  {}  {}", turn.turn, turn.cells.black, turn.cells.white);
    let counted = [
        (count(|event| matches!(event, Event::Collided { .. })), "egg laid"),
        (count(|event| matches!(event, Event::Captured(_))), "captured"),
        (count(|event| matches!(event, Event::Hatched { .. })), "hatched"),
        (count(|event| matches!(event, Event::Vanished { .. })), "vanished"),
    ];
    for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
        line.push_str(&if count == 1 { format!("  {what}") } else { format!("  {count} {what}") });
    }
    line
}

fn event(event: &Event) -> String {
    match *event {
        Event::Placed { seat, cell } => format!("{seat} lands on {cell}"),
        Event::Collided { cell } => format!("both chose {cell}: they collide, and an egg is laid there"),
        Event::Captured(capture) => {
            let [near, far] = capture.removed;
            format!(
                "{} captures {near} and {far} between {} and {}",
                capture.by, capture.from, capture.anchor
            )
        }
        Event::Hatched { seat, cell } => format!("the egg on {cell} hatches for {seat}"),
        Event::Vanished { cell } => format!("the egg on {cell} vanishes: both captured"),
    }
}

/// The turn limit of matches that ask for none.
const TURN_LIMIT_DEFAULT: u32 = 500;

/// What is said where a sealed move has to be revealed, and is not kept here.
pub(crate) const SEALED_ELSEWHERE: &str = "your move was sealed on another machine and cannot be revealed \
    from here: come back there before the time to reveal it is over, or you lose";

/// Something that a status tells a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// Both have sealed in a commit-reveal match.
    Revealing,
    /// The opponent offers a draw.
    Offered,
    /// The opponent has declined the player's draw.
    Declined,
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Revealing => "both have sealed; the moves are revealed now",
            Self::Offered => "the other player offers a draw",
            Self::Declined => "your offer of a draw is declined",
        })
    }
}

/// What a status tells a player that the one before did not.
pub(crate) fn news(seat: Option<Seat>, before: &v1::MatchStatus, now: &v1::MatchStatus) -> Vec<News> {
    let before = if before.turn == now.turn { before } else { &v1::MatchStatus::default() };
    let offer = |status: &v1::MatchStatus, seat: Option<Seat>| {
        let side = seat.and_then(|seat| seat_status(status, seat));
        side.map_or(v1::DrawOffer::Unspecified, |side| side.draw_offer())
    };
    let is_revealing = |status: &v1::MatchStatus| status.state() == v1::MatchState::Revealing;
    let is_offered =
        |status: &v1::MatchStatus| offer(status, seat.map(Seat::opponent)) == v1::DrawOffer::Open;
    let is_declined = |status: &v1::MatchStatus| offer(status, seat) == v1::DrawOffer::Declined;
    let is_new = |holds: &dyn Fn(&v1::MatchStatus) -> bool| holds(now) && !holds(before);
    let mut news = Vec::new();
    if is_new(&is_revealing) {
        news.push(News::Revealing);
    }
    if is_new(&is_offered) {
        news.push(News::Offered);
    }
    if is_new(&is_declined) {
        news.push(News::Declined);
    }
    news
}

/// A seat of the API by its name; none if it is not one of the two.
pub(crate) fn seat_name(seat: v1::Seat) -> Option<&'static str> {
    match seat {
        v1::Seat::Black => Some("black"),
        v1::Seat::White => Some("white"),
        v1::Seat::Unspecified => None,
    }
}

/// One seat's side of a status.
pub(crate) fn seat_status(status: &v1::MatchStatus, seat: Seat) -> Option<&v1::SeatStatus> {
    match seat {
        Seat::Black => status.black.as_ref(),
        Seat::White => status.white.as_ref(),
    }
}

/// The level of the bot in a match against one, from 0.
pub(crate) fn bot_level(settings: &v1::MatchSettings) -> Option<i32> {
    // On the wire 0 is none.
    settings.bot.as_ref().map(|bot| bot.level.saturating_sub(v1::BotLevel::BotLevel0.into()))
}

/// The settings that a player goes by.
pub(crate) fn terms(settings: &v1::MatchSettings) -> String {
    use v1::match_settings::TimeControl;
    let span = |span: &prost_types::Duration| match span.seconds {
        seconds if seconds >= 120 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    };
    let clock = match &settings.time_control {
        Some(TimeControl::TurnTime(time)) => format!("{} a turn", span(time)),
        Some(TimeControl::Bank(bank)) => format!(
            "{} + {} a turn",
            span(&bank.initial.unwrap_or_default()),
            span(&bank.increment.unwrap_or_default())
        ),
        None => "no clock".to_owned(),
    };
    let mode = if settings.mode() == v1::MatchMode::Ranked { "ranked" } else { "casual" };
    let seals = match settings.seal_mode() {
        v1::SealMode::CommitReveal => "commit and reveal",
        _ => "sealed by the server",
    };
    let mut terms = format!("{mode}, {clock}, {seals}");
    if let Some(level) = bot_level(settings) {
        terms.push_str(&format!(", against a bot of level {level}"));
    }
    if settings.seal_status() == v1::SealStatus::Hidden {
        terms.push_str(", who has sealed is hidden");
    }
    if (1..TURN_LIMIT_DEFAULT).contains(&settings.turn_limit) {
        terms.push_str(&format!(", at most {} turns", settings.turn_limit));
    }
    terms
}

/// A stamp as milliseconds since 1970; 0 for one before that.
pub(crate) fn stamp_ms(stamp: &prost_types::Timestamp) -> u64 {
    millis(stamp.seconds, stamp.nanos)
}

/// A length of time, milliseconds.
pub(crate) fn span_ms(span: &prost_types::Duration) -> u64 {
    millis(span.seconds, span.nanos)
}

fn millis(seconds: i64, nanos: i32) -> u64 {
    let nanos = u64::try_from(nanos).unwrap_or_default();
    u64::try_from(seconds).unwrap_or_default().saturating_mul(1_000).saturating_add(nanos / 1_000_000)
}

fn standing(position: &Position) -> Option<String> {
    let outcome = position.outcome();
    let (black, white) = (outcome.winning_turtles.black, outcome.winning_turtles.white);
    match outcome.status {
        Status::Ongoing => None,
        Status::SuddenDeath => {
            Some(format!("sudden death: {black} winning turtles each, the next difference decides"))
        }
        Status::BlackWins => Some(format!("black has {black} winning turtles, white {white}")),
        Status::WhiteWins => Some(format!("white has {white} winning turtles, black {black}")),
        Status::Draw => Some("the board is full and nobody is ahead".to_owned()),
    }
}

/// How a match ended.
pub(crate) fn finish(finish: &Finish) -> String {
    match &finish.ending {
        Some(ending) => self::ending(ending),
        None => format!(
            "the match has ended in a way that only a newer client knows (result {}, reason {})",
            finish.message.result, finish.message.reason,
        ),
    }
}

fn ending(ending: &Ending) -> String {
    let loser = ending.result.winner().map(|winner| winner.opponent().to_string());
    let loser = loser.as_deref().unwrap_or("nobody");
    let result = match ending.result {
        MatchResult::BlackWins => "black wins",
        MatchResult::WhiteWins => "white wins",
        MatchResult::Draw => "a draw",
        MatchResult::Aborted => "aborted",
        MatchResult::Void => "void",
    };
    let reason = match ending.reason {
        EndReason::Row => "by a row of five".to_owned(),
        EndReason::SuddenDeath => "by more winning turtles".to_owned(),
        EndReason::FullBoard => "the board is full".to_owned(),
        EndReason::TurnLimit => "the last turn is played".to_owned(),
        EndReason::Resignation => format!("{loser} resigned"),
        EndReason::AgreedDraw => "agreed".to_owned(),
        EndReason::Flag => format!("{loser} ran out of time"),
        EndReason::BothFlagged => "both ran out of time".to_owned(),
        EndReason::FailedReveal => "a move was not revealed".to_owned(),
        EndReason::NoShow => "it never began".to_owned(),
        EndReason::Operator => "ended by the operator".to_owned(),
        EndReason::Idle => "nothing happened for too long".to_owned(),
        EndReason::LostHistory => "the server lost a part of it".to_owned(),
    };
    format!("{result}: {reason}")
}

/// What to do about an error, where a person can do something.
pub(crate) fn advice(error: &Error) -> Option<&'static str> {
    use v1::ErrorReason as R;
    if let Error::Connect { .. } = error {
        return Some("is the server running? `wts serve --dev` starts one");
    }
    match error.reason()? {
        R::TokenMissing => Some("give a token by --token or WTS_TOKEN, or use a server in development mode"),
        R::TokenInvalid | R::TokenExpired => Some("get a new token, and give it by --token or WTS_TOKEN"),
        R::NotFound => Some(
            "check the name. A match is shown to its players, and to others only where it was made for \
             spectators (--spectators); an open invite needs its secret: invites/…:secret",
        ),
        R::AlreadyInMatch => Some("`wts play` alone lists it; go on with it, or resign, first"),
        R::InviteNotOpen => Some("ask for a new invite"),
        R::CellOccupied => Some("choose an empty cell"),
        R::TurnClosed => Some("that turn has resolved; choose for the next one"),
        R::AlreadySealed => Some("a seal is final; wait for the other player"),
        R::AlreadyOffered => Some("offer again in the next turn"),
        R::RateLimited | R::Overloaded | R::Contended => Some("wait a moment, then try again"),
        R::StoreUnavailable | R::ShuttingDown | R::DeadlineExceeded => {
            Some("the server is busy or going down; try again")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::Cell;

    fn cell(name: &str) -> Cell {
        name.parse().unwrap()
    }

    #[test]
    fn every_event_has_words() {
        let position = Position::initial();
        let played = position.resolve(cell("E5"), cell("E5")).unwrap();
        assert_eq!(
            played.events.iter().map(event).collect::<Vec<_>>(),
            ["both chose E5: they collide, and an egg is laid there"]
        );
        let mut position = played.position;
        for (black, white) in [("A1", "B1"), ("H9", "C1")] {
            position = position.play(cell(black), cell(white)).unwrap();
        }
        let played = position.resolve(cell("D1"), cell("I9")).unwrap();
        assert_eq!(
            played.events.iter().map(event).collect::<Vec<_>>(),
            [
                "black lands on D1",
                "white lands on I9",
                "black captures C1 and B1 between D1 and A1",
                "the egg on E5 hatches for black",
            ]
        );
    }

    #[test]
    fn an_ending_names_winner_and_reason() {
        let ending = |result, reason| Ending {
            result,
            reason,
            time_ms: 0,
            unresolved: rules::PerSeat { black: None, white: None },
        };
        let flag = ending(MatchResult::WhiteWins, EndReason::Flag);
        assert_eq!(super::ending(&flag), "white wins: black ran out of time");
        let row = ending(MatchResult::BlackWins, EndReason::Row);
        assert_eq!(super::ending(&row), "black wins: by a row of five");
    }
}
