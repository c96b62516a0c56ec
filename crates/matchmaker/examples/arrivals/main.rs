//! Lets players arrive, wait and leave, and prints what several policies make of the same ones: how long they
//! wait, and how far apart by rating those are who get a match.
//!
//! `cargo run --release -p matchmaker --example arrivals -- [--arrivals-per-minute N] [--minutes N] [--seed N]
//! [--svg FILE]`, and the numbers of a policy of one's own (`--help`).

// A tool with a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod plot;
mod sample;
mod simulation;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use matchmaker::{Policy, PolicyError, PolicyNumbers};

use crate::simulation::{Made, Players};

/// What several policies make of the same players.
#[derive(Parser)]
#[command(name = "arrivals")]
struct Options {
    /// Players who begin to wait, in a minute, on average.
    #[arg(long, default_value_t = 20.0, value_parser = positive)]
    arrivals_per_minute: f64,
    /// Minutes that count. The ten before them fill the queue.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// The same seed gives the same players.
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// How long players wait before they give up, on average, seconds.
    #[arg(long, default_value_t = 180.0, value_parser = positive)]
    patience_s: f64,
    /// Writes a plot of waiting time and rating gap to this file.
    #[arg(long)]
    svg: Option<PathBuf>,
    #[command(flatten)]
    own: Own,
}

/// A policy of one's own. What is not given is as in the default policy.
#[derive(clap::Args)]
struct Own {
    /// The window of a settled rating at the start, points.
    #[arg(long)]
    window_start_points: Option<u32>,
    /// What a window grows by, points a second.
    #[arg(long)]
    window_growth_points_per_s: Option<u32>,
    /// The widest window, points.
    #[arg(long)]
    window_max_points: Option<u32>,
    /// The part of a deviation that comes on top, percent.
    #[arg(long)]
    deviation_percent: Option<u32>,
    /// After this long the nearest one is taken, seconds.
    #[arg(long)]
    bound_s: Option<u64>,
}

/// What a policy made of the players.
struct Outcome {
    name: &'static str,
    made: Made,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("arrivals: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let policies = policies(&options.own)?;
    let players =
        Players::draw(options.arrivals_per_minute, options.minutes, options.patience_s, options.seed)?;
    println!("                matches        wait, s         rating gap, points   past bound  gave up");
    println!("policy         a minute     p50   p95   p99     p50   p95   p99            %        %");
    let mut outcomes = Vec::new();
    for (name, policy) in policies {
        let outcome = Outcome { name, made: players.pair(&policy)? };
        outcome.print(options.minutes);
        outcomes.push(outcome);
    }
    if let Some(file) = &options.svg {
        fs::write(file, plot::svg(&outcomes, options.arrivals_per_minute))
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// What is compared: the default, what is said about it if one number is changed, and what was asked for.
fn policies(own: &Own) -> Result<Vec<(&'static str, Policy)>, PolicyError> {
    let default = PolicyNumbers::default();
    let mut policies = vec![
        ("default", default),
        ("narrower", PolicyNumbers { window_start_points: 50, window_growth_points_per_s: 5, ..default }),
        ("wider", PolicyNumbers { window_start_points: 200, window_growth_points_per_s: 20, ..default }),
        ("early bound", PolicyNumbers { bound_ms: 20_000, ..default }),
        ("no bound", PolicyNumbers { bound_ms: Policy::BOUND_MAX_MS, ..default }),
        ("first come", PolicyNumbers { rematch_after_ms: 0, bound_ms: 0, ..default }),
    ];
    let bound_ms = own.bound_s.map_or(default.bound_ms, |bound_s| bound_s.saturating_mul(1_000));
    let numbers = PolicyNumbers {
        window_start_points: own.window_start_points.unwrap_or(default.window_start_points),
        window_growth_points_per_s: own
            .window_growth_points_per_s
            .unwrap_or(default.window_growth_points_per_s),
        window_max_points: own.window_max_points.unwrap_or(default.window_max_points),
        deviation_percent: own.deviation_percent.unwrap_or(default.deviation_percent),
        rematch_after_ms: default.rematch_after_ms.min(bound_ms),
        bound_ms,
    };
    if numbers != default {
        policies.push(("own", numbers));
    }
    policies.into_iter().map(|(name, numbers)| Ok((name, Policy::new(numbers)?))).collect()
}

impl Outcome {
    fn print(&self, minutes: u64) {
        let Self { name, made } = self;
        let Made { matches, waits_s, past_bound, gave_up } = made;
        let gaps = matches.iter().map(|paired| f64::from(paired.gap_points)).collect();
        let [wait_50, wait_95, wait_99] = percentiles(waits_s.clone());
        let [gap_50, gap_95, gap_99] = percentiles(gaps);
        let past_bound = 100.0 * *past_bound as f64 / matches.len().max(1) as f64;
        let gave_up = 100.0 * *gave_up as f64 / (waits_s.len() + gave_up).max(1) as f64;
        let a_minute = matches.len() as f64 / minutes as f64;
        println!(
            "{name:14} {a_minute:>8.1}   {wait_50:>5.1} {wait_95:>5.1} {wait_99:>5.1}   \
             {gap_50:>5.0} {gap_95:>5.0} {gap_99:>5.0}   {past_bound:>10.1} {gave_up:>8.1}"
        );
    }
}

/// The median, and what 95 and 99 in 100 are at most; zero of nothing.
fn percentiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [50, 95, 99].map(|percent| {
        let rank = (values.len() * percent).div_ceil(100);
        values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    })
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.001..=100_000.0).contains(&number) => Ok(number),
        _ => Err("must be from 0.001 to 100000".to_owned()),
    }
}
