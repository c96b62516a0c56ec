//! A flood: bad connections attack a server while honest matches play over the Rust client.
//!
//! Each run plays for a while in peace and for as long under attack. No honest call may fail, and the slowest
//! hundredth of them may take less than three times as long; of some runs the median counts.

mod attack;
mod frames;
mod honest;
mod server;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use whattheshell::Client;
use whattheshell::rules::{Cell, PerSeat};

use crate::attack::Arsenal;
use crate::honest::{Account, Game, Sum};
use crate::server::Server;

/// How much longer the slowest hundredth of honest calls may take under attack.
const SLOWER_MAX: f64 = 3.0;

/// How long the attackers have to come before it counts.
const ONSET: Duration = Duration::from_secs(3);

/// How often the server's memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Failures that are told in words; all are counted.
const SHOWN_MAX: usize = 10;

#[derive(Parser)]
struct Arguments {
    /// The server's binary
    #[arg(long, value_name = "FILE")]
    wts: PathBuf,

    /// Honest matches, of two players each
    #[arg(long, default_value_t = 200)]
    matches: usize,

    /// Bad connections at once
    #[arg(long, default_value_t = 2_000)]
    bad: usize,

    /// Seconds of peace, and of attack, in each run
    #[arg(long, default_value_t = 15)]
    seconds: u64,

    /// Runs, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,

    /// Measure no time: failures alone count. For runs that are too short for it
    #[arg(long)]
    untimed: bool,

    /// One JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// What came of one run.
struct Run {
    before: Sum,
    during: Sum,
    resident_max: u64,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let cells = Arc::new(long_game()?);
    let mut runs = Vec::new();
    for _ in 0..arguments.runs.max(1) {
        runs.push(runtime.block_on(run(&arguments, &cells))?);
    }
    tell(&arguments, &runs)
}

/// The moves of a game that goes on for longer than a run.
fn long_game() -> anyhow::Result<Vec<PerSeat<Cell>>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/games.jsonl");
    let games = std::fs::read_to_string(file).context("the vectors cannot be read")?;
    let game = vectors::game_turns(games.lines().next().context("there is a game")?);
    game.map_err(|error| anyhow::anyhow!("a game of the vectors: {error:?}"))
}

async fn run(arguments: &Arguments, cells: &Arc<Vec<PerSeat<Cell>>>) -> anyhow::Result<Run> {
    let server = Server::start(&arguments.wts).await?;
    let account = Arc::new(Account::default());
    let mut honest = JoinSet::new();
    for number in 0..arguments.matches {
        let game = Game::begin(server.address, number).await.context("a match in peace")?;
        honest.spawn(game.play(Arc::clone(cells), Arc::clone(&account)));
    }
    let span = Duration::from_secs(arguments.seconds);
    sleep(ONSET).await;
    account.take();
    sleep(span).await;
    let before = account.take();
    ensure!(before.failures.is_empty(), "calls fail in peace: {:?}", before.failures);

    let client = Client::connect(&format!("http://{}", server.address)).await?;
    let mut bad = JoinSet::new();
    let arsenal = Arc::new(Arsenal::new(&client.mint_token("players/mallory").await?.token));
    for number in 0..arguments.bad {
        bad.spawn(attack::attack(server.address, number, Arc::clone(&arsenal)));
    }
    sleep(ONSET).await;
    let onset = account.take();
    let until = Instant::now() + span;
    let mut resident_max = 0;
    while Instant::now() < until {
        resident_max = resident_max.max(server.resident().context("the server has ended")?);
        sleep(LOOK_EVERY).await;
    }
    let mut during = account.take();
    during.failures.extend(onset.failures);
    Ok(Run { before, during, resident_max })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn tell(arguments: &Arguments, runs: &[Run]) -> anyhow::Result<ExitCode> {
    let ms = |time: Duration| (time.as_secs_f64() * 100_000.0).round() / 100.0;
    let honest_calls: usize = runs.iter().map(|run| run.during.calls).sum();
    let failures: Vec<&String> = runs.iter().flat_map(|run| &run.during.failures).collect();
    let p99_before_ms = median(runs.iter().map(|run| ms(run.before.p99)).collect());
    let p99_during_ms = median(runs.iter().map(|run| ms(run.during.p99)).collect());
    let slower = median(runs.iter().map(|run| ms(run.during.p99) / ms(run.before.p99)).collect());
    let resident_max = runs.iter().map(|run| run.resident_max).max().unwrap_or_default();
    let report = json!({
        "honest_calls": honest_calls,
        "failed": failures.len(),
        "p99_before_ms": p99_before_ms,
        "p99_during_ms": p99_during_ms,
        "rss_mb_max": resident_max / 1_000_000,
        "slower": (slower * 100.0).round() / 100.0,
        "runs": runs.len(),
    });
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{report}")?;
    } else {
        for (name, value) in report.as_object().into_iter().flatten() {
            writeln!(out, "{name:<14} {value}")?;
        }
    }
    for failure in failures.iter().take(SHOWN_MAX) {
        writeln!(std::io::stderr(), "an honest call failed: {failure}")?;
    }
    let kept = failures.is_empty() && (arguments.untimed || slower < SLOWER_MAX);
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
