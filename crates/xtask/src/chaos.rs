//! `cargo xtask chaos`: nodes over one Redis, whatever breaks while clients play.

use std::process::Command;

use anyhow::bail;
use clap::Args;

use crate::process;

/// Options of `cargo xtask chaos`.
#[derive(Args, Default)]
pub(crate) struct Arguments {
    /// What goes wrong, for instance `node_kill`; all scenarios if not given. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Vec<String>,

    /// How long things go wrong in each scenario; if not given, until 5,000 seals were acknowledged, and in
    /// `simultaneous` 10,000 turns sealed by both at the same instant
    #[arg(long)]
    pub(crate) seconds: Option<u64>,

    /// What moves and moments are drawn from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Some scenarios for some seconds each
    #[arg(long, conflicts_with = "seconds")]
    pub(crate) short: bool,

    /// The servers' make, `redis` or `valkey`; if not given, scenarios and seeds take turns
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Print one JSON object a scenario: scenario, server, store, seed, faults, calls, acknowledged, `at_once`,
    /// lost, duplicated, leaked, stuck, misjudged, `recovery_ms_p50`, `recovery_ms_max`; of `matchmaking`
    /// queued, cancelled, died, matches, rated, requeued, double, ghost, stuck, misjudged, `placed_ms_p50`,
    /// `longest_ms` after calls
    #[arg(long)]
    pub(crate) json: bool,
}

/// From this length on an optimised build pays; shorter runs share the tests'.
const SECONDS_TO_OPTIMISE: u64 = 30;

/// Runs scenarios over the server as it is built here.
///
/// # Errors
/// A promise broke; which one is printed with its seed.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_long = !arguments.short && arguments.seconds.is_none_or(|seconds| seconds >= SECONDS_TO_OPTIMISE);
    let built = process::build(&["wts", "chaos"], is_long.then_some("simulate"))?;
    let mut command = Command::new(built.join("chaos"));
    command.arg("--wts").arg(built.join("wts")).args(["--seed", &arguments.seed.to_string()]);
    for scenario in &arguments.scenario {
        command.args(["--scenario", scenario]);
    }
    if let Some(seconds) = arguments.seconds {
        command.args(["--seconds", &seconds.to_string()]);
    }
    if let Some(server) = &arguments.server {
        command.args(["--server", server]);
    }
    for (wanted, flag) in [(arguments.short, "--short"), (arguments.json, "--json")] {
        if wanted {
            command.arg(flag);
        }
    }
    if process::run(&mut command).is_err() {
        bail!("a promise broke with seed {}", arguments.seed);
    }
    Ok(())
}
