//! `wts bots`: how the levels of the bots fare, and what they give away.

use std::process::ExitCode;
use std::time::Duration;

use bot::Level;
use bot::arena::{self, Foresight, Player, Score};
use clap::{Args, value_parser};
use rules::PerSeat;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::lines::Lines;

/// Games of a level against itself whose moves are timed: some hundred moves.
const TIMED_GAMES: u64 = 3;

/// Options of `wts bots`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Games for each score, up to 100000
    #[arg(long, default_value = "400", value_parser = value_parser!(u32).range(1..=100_000))]
    games: u32,

    /// What each level gives away instead: to the best response of somebody who is shown its strategy and looks
    /// one turn ahead, or two, and to somebody who plays a game again that was won against it
    #[arg(long)]
    exploit: bool,

    /// These levels only, 1 to 6, with commas between; against another level, it is the stronger one
    #[arg(
        long, value_name = "LEVELS", value_delimiter = ',', default_value = "1,2,3,4,5,6",
        value_parser = value_parser!(u8).range(1..Level::COUNT as i64),
    )]
    levels: Vec<u8>,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    /// What all games follow from: the same number plays the same games
    #[arg(long, default_value = "2026")]
    seed: u64,
}

/// Plays, and prints a row for each level as soon as it is known.
///
/// # Errors
/// Stdout cannot be written to.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let lines = Lines { json: arguments.json };
    if !arguments.json {
        let columns: &[_] = if arguments.exploit {
            &["level", "best_response_1", "best_response_2", "replay"]
        } else {
            &["stronger", "weaker", "score", "interval", "ms_per_move"]
        };
        lines.note(&row(columns))?;
        lines.note(&row(&vec!["---"; columns.len()]))?;
    }
    for level in arguments.levels.iter().filter_map(|&number| Level::from_number(number)) {
        if arguments.exploit {
            exploit(level, arguments, lines)?;
        } else {
            compare(level, arguments, lines)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A level against the one below.
fn compare(level: Level, arguments: &Arguments, lines: Lines) -> std::io::Result<()> {
    let Some(below) = level.number().checked_sub(1).and_then(Level::from_number) else { return Ok(()) };
    let score = arena::contest(&Player::Bot(level), &Player::Bot(below), arguments.games, arguments.seed);
    let interval = score.interval();
    let ms = ms_per_move(level, arguments.seed);
    let cells = [
        level.to_string(),
        below.to_string(),
        format!("{:.3}", score.mean()),
        format!("{:.3} to {:.3}", interval.low, interval.high),
        format!("{ms:.2}"),
    ];
    lines.show(
        &row(&cells),
        json!({ "stronger": level.number(), "weaker": below.number(), "score": score.mean(),
                "interval": [interval.low, interval.high], "ms_per_move": ms }),
    )
}

/// A level against those who know it.
fn exploit(level: Level, arguments: &Arguments, lines: Lines) -> std::io::Result<()> {
    let response = |foresight| {
        arena::contest(&Player::Responder(foresight), &Player::Bot(level), arguments.games, arguments.seed)
    };
    let (one, two) = (response(Foresight::One), response(Foresight::Two));
    let replay = arena::replays(level, arguments.games, arguments.seed);
    // A level that only draws leaves no game to replay.
    let replay = (replay.games() > 0).then_some(replay);
    let cells =
        [level.to_string(), in_words(&one), in_words(&two), replay.as_ref().map_or("–".to_owned(), in_words)];
    lines.show(
        &row(&cells),
        json!({ "level": level.number(), "best_response_1": one.mean(), "best_response_2": two.mean(),
                "replay": replay.map(|score| score.mean()) }),
    )
}

fn in_words(score: &Score) -> String {
    let interval = score.interval();
    format!("{:.3} ({:.3} to {:.3})", score.mean(), interval.low, interval.high)
}

/// A row of a table in Markdown.
fn row(cells: &[impl AsRef<str>]) -> String {
    cells.iter().fold("|".to_owned(), |row, cell| format!("{row} {} |", cell.as_ref()))
}

/// The CPU time of a move of a level against itself, on average: what else this machine does hardly counts.
fn ms_per_move(level: Level, seed: u64) -> f64 {
    let bot = Player::Bot(level);
    let start = cpu_time();
    let games = (0..TIMED_GAMES).map(|game| arena::game(PerSeat { black: &bot, white: &bot }, seed ^ game));
    let moves: usize = games.map(|record| 2 * record.turns.len()).sum();
    cpu_time().saturating_sub(start).as_secs_f64() * 1e3 / moves.max(1) as f64
}

/// The time for which a core has worked on this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
