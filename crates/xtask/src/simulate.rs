//! `cargo xtask simulate`: many simulated matches, in which nothing may break.

use std::process::Command;

use anyhow::bail;
use clap::Args;

use crate::process;

/// Matches of a long run.
const MATCHES_FULL: u64 = 1_000_000;

/// Matches from which on an optimised build is worth its time.
const MATCHES_TO_OPTIMISE: u64 = 20_000;

/// Options of `cargo xtask simulate`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many matches are played
    #[arg(long, default_value_t = 2_000)]
    pub(crate) matches: u64,

    /// The first run's seed; each run after it has the next one
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Play a million matches
    #[arg(long, conflicts_with = "matches")]
    pub(crate) full: bool,

    /// Print one JSON object: matches, steps, faults, violations
    #[arg(long)]
    pub(crate) json: bool,
}

/// Plays as many matches as it is told.
///
/// # Errors
/// An invariant broke; the smallest run that breaks it is printed.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let matches = if arguments.full { MATCHES_FULL } else { arguments.matches };
    let optimised = (matches >= MATCHES_TO_OPTIMISE).then_some("simulate");
    let built = process::build(&["simulation"], optimised)?;
    let mut command = Command::new(built.join("simulation"));
    command.args(["--matches", &matches.to_string(), "--seed", &arguments.seed.to_string()]);
    if arguments.json {
        command.arg("--json");
    }
    if process::run(&mut command).is_err() {
        bail!("an invariant broke among {matches} matches from seed {} on", arguments.seed);
    }
    Ok(())
}
