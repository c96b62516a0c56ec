//! What sealing a move costs through a running server, next to an empty call over the same transport.
//!
//! `cargo bench -p service-tests --bench seal -- [--only NAME] [--json]`. Both servers run in processes
//! of their own and are sent the same games by the same client, in turns, so that a busy machine slows
//! both alike.

// A bench is a program with a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod client;
mod figure;
mod floor;
mod lobby;
mod server;
mod side;
mod workload;

use std::env;
use std::process::ExitCode;
use std::thread;

use figure::{Figure, Samples};
use server::{Role, ServerProcess};
use side::{CONNECTIONS, IN_FLIGHT, Side};
use workload::{MATCHES, ROUND_CALLS};

/// Rounds of which the median counts; odd, so that it is one of them.
const ROUNDS: usize = 11;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seal: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let mut only = None;
    let mut json = false;
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo says so itself.
            "--bench" => {}
            "--json" => json = true,
            "--only" => only = Some(args.next().ok_or_else(|| anyhow::anyhow!("--only needs a name"))?),
            server::SERVE => return server::run(args.next().map(|bytes| bytes.parse()).transpose()?),
            other => anyhow::bail!("unknown argument {other}"),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for figure in runtime.block_on(measure())? {
        if figure.is_asked_for(only.as_deref()) {
            figure.print(json);
        }
    }
    Ok(())
}

/// Plays the rounds: the floor, a back end that acts for all players, players with their own tokens.
async fn measure() -> anyhow::Result<Vec<Figure>> {
    let games = workload::games()?;
    let service = ServerProcess::start(Role::Service).await?;
    let mut key = Side::back_end(&service, &games).await?;
    let mut token = Side::players(&service, &games).await?;
    // The first rounds warm everything up and tell how long an answer is.
    let answer_bytes = key.round().await?.answer_bytes;
    token.round().await?;
    let bare = ServerProcess::start(Role::Floor { answer_bytes }).await?;
    let mut floor = Side::floor(&bare, &games).await?;
    floor.round().await?;
    for side in [&mut floor, &mut key, &mut token] {
        side.samples = Samples::default();
    }
    for _ in 0..ROUNDS {
        floor.round().await?;
        key.round().await?;
        token.round().await?;
    }
    let figures = |name: &str, side: &Side<'_>, who: &str| {
        let (conditions, samples, floor) = (conditions(who), &side.samples, &floor.samples);
        [samples.rate(name, floor, &conditions), samples.cpu(name, floor, &conditions)]
    };
    let key = figures("seal_volatile", &key, "called by a back end with an API key");
    let token = figures("seal_volatile_token", &token, "called by two players with tokens");
    Ok(key.into_iter().chain(token).collect())
}

fn conditions(who: &str) -> String {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{who}; {IN_FLIGHT} in flight, {CONNECTIONS} connections, {MATCHES} matches of games.jsonl, \
         receipts unsigned; multi-thread runtime of {workers} workers, server and client on the same \
         {workers} cores, bench profile; median of {ROUNDS} interleaved rounds of up to {ROUND_CALLS} calls"
    )
}
