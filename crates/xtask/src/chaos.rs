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

    /// How long things go wrong in each scenario, 30 if not given
    #[arg(long)]
    pub(crate) seconds: Option<u64>,

    /// What moves and moments are drawn from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Some scenarios for some seconds each
    #[arg(long, conflicts_with = "seconds")]
    pub(crate) short: bool,

    /// Valkey in the place of Redis
    #[arg(long)]
    pub(crate) valkey: bool,

    /// Print one JSON object a scenario: scenario, store, faults, calls, acknowledged, lost, duplicated,
    /// leaked, stuck, misjudged, `recovery_ms_p50`, `recovery_ms_max`
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs scenarios over debug builds of the server.
///
/// # Errors
/// A promise broke; which one is printed with its seed.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let built = process::build(&["wts", "chaos"], None)?;
    let mut command = Command::new(built.join("chaos"));
    command.arg("--wts").arg(built.join("wts")).args(["--seed", &arguments.seed.to_string()]);
    for scenario in &arguments.scenario {
        command.args(["--scenario", scenario]);
    }
    if let Some(seconds) = arguments.seconds {
        command.args(["--seconds", &seconds.to_string()]);
    }
    for (wanted, flag) in
        [(arguments.short, "--short"), (arguments.valkey, "--valkey"), (arguments.json, "--json")]
    {
        if wanted {
            command.arg(flag);
        }
    }
    if process::run(&mut command).is_err() {
        bail!("a promise broke with seed {}", arguments.seed);
    }
    Ok(())
}
