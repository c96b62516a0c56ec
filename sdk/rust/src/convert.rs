//! Between the API's messages and what is verified: the only module that knows the fields of both.

use rules::{Cell, Event, PerSeat, Position, Seat};
use sealing::{
    Bank, BotSeat, Commitment, Digest, EndReason, Ending, MatchId, MatchResult, Opening, Party, PublicKey,
    Salt, SettingsFields, TurnFacts, match_hash,
};
use wire::{Collection, v1};

use crate::Claim;

/// What a match is fixed to before its first turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    pub(crate) match_id: MatchId,
    pub(crate) settings: SettingsFields,
    pub(crate) parties: PerSeat<Party>,
}

impl Terms {
    /// The terms in a message, with the name that the match was asked for by.
    pub(crate) fn read(
        name: &str,
        settings: Option<&v1::MatchSettings>,
        black: Option<&v1::MatchSeat>,
        white: Option<&v1::MatchSeat>,
    ) -> Result<Self, Claim> {
        let parties =
            PerSeat { black: party(black, "black.public_key")?, white: party(white, "white.public_key")? };
        let settings = settings_fields(settings.ok_or(Claim::Field("settings"))?)?;
        Ok(Self { match_id: match_id(name)?, settings, parties })
    }

    /// h_0.
    pub(crate) fn first_hash(&self) -> Digest {
        match_hash(self.match_id, &self.settings, self.parties.as_ref())
    }

    /// Whether the match counts for the players' ratings.
    pub(crate) fn is_ranked(&self) -> bool {
        i32::try_from(self.settings.mode).is_ok_and(|mode| mode == i32::from(v1::MatchMode::Ranked))
    }

    /// The seat of a player, `players/{player}`.
    pub(crate) fn seat_of(&self, player: &str) -> Option<Seat> {
        Seat::BOTH.into_iter().find(|seat| self.parties[*seat].player == player)
    }
}

pub(crate) fn match_id(name: &str) -> Result<MatchId, Claim> {
    let id = Collection::Matches.id(name).ok().and_then(|id| id.parse().ok());
    id.ok_or(Claim::Field("name"))
}

fn party(seat: Option<&v1::MatchSeat>, key_field: &'static str) -> Result<Party, Claim> {
    let seat = seat.ok_or(Claim::Field("black, white"))?;
    let public_key = optional(&seat.public_key, key_field, |bytes| PublicKey::try_from(bytes).ok())?;
    Ok(Party { player: seat.player.clone(), public_key })
}

/// The settings as h_0 takes them. Numbers that this client does not know are hashed all the same.
fn settings_fields(settings: &v1::MatchSettings) -> Result<SettingsFields, Claim> {
    use v1::match_settings::TimeControl;
    let (turn_time_ms, bank) = match &settings.time_control {
        Some(TimeControl::TurnTime(time)) => (Some(span_ms(time, "turn_time")?), None),
        Some(TimeControl::Bank(bank)) => (None, Some(bank_clock(bank)?)),
        None => (None, None),
    };
    let span = |span: &Option<prost_types::Duration>, field| {
        span.as_ref().map(|span| span_ms(span, field)).transpose()
    };
    let number = |number: i32, field| u64::try_from(number).map_err(|_| Claim::Field(field));
    Ok(SettingsFields {
        rules_version: settings.rules_version.clone(),
        turn_time_ms,
        bank,
        seal_mode: number(settings.seal_mode, "seal_mode")?,
        reveal_time_ms: span(&settings.reveal_time, "reveal_time")?,
        mode: number(settings.mode, "mode")?,
        spectators: number(settings.spectators, "spectators")?,
        seal_status: number(settings.seal_status, "seal_status")?,
        start_time_ms: span(&settings.start_time, "start_time")?,
        turn_limit: u64::from(settings.turn_limit),
        idle_limit_ms: span(&settings.idle_limit, "idle_limit")?.ok_or(Claim::Field("idle_limit"))?,
        bot: settings.bot.as_ref().map(bot_seat).transpose()?,
    })
}

fn bank_clock(bank: &v1::BankClock) -> Result<Bank, Claim> {
    let span = |span: &Option<prost_types::Duration>| {
        span_ms(span.as_ref().unwrap_or(&prost_types::Duration::default()), "bank")
    };
    Ok(Bank { initial_ms: span(&bank.initial)?, increment_ms: span(&bank.increment)? })
}

fn bot_seat(bot: &v1::BotSeat) -> Result<BotSeat, Claim> {
    let seat = seat(bot.seat).ok_or(Claim::Field("bot.seat"))?;
    let level = u64::try_from(bot.level).map_err(|_| Claim::Field("bot.level"))?;
    Ok(BotSeat { seat, level })
}

/// A seat, if it is one.
pub(crate) fn seat(number: i32) -> Option<Seat> {
    Seat::BOTH.into_iter().find(|seat| i32::from(seat.number()) == number)
}

fn span_ms(span: &prost_types::Duration, field: &'static str) -> Result<u64, Claim> {
    whole_ms(span.seconds, span.nanos).ok_or(Claim::Field(field))
}

pub(crate) fn stamp_ms(stamp: Option<&prost_types::Timestamp>, field: &'static str) -> Result<u64, Claim> {
    stamp.and_then(|stamp| whole_ms(stamp.seconds, stamp.nanos)).ok_or(Claim::Field(field))
}

/// Whole milliseconds: hashes take them, so a fraction would be a claim that nothing binds.
fn whole_ms(seconds: i64, nanos: i32) -> Option<u64> {
    const NANOS_A_MS: u32 = 1_000_000;
    const NANOS_A_SECOND: u32 = 1_000_000_000;
    let nanos =
        u32::try_from(nanos).ok().filter(|nanos| nanos % NANOS_A_MS == 0 && *nanos < NANOS_A_SECOND)?;
    u64::try_from(seconds).ok()?.checked_mul(1_000)?.checked_add(u64::from(nanos / NANOS_A_MS))
}

pub(crate) fn digest(bytes: &[u8], field: &'static str) -> Result<Digest, Claim> {
    Digest::try_from(bytes).map_err(|_| Claim::Field(field))
}

/// A value that is absent where its bytes are empty.
fn optional<T>(
    bytes: &[u8],
    field: &'static str,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, Claim> {
    if bytes.is_empty() { Ok(None) } else { read(bytes).map(Some).ok_or(Claim::Field(field)) }
}

/// A move in the open.
pub(crate) fn open_move(opening: &Opening) -> v1::OpenMove {
    v1::OpenMove { cell: u32::from(opening.cell.number()), salt: opening.salt.as_bytes().to_vec() }
}

/// One seat's side of a status.
pub(crate) fn seat_status(status: &v1::MatchStatus, seat: Seat) -> Option<&v1::SeatStatus> {
    match seat {
        Seat::Black => status.black.as_ref(),
        Seat::White => status.white.as_ref(),
    }
}

/// The cell of a number on the wire: 1 is A1.
pub(crate) fn cell(number: u32) -> Option<Cell> {
    u8::try_from(number).ok().and_then(Cell::from_number)
}

/// A resolved turn as h_t takes it; the seat is that of the field at fault.
pub(crate) fn turn_facts(turn: &v1::ResolvedTurn) -> Result<TurnFacts, (Option<Seat>, Claim)> {
    let [black, white] = [(Seat::Black, &turn.black), (Seat::White, &turn.white)]
        .map(|(seat, opening)| sealed(opening.as_ref()).map_err(|claim| (Some(seat), claim)));
    let (black, white) = (black?, white?);
    let stamp = |stamp: &Option<_>, field| stamp_ms(stamp.as_ref(), field).map_err(|claim| (None, claim));
    Ok(TurnFacts {
        opened_ms: stamp(&turn.open_time, "open_time")?,
        resolved_ms: stamp(&turn.resolve_time, "resolve_time")?,
        commitments: PerSeat { black: black.commitment, white: white.commitment },
        sealed_ms: PerSeat { black: black.sealed_ms, white: white.sealed_ms },
        signatures: PerSeat { black: black.signature, white: white.signature },
        openings: PerSeat { black: black.opening, white: white.opening },
    })
}

struct Sealed {
    commitment: Commitment,
    opening: Opening,
    sealed_ms: u64,
    signature: Option<sealing::PlayerSignature>,
}

fn sealed(opening: Option<&v1::SealedOpening>) -> Result<Sealed, Claim> {
    let opening = opening.ok_or(Claim::Field("black, white"))?;
    let signature = |bytes: &[u8]| sealing::PlayerSignature::try_from(bytes).ok();
    Ok(Sealed {
        commitment: commitment(&opening.commitment, "commitment")?,
        opening: Opening {
            cell: cell(opening.cell).ok_or(Claim::Field("cell"))?,
            salt: Salt::try_from(&opening.salt[..]).map_err(|_| Claim::Field("salt"))?,
        },
        sealed_ms: stamp_ms(opening.seal_time.as_ref(), "seal_time")?,
        signature: optional(&opening.player_signature, "player_signature", signature)?,
    })
}

fn commitment(bytes: &[u8], field: &'static str) -> Result<Commitment, Claim> {
    Commitment::try_from(bytes).map_err(|_| Claim::Field(field))
}

/// The commitments of the turn that a finish left unresolved.
pub(crate) fn unresolved(finish: &v1::MatchFinished) -> Result<PerSeat<Option<Commitment>>, Claim> {
    let read = |bytes: &[u8], field| optional(bytes, field, |bytes| Commitment::try_from(bytes).ok());
    Ok(PerSeat {
        black: read(&finish.black_unresolved_commitment, "black_unresolved_commitment")?,
        white: read(&finish.white_unresolved_commitment, "white_unresolved_commitment")?,
    })
}

/// An ending as h_end takes it. None: its result or reason has a number that this client does not know.
pub(crate) fn ending(finish: &v1::MatchFinished) -> Result<Option<Ending>, Claim> {
    let time_ms = stamp_ms(finish.finish_time.as_ref(), "finish_time")?;
    let unresolved = unresolved(finish)?;
    let result = u8::try_from(finish.result).ok().and_then(MatchResult::from_number);
    let reason = u8::try_from(finish.reason).ok().and_then(EndReason::from_number);
    let (Some(result), Some(reason)) = (result, reason) else { return Ok(None) };
    Ok(Some(Ending { result, reason, time_ms, unresolved }))
}

/// A board, if it is one and says of itself what the rules say.
pub(crate) fn position(position: Option<&v1::Position>) -> Option<Position> {
    let position = position?;
    let status = match v1::PositionStatus::try_from(position.status).ok()? {
        v1::PositionStatus::Unspecified => return None,
        v1::PositionStatus::Ongoing => "ongoing",
        v1::PositionStatus::SuddenDeath => "sudden_death",
        v1::PositionStatus::BlackWins => "black_wins",
        v1::PositionStatus::WhiteWins => "white_wins",
        v1::PositionStatus::Draw => "draw",
    };
    let eggs = position.eggs.iter().map(|egg| cell(*egg).map(|egg| egg.to_string()));
    let mut eggs = eggs.collect::<Option<Vec<_>>>()?.join(",");
    if eggs.is_empty() {
        eggs.push('-');
    }
    let (black, white) = (position.black_winning_turtles, position.white_winning_turtles);
    format!("{} {eggs} {status} {black}:{white}", position.cells).parse().ok()
}

/// Whether a turn's events are those of the rules. Kinds that this client does not know are skipped.
pub(crate) fn same_events(wire: &[v1::TurnEvent], events: &[Event]) -> bool {
    let known = wire.iter().filter_map(|event| event.event.as_ref());
    known.eq(events.iter().map(event).collect::<Vec<_>>().iter())
}

fn event(event: &Event) -> v1::turn_event::Event {
    use v1::turn_event::Event as Wire;
    let number = |cell: Cell| u32::from(cell.number());
    let by = |seat: Seat| i32::from(seat.number());
    match *event {
        Event::Placed { seat, cell } => Wire::Placed(v1::TurtlePlaced { seat: by(seat), cell: number(cell) }),
        Event::Collided { cell } => Wire::Collided(v1::TurtlesCollided { cell: number(cell) }),
        Event::Captured(capture) => Wire::Captured(v1::PiecesCaptured {
            seat: by(capture.by),
            arrived: number(capture.from),
            direction: direction(capture.from, capture.removed[0]).into(),
            removed: capture.removed.map(number).to_vec(),
            anchor: number(capture.anchor),
        }),
        Event::Hatched { seat, cell } => Wire::Hatched(v1::EggHatched { seat: by(seat), cell: number(cell) }),
        Event::Vanished { cell } => Wire::Vanished(v1::EggVanished { cell: number(cell) }),
    }
}

/// The direction from a cell to its neighbour.
fn direction(from: Cell, to: Cell) -> v1::Direction {
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
