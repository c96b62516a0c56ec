//! `cargo xtask flood`: bad connections attack a server while honest matches play.

use std::process::Command;

use anyhow::bail;
use clap::Args;

use crate::process;

/// Options of `cargo xtask flood`.
#[derive(Args, Default)]
pub(crate) struct Arguments {
    /// Some seconds with fewer of everything: failures alone count
    #[arg(long)]
    pub(crate) short: bool,

    /// Print one JSON object: honest_calls, failed, p99_before_ms, p99_during_ms, rss_mb_max
    #[arg(long)]
    pub(crate) json: bool,
}

/// What servers are built by where time is measured: as what users run, but for the last tenth of speed.
const TIMED_PROFILE: &str = "simulate";

/// Floods a server.
///
/// # Errors
/// An honest call failed, or honest calls took three times as long as in peace.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = (!arguments.short).then_some(TIMED_PROFILE);
    let built = process::build(&["wts", "flood"], profile)?;
    let mut command = Command::new(built.join("flood"));
    command.arg("--wts").arg(built.join("wts"));
    if arguments.short {
        command.args(["--matches", "20", "--bad", "200", "--seconds", "4", "--runs", "1", "--untimed"]);
    }
    if arguments.json {
        command.arg("--json");
    }
    if process::run(&mut command).is_err() {
        bail!("a flood gets at honest players");
    }
    Ok(())
}
