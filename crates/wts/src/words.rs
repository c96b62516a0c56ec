//! What happens in a match, in words.

use rules::{Event, Position, Status};
use whattheshell::sealing::{EndReason, Ending, MatchResult};
use whattheshell::{Error, Finish, MatchHandle, VerifiedTurn, v1};

/// What happened in a turn, a line each; what the board says now comes last, if it says anything.
pub(crate) fn turn(turn: &VerifiedTurn) -> Vec<String> {
    let mut lines: Vec<_> = turn.events.iter().map(event).collect();
    lines.extend(standing(&turn.position));
    lines
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

/// What a status tells a player that the one before did not.
pub(crate) fn news(game: &MatchHandle, before: &v1::MatchStatus, now: &v1::MatchStatus) -> Vec<&'static str> {
    let before = if before.turn == now.turn { before } else { &v1::MatchStatus::default() };
    let is_revealing = |status: &v1::MatchStatus| status.state() == v1::MatchState::Revealing;
    let is_offered = |status: &v1::MatchStatus| game.is_offered_draw(status);
    let is_declined = |status: &v1::MatchStatus| {
        let own = match game.seat() {
            Some(rules::Seat::Black) => status.black.as_ref(),
            Some(rules::Seat::White) => status.white.as_ref(),
            None => None,
        };
        own.is_some_and(|own| own.draw_offer() == v1::DrawOffer::Declined)
    };
    let is_new = |holds: &dyn Fn(&v1::MatchStatus) -> bool| holds(now) && !holds(before);
    let mut news = Vec::new();
    if is_new(&is_revealing) {
        news.push("both have sealed; the moves are revealed now");
    }
    if is_new(&is_offered) {
        news.push("the other player offers a draw: `accept` or `decline`");
    }
    if is_new(&is_declined) {
        news.push("your offer of a draw is declined");
    }
    news
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
        R::NotFound => Some("check the name; an open invite needs its secret: invites/…:secret"),
        R::InviteNotOpen => Some("ask for a new invite"),
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
