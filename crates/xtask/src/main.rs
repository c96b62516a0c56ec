//! What the Shell: code generation, checks and test runs, as `cargo xtask <task>`.
//!
//! Everything a developer or a CI machine runs is a task here, so that it is the same on both. A task
//! starts from the workspace root, whatever the current directory is.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's terminal is what these tasks report to"
)]

mod bench;
mod chaos;
mod flood;
mod foreign;
mod fuzz;
mod generate;
mod kill;
mod lint;
mod process;
mod simulate;
mod test;
mod tidy;
mod tool;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of What the Shell")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Set up what the tests need and run every stage; stop at the first that fails
    Test {
        /// Add the long runs: more property cases, fuzzing, benches
        #[arg(long)]
        full: bool,
    },
    /// Install what the tests need: all of it before a run of `cargo test` alone
    SetUp,
    /// Check layers, file sizes, names, paths and test binaries
    Tidy,
    /// Write the generated code that belongs to proto/
    Generate {
        /// Add that of sdk/python and sdk/typescript, which needs Python and Node
        #[arg(long)]
        sdks: bool,
    },
    /// Lint the protos and format them
    Lint,
    /// Check the clients in Python and TypeScript, and let each play a match; needs a debug build
    Foreign,
    /// Run the fuzz targets for a while each, on the nightly toolchain
    Fuzz(fuzz::Arguments),
    /// Kill a server at random moments while clients play: nothing acknowledged may be lost
    Kill(kill::Arguments),
    /// Play simulated matches while all kinds of things go wrong: no invariant may break
    Simulate(simulate::Arguments),
    /// Run nodes over one Redis while clients play and all kinds of things go wrong: no promise may break
    Chaos(chaos::Arguments),
    /// Attack a server with bad connections while honest matches play: none may fail or be slow
    Flood(flood::Arguments),
    /// Run the benches
    Bench {
        /// Run this one only
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
        /// Print one JSON object a line: name, value, unit, floor, ratio, conditions
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(&root).with_context(|| format!("cannot enter {}", root.display()))?;
    match task {
        Task::Test { full } => test::run(full),
        Task::SetUp => tool::set_up(),
        Task::Tidy => tidy::run(),
        Task::Generate { sdks } => {
            generate::run(false)?;
            if sdks { foreign::generate() } else { Ok(()) }
        }
        Task::Lint => lint::run(false),
        Task::Foreign => foreign::run(),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::Kill(arguments) => kill::run(&arguments),
        Task::Simulate(arguments) => simulate::run(&arguments),
        Task::Chaos(arguments) => chaos::run(&arguments),
        Task::Flood(arguments) => flood::run(&arguments),
        Task::Bench { only, json } => bench::run(only.as_deref(), json),
    }
}
