//! Positions and resolved turns, as everyone may see them.

use referee::Stamp;
use referee::TurnRecord;
use rules::{Event, Position, Seat, Status, Turn};
use wire::v1::{self, turn_event};

use super::time::timestamp;

/// A board with what it says about the game.
pub(crate) fn position(position: &Position) -> v1::Position {
    let text = position.to_string();
    let outcome = position.outcome();
    let status = match outcome.status {
        Status::Ongoing => v1::PositionStatus::Ongoing,
        Status::SuddenDeath => v1::PositionStatus::SuddenDeath,
        Status::BlackWins => v1::PositionStatus::BlackWins,
        Status::WhiteWins => v1::PositionStatus::WhiteWins,
        Status::Draw => v1::PositionStatus::Draw,
    };
    v1::Position {
        cells: text.split(' ').next().unwrap_or_default().to_owned(),
        eggs: position.eggs().iter().map(|cell| u32::from(cell.number())).collect(),
        status: status.into(),
        black_winning_turtles: u32::from(outcome.winning_turtles.black),
        white_winning_turtles: u32::from(outcome.winning_turtles.white),
    }
}

/// A resolved turn: its record, and what the rules made of it.
pub(crate) fn resolved(record: &TurnRecord, turn: &Turn) -> v1::ResolvedTurn {
    let facts = &record.facts;
    let opening = |seat: Seat| v1::SealedOpening {
        cell: u32::from(facts.openings[seat].cell.number()),
        salt: facts.openings[seat].salt.as_bytes().to_vec(),
        commitment: facts.commitments[seat].as_bytes().to_vec(),
        player_signature: facts.signatures[seat].map(|signed| signed.as_bytes().to_vec()).unwrap_or_default(),
        seal_time: Some(timestamp(Stamp::from_ms(facts.sealed_ms[seat]))),
    };
    v1::ResolvedTurn {
        turn: record.turn,
        black: Some(opening(Seat::Black)),
        white: Some(opening(Seat::White)),
        events: turn.events.iter().map(event).collect(),
        position: Some(position(&turn.position)),
        hash: record.hash.as_bytes().to_vec(),
        open_time: Some(timestamp(Stamp::from_ms(facts.opened_ms))),
        resolve_time: Some(timestamp(Stamp::from_ms(facts.resolved_ms))),
    }
}

fn event(event: &Event) -> v1::TurnEvent {
    let number = |cell: rules::Cell| u32::from(cell.number());
    let seat = |seat| super::seat(seat).into();
    let event = match *event {
        Event::Placed { seat: by, cell } => {
            turn_event::Event::Placed(v1::TurtlePlaced { seat: seat(by), cell: number(cell) })
        }
        Event::Collided { cell } => turn_event::Event::Collided(v1::TurtlesCollided { cell: number(cell) }),
        Event::Captured(capture) => turn_event::Event::Captured(v1::PiecesCaptured {
            seat: seat(capture.by),
            arrived: number(capture.from),
            direction: direction(capture.from, capture.removed[0]).into(),
            removed: capture.removed.map(number).to_vec(),
            anchor: number(capture.anchor),
        }),
        Event::Hatched { seat: by, cell } => {
            turn_event::Event::Hatched(v1::EggHatched { seat: seat(by), cell: number(cell) })
        }
        Event::Vanished { cell } => turn_event::Event::Vanished(v1::EggVanished { cell: number(cell) }),
    };
    v1::TurnEvent { event: Some(event) }
}

/// The direction from a cell to its neighbour.
fn direction(from: rules::Cell, to: rules::Cell) -> v1::Direction {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match (to.row().cmp(&from.row()), to.column().cmp(&from.column())) {
        (Greater, Equal) => v1::Direction::N,
        (Greater, Greater) => v1::Direction::Ne,
        (Equal, Greater) => v1::Direction::E,
        (Less, Greater) => v1::Direction::Se,
        (Less, Equal) => v1::Direction::S,
        (Less, Less) => v1::Direction::Sw,
        (Equal, Less) => v1::Direction::W,
        (Greater, Less) => v1::Direction::Nw,
        (Equal, Equal) => v1::Direction::Unspecified,
    }
}
