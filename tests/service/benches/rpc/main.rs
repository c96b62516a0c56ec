//! What calls and streams cost through a running server, next to the same over the bare transport.
//!
//! `cargo bench -p service-tests --bench rpc -- [--only NAME] [--json]`. Servers run in processes of their
//! own; those that are compared are asked the same by the same client, in turns, so that a busy machine
//! slows both alike.

// A bench is a program with a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bytes;
mod client;
mod fanout;
mod figure;
mod floor;
mod heard;
mod hint;
mod idle;
mod lobby;
mod seal;
mod seal_redis;
mod server;
mod shared_store;
mod side;
mod store_floor;
mod tickets;
mod told;
mod verify;
mod workload;

use std::env;
use std::process::ExitCode;

use futures::future::LocalBoxFuture;

use figure::Figure;
use server::Role;
use side::Caller;

/// That of `wts`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Figures that are measured together.
struct Bench {
    /// The name of each figure. Who asks for the first gets all.
    names: &'static [&'static str],
    measure: fn() -> LocalBoxFuture<'static, anyhow::Result<Vec<Figure>>>,
}

const BENCHES: &[Bench] = &[
    Bench {
        names: &["seal_volatile", "seal_volatile_cpu"],
        measure: || Box::pin(seal::beside_floor(Role::Volatile, Caller::BackEnd)),
    },
    Bench {
        names: &["seal_volatile_token", "seal_volatile_token_cpu"],
        measure: || Box::pin(seal::beside_floor(Role::Volatile, Caller::Players)),
    },
    Bench {
        names: &[
            "seal_embedded",
            "seal_embedded_cpu",
            "seal_embedded_fsync_1",
            "seal_embedded_fsync_8",
            "seal_embedded_fsync_64",
            "seal_embedded_fsync_256",
        ],
        measure: || Box::pin(seal::embedded()),
    },
    Bench {
        names: &[
            "seal_redis",
            "seal_redis_cpu",
            "seal_redis_redis_cpu",
            "seal_redis_scripts",
            "seal_redis_commands",
            "seal_redis_256",
            "seal_redis_256_cpu",
            "seal_redis_256_redis_cpu",
            "seal_redis_256_scripts",
            "seal_redis_256_commands",
        ],
        measure: || Box::pin(seal_redis::beside_floor()),
    },
    Bench {
        names: &["seal_redis_told", "seal_redis_told_cpu"],
        measure: || Box::pin(told::beside_silence()),
    },
    Bench {
        names: &["bytes_per_match", "bytes_per_match_finished"],
        measure: || Box::pin(bytes::each_match()),
    },
    Bench {
        names: &["tickets_redis", "tickets_redis_median", "tickets_redis_p99"],
        measure: || Box::pin(tickets::over_redis()),
    },
    Bench { names: &["hint_latency", "hint_latency_p99"], measure: || Box::pin(hint::latency()) },
    Bench { names: &["receipt_signed", "receipt_signed_cpu"], measure: || Box::pin(seal::signed()) },
    Bench {
        names: &["transcript_verify", "transcript_verify_match"],
        measure: || Box::pin(verify::time_each()),
    },
    Bench { names: &["streams_idle", "streams_idle_alone"], measure: || Box::pin(idle::bytes_each()) },
    Bench { names: &["fanout"], measure: || Box::pin(fanout::cpu_each()) },
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rpc: {error:#}");
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
            server::SERVE => {
                let role: Vec<_> = args.map(Into::into).collect();
                return server::run(&role);
            }
            other => anyhow::bail!("unknown argument {other}"),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for Bench { names, measure } in BENCHES {
        let wanted = |name: &str| only.as_ref().is_none_or(|only| only == names[0] || only == name);
        if names.iter().any(|name| wanted(name)) {
            let figures = runtime.block_on(measure())?;
            for (name, figure) in names.iter().zip(figures).filter(|(name, _)| wanted(name)) {
                figure.print(name, json);
            }
        }
    }
    Ok(())
}
