//! `cargo xtask kill`: a server that is killed, or whose power is cut, while clients play.

use std::process::{Command, Stdio};

use anyhow::bail;
use clap::Args;

use crate::process;

/// Options of `cargo xtask kill`.
#[derive(Args, Default)]
pub(crate) struct Arguments {
    /// How often the server is killed
    #[arg(long, default_value_t = 100)]
    pub(crate) kills: u32,

    /// What moments, moves and losses are drawn from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Cut the power as well: lose what was not synced
    #[arg(long)]
    pub(crate) power: bool,

    /// Have a sync of the journal fail in each process instead of killing it: it must end by itself
    #[arg(long, conflicts_with_all = ["power", "ignore_syncs"])]
    pub(crate) fail_syncs: bool,

    /// Cut the power of a server whose journal is never synced, which must lose something: a check of the
    /// check
    #[arg(long)]
    pub(crate) ignore_syncs: bool,

    /// Have players look for each other, and kill the server right after the Nth thing that it stored, N swept
    #[arg(long, conflicts_with_all = ["power", "fail_syncs", "ignore_syncs"])]
    pub(crate) queue: bool,

    /// Print one JSON object: kills, acknowledged, lost, duplicated, stuck
    #[arg(long)]
    pub(crate) json: bool,
}

/// Kills a debug build of the server as often as it is told.
///
/// # Errors
/// Something acknowledged was lost, something happened twice, or a match does not go on.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if process::run(&mut command(arguments)?).is_err() {
        bail!("the store broke its promise with seed {}", arguments.seed);
    }
    Ok(())
}

/// Cuts the power of a server whose journal is never synced, and wants the losses to be found: a run that
/// finds none in a sound server shows something only then.
///
/// # Errors
/// No loss was found.
pub(crate) fn finds_losses(kills: u32, seed: u64) -> anyhow::Result<()> {
    let arguments =
        Arguments { kills, seed, power: true, ignore_syncs: true, json: true, ..Arguments::default() };
    let output = command(&arguments)?.stderr(Stdio::inherit()).output()?;
    let report = String::from_utf8_lossy(&output.stdout);
    match lost(&report) {
        Some(1..) => {
            println!("without syncs of the journal losses are found, as they must be: {}", report.trim());
            Ok(())
        }
        found => bail!("a journal that is never synced loses nothing that is found: {found:?} of {report}"),
    }
}

/// How much a run has lost, as its JSON says.
fn lost(report: &str) -> Option<u64> {
    let (_, after) = report.split_once(r#""lost":"#)?;
    after.split(|following: char| !following.is_ascii_digit()).next()?.parse().ok()
}

/// What does the run, built.
fn command(arguments: &Arguments) -> anyhow::Result<Command> {
    let built = process::build(&["wts", "durability"], None)?;
    let mut command = Command::new(built.join("durability"));
    command.arg("--wts").arg(built.join("wts"));
    command.args(["--kills", &arguments.kills.to_string(), "--seed", &arguments.seed.to_string()]);
    for (wanted, flag) in [
        (arguments.power, "--power"),
        (arguments.fail_syncs, "--fail-syncs"),
        (arguments.ignore_syncs, "--ignore-syncs"),
        (arguments.queue, "--queue"),
        (arguments.json, "--json"),
    ] {
        if wanted {
            command.arg(flag);
        }
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::lost;

    #[test]
    fn a_report_says_how_much_was_lost() {
        assert_eq!(lost(r#"{"acknowledged":295,"duplicated":0,"kills":5,"lost":292,"stuck":0}"#), Some(292));
        assert_eq!(lost(r#"{"lost":0}"#), Some(0));
        assert_eq!(lost("error: the server does not start"), None);
    }
}
