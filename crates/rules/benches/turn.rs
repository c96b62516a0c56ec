//! What a turn costs, next to the same turn on a plain array of 81 cells.
//!
//! `cargo bench -p rules --bench turn -- [--only NAME] [--json]`. Both sides play the same turns in
//! the same process, in turns, so that a busy machine slows both alike.

// A bench is a program with a clock and a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::env;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{self, Command, ExitCode};
use std::time::Instant;

use rules::{Cell, PerSeat, Position};

use plain::Plain;

#[allow(dead_code)] // The tests use more of it.
#[path = "../tests/rules/plain.rs"]
mod plain;

/// Rounds of which the median counts; odd, so that it is one of them.
const ROUNDS: usize = 21;

/// Times that the crate plays while the array plays once, so that both are timed for long enough.
const HEAD_START: usize = 20;

/// Playouts in a round.
const PLAYOUTS: u64 = 200;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("turn: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut only = None;
    let mut json = false;
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo says so itself.
            "--bench" => {}
            "--json" => json = true,
            "--only" => only = Some(args.next().ok_or("--only needs a name")?),
            // How the count of instructions runs this program again.
            "--replay" => {
                return replay(&args.next().ok_or("--replay needs a side and a count")?, args.next());
            }
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let benches: [(&str, Bench); 3] =
        [("rules_turn", turn), ("rules_playout", playout), ("rules_turn_instructions", turn_instructions)];
    for (name, bench) in benches {
        if only.as_ref().is_none_or(|only| only == name)
            && let Some(measure) = bench(name)?
        {
            measure.print(name, json);
        }
    }
    Ok(())
}

/// Measures, or says why it cannot.
type Bench = fn(&str) -> Result<Option<Measure>, Box<dyn Error>>;

/// One figure and what it is compared with.
struct Measure {
    value: f64,
    floor: f64,
    unit: &'static str,
    conditions: String,
}

impl Measure {
    fn print(&self, name: &str, json: bool) {
        let Self { value, floor, unit, conditions } = self;
        let ratio = floor / value;
        if json {
            println!(
                r#"{{"name":"{name}","value":{value:.1},"unit":"{unit}","floor":{floor:.1},"ratio":{ratio:.2},"conditions":"{conditions}"}}"#
            );
        } else {
            println!("{name}: {value:.1} {unit}, floor {floor:.1}, {ratio:.1} times less ({conditions})");
        }
    }
}

fn turn(_: &str) -> Result<Option<Measure>, Box<dyn Error>> {
    let games = games()?;
    let turns: usize = games.iter().map(Vec::len).sum();
    let (value, floor) = paired(|| replay_rules(&games), || replay_plain(&games));
    Ok(Some(Measure {
        value: value / turns as f64,
        floor: floor / turns as f64,
        unit: "ns",
        conditions: format!("{turns} turns of games.jsonl; {}", rounds()),
    }))
}

fn playout(_: &str) -> Result<Option<Measure>, Box<dyn Error>> {
    let played = (playouts_rules(), playouts_plain());
    if played.0 != played.1 {
        return Err(format!("the sides played {} and {} turns", played.0, played.1).into());
    }
    let (value, floor) = paired(playouts_rules, playouts_plain);
    Ok(Some(Measure {
        value: value / PLAYOUTS as f64,
        floor: floor / PLAYOUTS as f64,
        unit: "ns",
        conditions: format!(
            "uniformly random from the empty board, {:.1} turns on average; {}",
            played.0 as f64 / PLAYOUTS as f64,
            rounds()
        ),
    }))
}

/// Counts what this program executes for two lengths of the same work: the difference is the work
/// without the start of the program.
fn turn_instructions(name: &str) -> Result<Option<Measure>, Box<dyn Error>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("{name}: skipped, valgrind is not installed");
        return Ok(None);
    }
    let turns: usize = games()?.iter().map(Vec::len).sum();
    let a_turn = |side, more: u32| -> Result<f64, Box<dyn Error>> {
        let short = instructions(side, 1)?;
        let long = instructions(side, 1 + more)?;
        Ok(long.saturating_sub(short) as f64 / f64::from(more) / turns as f64)
    };
    Ok(Some(Measure {
        value: a_turn("rules", 10)?,
        floor: a_turn("plain", 1)?,
        unit: "instructions",
        conditions: format!("{turns} turns of games.jsonl; callgrind"),
    }))
}

fn rounds() -> String {
    format!("median of {ROUNDS} interleaved rounds")
}

/// The medians of both sides in ns, for one run of each.
fn paired<T>(mut rules: impl FnMut() -> T, mut plain: impl FnMut() -> T) -> (f64, f64) {
    let mut values = Vec::with_capacity(ROUNDS);
    let mut floors = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..HEAD_START {
            black_box(rules());
        }
        values.push(start.elapsed().as_nanos() as f64 / HEAD_START as f64);
        let start = Instant::now();
        black_box(plain());
        floors.push(start.elapsed().as_nanos() as f64);
    }
    (median(values), median(floors))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn games() -> Result<Vec<Vec<PerSeat<Cell>>>, Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/games.jsonl");
    let games: Result<_, _> = fs::read_to_string(file)?.lines().map(vectors::game_turns).collect();
    Ok(games?)
}

fn replay_rules(games: &[Vec<PerSeat<Cell>>]) -> u32 {
    let mut winning = 0;
    for game in games {
        let mut position = Position::initial();
        for choices in black_box(game) {
            // Vectors that pass hold no illegal turn, which would leave the position as it is.
            let _ = position.advance(choices.black, choices.white);
        }
        winning += u32::from(position.outcome().winning_turtles.black);
    }
    winning
}

fn replay_plain(games: &[Vec<PerSeat<Cell>>]) -> u32 {
    let mut winning = 0;
    for game in games {
        let mut plain = Plain::new();
        for choices in black_box(game) {
            plain.play(choices.black, choices.white, |_| {});
        }
        winning += u32::from(plain.winning_turtles.black);
    }
    winning
}

/// Turns of [`PLAYOUTS`] random games.
fn playouts_rules() -> u64 {
    let mut turns = 0;
    for seed in 0..PLAYOUTS {
        let mut draws = Draws(seed);
        let mut position = Position::initial();
        loop {
            let mut cells = position.legal_cells();
            let count = cells.len();
            let (b, w) = (draws.below(count), draws.below(count));
            let (Some(black), Some(white)) = (cells.clone().nth(b), cells.nth(w)) else { break };
            if position.advance(black, white).is_err() {
                break;
            }
            turns += 1;
        }
    }
    turns
}

/// The same games on the array.
fn playouts_plain() -> u64 {
    let mut turns = 0;
    let mut cells = Vec::with_capacity(Cell::COUNT);
    for seed in 0..PLAYOUTS {
        let mut draws = Draws(seed);
        let mut plain = Plain::new();
        while !plain.status.is_over() {
            cells.clear();
            cells.extend(plain.empty_cells());
            let (b, w) = (draws.below(cells.len()), draws.below(cells.len()));
            plain.play(cells[b], cells[w], |_| {});
            turns += 1;
        }
    }
    turns
}

/// SplitMix64: fast, seeded, and good enough to draw cells.
struct Draws(u64);

impl Draws {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 32) as usize * count) >> 32
    }
}

/// The work whose instructions are counted.
fn replay(side: &str, times: Option<String>) -> Result<(), Box<dyn Error>> {
    let games = games()?;
    for _ in 0..times.ok_or("--replay needs a count")?.parse::<u32>()? {
        black_box(match side {
            "rules" => replay_rules(&games),
            "plain" => replay_plain(&games),
            other => return Err(format!("no side {other}").into()),
        });
    }
    Ok(())
}

fn instructions(side: &str, times: u32) -> Result<u64, Box<dyn Error>> {
    let counts = env::temp_dir().join(format!("rules-turn-{}.callgrind", process::id()));
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(env::current_exe()?)
        .args(["--replay", side, &times.to_string()])
        .output()?;
    // The totals are in its log; the file would say where, which nobody asked.
    let _ = fs::remove_file(counts);
    let log = String::from_utf8_lossy(&output.stderr);
    let total = log.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    total.ok_or_else(|| format!("callgrind gave no count: {log}").into())
}
