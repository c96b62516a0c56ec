//! Runs scenarios one after the other and reports on each.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use chaos::{Goal, Order, Report, Scenario};
use clap::{Parser, ValueEnum};
use redis_servers::Flavor;
use tokio::task::LocalSet;

/// How long things go wrong in each scenario of a short run, seconds.
const SHORT_S: u64 = 4;

/// The same at least in a long run, which goes on until enough was acknowledged.
const LONG_S: u64 = 30;

#[derive(Parser)]
struct Arguments {
    /// The server's binary
    #[arg(long, value_name = "FILE")]
    wts: PathBuf,

    /// What goes wrong; all scenarios if not given
    #[arg(long, value_enum)]
    scenario: Vec<Scenario>,

    /// How long things go wrong in each scenario; if not given, until enough was acknowledged
    #[arg(long)]
    seconds: Option<u64>,

    /// What moves and moments are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Some scenarios for some seconds each
    #[arg(long)]
    short: bool,

    /// The servers' make; if not given, scenarios and seeds take turns
    #[arg(long, value_enum)]
    server: Option<Make>,

    /// One JSON object a line on stdout
    #[arg(long)]
    json: bool,
}

/// Who made the servers.
#[derive(Clone, Copy, ValueEnum)]
enum Make {
    Redis,
    Valkey,
}

impl Arguments {
    fn order(&self, scenario: Scenario) -> Order {
        let (seconds, goal) = match (self.seconds, self.short) {
            (Some(seconds), _) => (seconds, Goal::default()),
            (None, true) => (SHORT_S, scenario.short_goal()),
            (None, false) => (LONG_S, scenario.goal()),
        };
        Order {
            wts: self.wts.clone(),
            scenario,
            flavor: self.server.map_or(scenario.flavor(self.seed), Make::flavor),
            span: Duration::from_secs(seconds),
            goal,
            seed: self.seed,
            is_short: self.short,
        }
    }
}

impl Make {
    const fn flavor(self) -> Flavor {
        match self {
            Self::Redis => Flavor::Redis,
            Self::Valkey => Flavor::Valkey,
        }
    }
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
        let order = arguments.order(*scenario);
        let report = runtime.block_on(LocalSet::new().run_until(chaos::run(&order)));
        match report {
            Ok(report) => {
                kept &= report.kept();
                tell(&report, arguments.json)?;
            }
            Err(error) => {
                kept = false;
                let (name, server) = (scenario.name(), order.flavor.name());
                writeln!(std::io::stderr(), "{name} over {server} with seed {}: {error:#}", order.seed)?;
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
        let Report { scenario, server, seed, .. } = report;
        writeln!(err, "  {scenario} over {server} broke its promises with seed {seed}:")?;
        for broken in &report.broken {
            writeln!(err, "  {broken}")?;
        }
    }
    Ok(())
}
