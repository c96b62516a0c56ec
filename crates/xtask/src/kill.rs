//! `cargo xtask kill`: a server that is killed, or whose power is cut, while clients play.

use anyhow::bail;
use cargo_metadata::MetadataCommand;
use clap::Args;

use crate::process;

/// Options of `cargo xtask kill`.
#[derive(Args)]
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

    /// Print one JSON object: kills, acknowledged, lost, duplicated, stuck
    #[arg(long)]
    pub(crate) json: bool,
}

/// Kills a debug build of the server as often as it is told.
///
/// # Errors
/// Something acknowledged was lost, something happened twice, or a match does not go on.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut build = process::cargo();
    build.args(["build", "--quiet", "--locked", "--package", "wts", "--package", "durability"]);
    process::run(&mut build)?;
    let built = MetadataCommand::new().no_deps().exec()?.target_directory.join("debug");
    let mut command = std::process::Command::new(built.join("durability"));
    command.arg("--wts").arg(built.join("wts"));
    command.args(["--kills", &arguments.kills.to_string(), "--seed", &arguments.seed.to_string()]);
    for (wanted, flag) in [(arguments.power, "--power"), (arguments.json, "--json")] {
        if wanted {
            command.arg(flag);
        }
    }
    if process::run(&mut command).is_err() {
        bail!("the store broke its promise with seed {}", arguments.seed);
    }
    Ok(())
}
