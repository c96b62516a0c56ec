//! Plays matches of the simulation until one breaks an invariant, and shows how it does.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use simulation::{Failure, Flaw, Plan, Totals, run, search};

#[derive(Parser)]
struct Arguments {
    /// How many matches are played
    #[arg(long, default_value_t = 2_000)]
    matches: u64,

    /// The first run's seed; each run after it has the next one
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// One JSON object on stdout: matches, steps, faults, violations
    #[arg(long)]
    json: bool,

    /// Break the store on purpose, which must be found: a check of the check
    #[arg(long, value_name = "NAME")]
    flaw: Option<Flaw>,

    /// Play the first run only, and print its plan and all that happens in it
    #[arg(long, conflicts_with_all = ["json", "matches"])]
    trace: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.trace {
        return trace(arguments.seed, arguments.flaw);
    }
    let (totals, failure) = search(arguments.matches, arguments.seed, arguments.flaw);
    tell(&totals, arguments.json)?;
    let Some(failure) = failure else { return Ok(ExitCode::SUCCESS) };
    explain(&failure)?;
    Ok(ExitCode::FAILURE)
}

fn trace(seed: u64, flaw: Option<Flaw>) -> anyhow::Result<ExitCode> {
    let sound = Plan::of(seed, usize::MAX);
    let plan = match flaw {
        Some(flaw) => sound.with_flaw(flaw),
        None => sound,
    };
    let outcome = run(&plan, true);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{plan}")?;
    outcome.trace.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(if outcome.violation.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(totals: &Totals, json: bool) -> std::io::Result<()> {
    let figures = [
        ("matches", totals.matches),
        ("steps", totals.steps),
        ("faults", totals.faults),
        ("violations", totals.violations),
    ];
    let mut out = std::io::stdout().lock();
    if json {
        let object: serde_json::Map<_, _> =
            figures.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        return writeln!(out, "{}", serde_json::Value::Object(object));
    }
    for (name, value) in figures {
        writeln!(out, "{name:<12} {value}")?;
    }
    Ok(())
}

/// The smallest run that fails like the one that was found.
fn explain(failure: &Failure) -> std::io::Result<()> {
    let mut out = std::io::stderr().lock();
    writeln!(
        out,
        "seed {} breaks invariant {}: {}",
        failure.seed, failure.violation.invariant, failure.violation.what
    )?;
    writeln!(out, "found after {} matches; the run that is left of it:\n{}", failure.matches, failure.plan)?;
    failure.trace.iter().try_for_each(|line| writeln!(out, "{line}"))
}
