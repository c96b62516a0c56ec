//! A match as a right server would tell it.

use base64::Engine as _;
use whattheshell::prost_types::{Duration, Timestamp};
use whattheshell::rules::{Cell, Event, PerSeat, Position, Seat};
use whattheshell::sealing::{
    Digest, EndReason, Ending, MatchId, MatchResult, Opening, Party, Salt, SealContext, SettingsFields,
    TurnFacts, end_hash, match_hash, turn_hash,
};
use whattheshell::v1;

pub(crate) const MATCH: &str = "matches/0198c5a0-0000-7000-8000-00000000002a";
pub(crate) const BLACK: &str = "players/ann";
pub(crate) const WHITE: &str = "players/bob";

/// When the match begins, ms.
const BEGIN_MS: u64 = 1_700_000_000_000;

/// How long each turn takes, ms.
const TURN_MS: u64 = 1_000;

pub(crate) fn cell(name: &str) -> Cell {
    name.parse().unwrap()
}

/// A token of a player that no server would take; only its reader looks at it.
pub(crate) fn token(player: &str) -> String {
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"{player}"}}"#));
    format!("e30.{claims}.c2ln")
}

/// An opening by a player who draws the same salt every time.
pub(crate) fn opening(name: &str) -> Opening {
    Opening { cell: cell(name), salt: Salt::from_bytes([cell(name).number(); 32]) }
}

pub(crate) fn stamp(ms: u64) -> Option<Timestamp> {
    Some(Timestamp { seconds: (ms / 1_000) as i64, nanos: (ms % 1_000) as i32 * 1_000_000 })
}

/// A match so far, with the hash and the board after each turn.
#[derive(Clone)]
pub(crate) struct History {
    pub(crate) turns: Vec<v1::ResolvedTurn>,
    pub(crate) finish: Option<v1::MatchFinished>,
    pub(crate) match_id: MatchId,
    pub(crate) points: Vec<(Digest, Position)>,
    pub(crate) seal_mode: v1::SealMode,
}

impl History {
    /// The match before its first turn.
    pub(crate) fn new() -> Self {
        Self::sealed_by(v1::SealMode::ServerSealed)
    }

    /// The same, with moves that are sealed in this way.
    pub(crate) fn sealed_by(seal_mode: v1::SealMode) -> Self {
        let match_id: MatchId = MATCH.strip_prefix("matches/").unwrap().parse().unwrap();
        let party = |player: &str| Party { player: player.to_owned(), public_key: None };
        let parties = PerSeat { black: party(BLACK), white: party(WHITE) };
        let first = match_hash(match_id, &fields(seal_mode), parties.as_ref());
        let points = vec![(first, Position::initial())];
        Self { turns: Vec::new(), finish: None, match_id, points, seal_mode }
    }

    /// A match of three turns that white wins by resignation.
    pub(crate) fn played() -> Self {
        let mut history = Self::new();
        for (black, white) in [("A1", "I9"), ("E5", "E5"), ("B1", "H9")] {
            history.play(opening(black), opening(white));
        }
        history.finish(MatchResult::WhiteWins, EndReason::Resignation, [None, None]);
        history
    }

    pub(crate) fn hash(&self, turn: u32) -> Digest {
        self.points[turn as usize].0
    }

    /// What binds the move of a seat in a turn.
    pub(crate) fn commitment(&self, turn: u32, seat: Seat, opening: &Opening) -> Vec<u8> {
        let player = if seat == Seat::Black { BLACK } else { WHITE };
        let previous = &self.hash(turn - 1);
        let context = SealContext { match_id: self.match_id, turn, seat, player, previous };
        context.commit(opening).as_bytes().to_vec()
    }

    /// Plays the next turn.
    pub(crate) fn play(&mut self, black: Opening, white: Opening) {
        let turn = self.turns.len() as u32 + 1;
        let (previous, before) = *self.points.last().unwrap();
        let opened_ms = BEGIN_MS + u64::from(turn) * TURN_MS;
        let (sealed_ms, resolved_ms) = (opened_ms + 100, opened_ms + 200);
        let sealed = |seat, opening: &Opening| v1::SealedOpening {
            cell: opening.cell.number().into(),
            salt: opening.salt.as_bytes().to_vec(),
            commitment: self.commitment(turn, seat, opening),
            player_signature: Vec::new(),
            seal_time: stamp(sealed_ms),
        };
        let (black_sealed, white_sealed) = (sealed(Seat::Black, &black), sealed(Seat::White, &white));
        let played = before.resolve(black.cell, white.cell).unwrap();
        let facts = TurnFacts {
            commitments: PerSeat { black: &black_sealed, white: &white_sealed }
                .map(|sealed| sealed.commitment[..].try_into().unwrap()),
            openings: PerSeat { black, white },
            opened_ms,
            sealed_ms: PerSeat { black: sealed_ms, white: sealed_ms },
            resolved_ms,
            signatures: PerSeat { black: None, white: None },
        };
        let hash = turn_hash(&previous, &facts, &played.position);
        self.points.push((hash, played.position));
        self.turns.push(v1::ResolvedTurn {
            turn,
            black: Some(black_sealed),
            white: Some(white_sealed),
            events: played.events.iter().map(event).collect(),
            position: Some(position(&played.position)),
            hash: hash.as_bytes().to_vec(),
            open_time: stamp(opened_ms),
            resolve_time: stamp(resolved_ms),
        });
    }

    /// Ends the match, with these commitments in a turn that never resolves.
    pub(crate) fn finish(
        &mut self,
        result: MatchResult,
        reason: EndReason,
        unresolved: [Option<Vec<u8>>; 2],
    ) {
        let turn = self.turns.len() as u32;
        let time_ms = BEGIN_MS + u64::from(turn + 1) * TURN_MS;
        let [black, white] =
            unresolved.each_ref().map(|bytes| bytes.as_deref().map(|bytes| bytes.try_into().unwrap()));
        let ending = Ending { result, reason, time_ms, unresolved: PerSeat { black, white } };
        let [black, white] = unresolved.map(Option::unwrap_or_default);
        self.finish = Some(v1::MatchFinished {
            result: result.number().into(),
            reason: reason.number().into(),
            finish_time: stamp(time_ms),
            turn,
            black_unresolved_commitment: black,
            white_unresolved_commitment: white,
            end_hash: end_hash(&self.hash(turn), &ending).as_bytes().to_vec(),
        });
    }

    pub(crate) fn snapshot(&self, turn: u32) -> v1::MatchSnapshot {
        let (hash, after) = self.points[turn as usize];
        v1::MatchSnapshot {
            name: MATCH.to_owned(),
            settings: Some(settings(self.seal_mode)),
            black: Some(seat(BLACK)),
            white: Some(seat(WHITE)),
            turn,
            position: Some(position(&after)),
            hash: hash.as_bytes().to_vec(),
            ..v1::MatchSnapshot::default()
        }
    }

    pub(crate) fn game(&self) -> v1::Match {
        let turn = self.turns.len() as u32;
        let snapshot = self.snapshot(turn);
        v1::Match {
            name: snapshot.name,
            settings: snapshot.settings,
            black: snapshot.black,
            white: snapshot.white,
            state: v1::MatchState::Open.into(),
            turn,
            position: snapshot.position,
            hash: snapshot.hash,
            ..v1::Match::default()
        }
    }

    pub(crate) fn transcript(&self) -> v1::Transcript {
        v1::Transcript {
            r#match: MATCH.to_owned(),
            settings: Some(settings(self.seal_mode)),
            black: Some(seat(BLACK)),
            white: Some(seat(WHITE)),
            first_hash: self.hash(0).as_bytes().to_vec(),
            turns: self.turns.clone(),
            finish: self.finish.clone(),
            key_id: String::new(),
            signature: Vec::new(),
        }
    }
}

/// A turn that black is to seal.
pub(crate) fn open_turn(turn: u32) -> v1::MatchStatus {
    let seat = || Some(v1::SeatStatus { joined: true, sealed: Some(false), ..v1::SeatStatus::default() });
    v1::MatchStatus {
        state: v1::MatchState::Open.into(),
        turn,
        black: seat(),
        white: seat(),
        ..v1::MatchStatus::default()
    }
}

/// A turn that waits for both to reveal what these commitments hide; whether black has.
pub(crate) fn revealing(turn: u32, black: Vec<u8>, white: Vec<u8>, is_revealed: bool) -> v1::MatchStatus {
    let side = |commitment, revealed| {
        let (sealed, commitment, revealed) = (Some(true), Some(commitment), Some(revealed));
        Some(v1::SeatStatus { joined: true, sealed, commitment, revealed, ..v1::SeatStatus::default() })
    };
    v1::MatchStatus {
        state: v1::MatchState::Revealing.into(),
        turn,
        black: side(black, is_revealed),
        white: side(white, false),
        ..v1::MatchStatus::default()
    }
}

fn seat(player: &str) -> v1::MatchSeat {
    v1::MatchSeat { player: player.to_owned(), joined: true, ..v1::MatchSeat::default() }
}

fn settings(seal_mode: v1::SealMode) -> v1::MatchSettings {
    let seconds = |seconds| Duration { seconds, nanos: 0 };
    let is_revealed = seal_mode == v1::SealMode::CommitReveal;
    v1::MatchSettings {
        rules_version: "wts-2026.1".to_owned(),
        time_control: Some(v1::match_settings::TimeControl::TurnTime(seconds(30))),
        seal_mode: seal_mode.into(),
        reveal_time: is_revealed.then(|| seconds(10)),
        mode: v1::MatchMode::Casual.into(),
        spectators: v1::Spectators::Live.into(),
        seal_status: v1::SealStatus::Visible.into(),
        turn_limit: 500,
        idle_limit: Some(seconds(30 * 24 * 60 * 60)),
        ..v1::MatchSettings::default()
    }
}

fn fields(seal_mode: v1::SealMode) -> SettingsFields {
    SettingsFields {
        rules_version: "wts-2026.1".to_owned(),
        turn_time_ms: Some(30_000),
        bank: None,
        seal_mode: seal_mode as u64,
        reveal_time_ms: (seal_mode == v1::SealMode::CommitReveal).then_some(10_000),
        mode: 1,
        spectators: 2,
        seal_status: 1,
        start_time_ms: None,
        turn_limit: 500,
        idle_limit_ms: 30 * 24 * 60 * 60 * 1_000,
        bot: None,
    }
}

fn position(position: &Position) -> v1::Position {
    let text = position.to_string();
    let outcome = position.outcome();
    v1::Position {
        cells: text.split(' ').next().unwrap().to_owned(),
        eggs: position.eggs().iter().map(|egg| egg.number().into()).collect(),
        status: v1::PositionStatus::Ongoing.into(),
        black_winning_turtles: outcome.winning_turtles.black.into(),
        white_winning_turtles: outcome.winning_turtles.white.into(),
    }
}

fn event(event: &Event) -> v1::TurnEvent {
    let event = match *event {
        Event::Placed { seat, cell } => v1::turn_event::Event::Placed(v1::TurtlePlaced {
            seat: seat.number().into(),
            cell: cell.number().into(),
        }),
        Event::Collided { cell } => {
            v1::turn_event::Event::Collided(v1::TurtlesCollided { cell: cell.number().into() })
        }
        _ => unreachable!("the matches here are played without captures"),
    };
    v1::TurnEvent { event: Some(event) }
}
