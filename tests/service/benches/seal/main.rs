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
use side::{CONNECTIONS, Caller, IN_FLIGHT, Side};
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
    for (name, caller) in [("seal_volatile", Caller::BackEnd), ("seal_volatile_token", Caller::Players)] {
        let cpu_name = format!("{name}_cpu");
        // The CPU time stands beside the rate: who asks for the rate gets both.
        if only.as_ref().is_none_or(|only| only == name || *only == cpu_name) {
            let (rate, cpu) = runtime.block_on(measure(caller))?;
            if only.as_ref() != Some(&cpu_name) {
                rate.print(name, json);
            }
            cpu.print(&cpu_name, json);
        }
    }
    Ok(())
}

/// Plays the rounds of a caller and the floor: calls a second and the server's CPU time a call.
async fn measure(caller: Caller) -> anyhow::Result<(Figure, Figure)> {
    let games = workload::games()?;
    let server = ServerProcess::start(Role::Service).await?;
    let mut service = Side::service(&server, &games, caller).await?;
    // The first rounds warm everything up and tell how long an answer is.
    let answer_bytes = service.round().await?.answer_bytes;
    let bare_server = ServerProcess::start(Role::Floor { answer_bytes }).await?;
    let mut floor = Side::floor(&bare_server, &games).await?;
    floor.round().await?;
    service.samples = Samples::default();
    floor.samples = Samples::default();
    for _ in 0..ROUNDS {
        floor.round().await?;
        service.round().await?;
    }
    let conditions = conditions(caller);
    let (service, floor) = (&service.samples, &floor.samples);
    Ok((service.rate(floor, &conditions), service.cpu(floor, &conditions)))
}

fn conditions(caller: Caller) -> String {
    let who = match caller {
        Caller::BackEnd => "called by a back end with an API key",
        Caller::Players => "called by two players with tokens",
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{who}; {IN_FLIGHT} in flight, {CONNECTIONS} connections, {MATCHES} matches of games.jsonl, \
         receipts unsigned; multi-thread runtime of {workers} workers, server and client on the same \
         {workers} cores, bench profile; median of {ROUNDS} interleaved rounds of up to {ROUND_CALLS} calls"
    )
}
