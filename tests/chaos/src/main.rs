//! Runs scenarios one after the other and reports on each.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use chaos::{Order, Report, Scenario};
use clap::Parser;
use redis_servers::Flavor;
use tokio::task::LocalSet;

/// How long things go wrong in each scenario of a short run, seconds.
const SHORT_S: u64 = 4;

#[derive(Parser)]
struct Arguments {
    /// The server's binary
    #[arg(long, value_name = "FILE")]
    wts: PathBuf,

    /// What goes wrong; all scenarios if not given
    #[arg(long, value_enum)]
    scenario: Vec<Scenario>,

    /// How long things go wrong in each scenario
    #[arg(long, default_value_t = 30)]
    seconds: u64,

    /// What moves and moments are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Some scenarios for some seconds each
    #[arg(long)]
    short: bool,

    /// Valkey in the place of Redis
    #[arg(long)]
    valkey: bool,

    /// One JSON object a line on stdout
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let scenarios = match (arguments.scenario.as_slice(), arguments.short) {
        ([], true) => Scenario::short(),
        ([], false) => Scenario::all(),
        (chosen, _) => chosen,
    };
    let mut kept = true;
    for scenario in scenarios {
        let order = Order {
            wts: arguments.wts.clone(),
            scenario: *scenario,
            flavor: if arguments.valkey { Flavor::Valkey } else { Flavor::Redis },
            span: Duration::from_secs(if arguments.short { SHORT_S } else { arguments.seconds }),
            seed: arguments.seed,
            is_short: arguments.short,
        };
        let report = runtime.block_on(LocalSet::new().run_until(chaos::run(&order)));
        match report {
            Ok(report) => {
                kept &= report.kept();
                tell(&report, arguments.json)?;
            }
            Err(error) => {
                kept = false;
                writeln!(std::io::stderr(), "{} with seed {}: {error:#}", scenario.name(), arguments.seed)?;
            }
        }
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(report: &Report, json: bool) -> std::io::Result<()> {
    let line = if json { report.json() } else { report.line() };
    writeln!(std::io::stdout(), "{line}")?;
    let mut err = std::io::stderr().lock();
    for note in &report.notes {
        writeln!(err, "  note: {note}")?;
    }
    if !report.kept() {
        writeln!(err, "  {} broke its promises with seed {}:", report.scenario, report.seed)?;
        for broken in &report.broken {
            writeln!(err, "  {broken}")?;
        }
    }
    Ok(())
}
