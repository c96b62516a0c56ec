//! What the Shell: serve, demo, play and check.

mod serve;
mod vectors;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The game server of What the Shell and its tools.
#[derive(Parser)]
#[command(name = "wts", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Each command is a file of its own, with its arguments and a `run` that says how the process ends.
#[derive(Subcommand)]
enum Command {
    /// The server, in this process
    Serve(serve::Arguments),
    /// Test vectors of the rules, commitments and transcripts
    Vectors(vectors::Arguments),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Vectors(arguments) => vectors::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        // Nobody is left to tell if stderr is closed.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}
