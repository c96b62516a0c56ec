//! Games between players, to measure levels: who wins how often, and what a level gives away to whoever knows it.
//!
//! Everything follows from a seed, so that a figure can be found again.

mod response;
mod score;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use rules::{Cell, PerSeat, Position, Seat, Status};

use crate::{GameOver, Level, MixedStrategy, analyse};

pub use response::best_response;
pub use score::{Interval, Score};

/// Turns after which a game is a draw, as in a match of the service.
pub const TURNS_MAX: usize = 500;

/// Who plays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Player {
    /// A level.
    Bot(Level),
    /// Somebody who is shown the mixed strategy of his opponent before every turn, though not what is drawn from
    /// it, and answers it best: see [`best_response`]. Whoever is no bot has none, and is taken to be the random
    /// level.
    Responder(Foresight),
    /// Somebody who plays the cells of an earlier game again, in order, and any legal cell instead of an occupied
    /// one or after the last.
    Replayer(Vec<Cell>),
}

/// How far a [`Player::Responder`] looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foresight {
    /// To the end of this turn.
    One,
    /// To the end of the next turn, which he expects both to play by an equilibrium.
    Two,
}

/// A game that was played.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// What both chose, turn by turn.
    pub turns: Vec<PerSeat<Cell>>,
    /// How it ended; not over if it took [`TURNS_MAX`] turns.
    pub status: Status,
}

/// Plays a game from the first turn. Both choose in secret: neither is shown what the other draws.
#[must_use]
pub fn game(players: PerSeat<&Player>, seed: u64) -> Record {
    let mut seeds = ChaCha8Rng::seed_from_u64(seed);
    let mut position = Position::initial();
    let mut turns = Vec::new();
    while turns.len() < TURNS_MAX {
        let draws = PerSeat { black: seeds.next_u64(), white: seeds.next_u64() };
        let Ok(cells) = choices(players, &position, turns.len(), draws) else { break };
        if position.advance(cells.black, cells.white).is_err() {
            break;
        }
        turns.push(cells);
    }
    Record { turns, status: position.outcome().status }
}

/// The score of the first player over so many games; who is black alternates.
#[must_use]
pub fn contest(first: &Player, second: &Player, games: u32, seed: u64) -> Score {
    let mut seeds = ChaCha8Rng::seed_from_u64(seed);
    let mut score = Score::default();
    for number in 0..games {
        let seat = if number % 2 == 0 { Seat::Black } else { Seat::White };
        let players = match seat {
            Seat::Black => PerSeat { black: first, white: second },
            Seat::White => PerSeat { black: second, white: first },
        };
        score.count(game(players, seeds.next_u64()).status, seat);
    }
    score
}

/// The score of somebody who replays games that were won against a level: in each of so many games the level
/// plays itself until one seat wins, and the winner's cells are then played against it once more.
#[must_use]
pub fn replays(level: Level, games: u32, seed: u64) -> Score {
    let mut seeds = ChaCha8Rng::seed_from_u64(seed);
    let mut score = Score::default();
    let bot = Player::Bot(level);
    for _ in 0..games {
        let record = game(PerSeat { black: &bot, white: &bot }, seeds.next_u64());
        // A draw teaches nothing; a level that always draws ends here too.
        let Some(seat) = record.status.winner() else { continue };
        let replayer = Player::Replayer(record.turns.iter().map(|turn| turn[seat]).collect());
        let players = match seat {
            Seat::Black => PerSeat { black: &replayer, white: &bot },
            Seat::White => PerSeat { black: &bot, white: &replayer },
        };
        score.count(game(players, seeds.next_u64()).status, seat);
    }
    score
}

/// What both choose in a turn; the first is number 0. A strategy is found once, for whoever plays by it and
/// whoever is shown it.
fn choices(
    players: PerSeat<&Player>,
    position: &Position,
    turn: usize,
    draws: PerSeat<u64>,
) -> Result<PerSeat<Cell>, GameOver> {
    let strategy = |seat| players[seat].strategy(position, seat);
    let strategies = PerSeat { black: strategy(Seat::Black)?, white: strategy(Seat::White)? };
    let choose = |seat| match players[seat] {
        Player::Responder(foresight) => {
            best_response(position, seat, &strategies[seat.opponent()], *foresight)
        }
        Player::Replayer(cells) if cells.get(turn).is_some_and(|&cell| position.is_empty(cell)) => {
            Ok(cells[turn])
        }
        Player::Bot(_) | Player::Replayer(_) => strategies[seat].draw(draws[seat]).ok_or(GameOver),
    };
    Ok(PerSeat { black: choose(Seat::Black)?, white: choose(Seat::White)? })
}

impl Player {
    /// What can be known of a choice before it is made.
    fn strategy(&self, position: &Position, seat: Seat) -> Result<MixedStrategy, GameOver> {
        let level = match self {
            Self::Bot(level) => *level,
            Self::Responder(_) | Self::Replayer(_) => Level::EASIEST,
        };
        Ok(analyse(position, seat, level)?.strategy)
    }
}
