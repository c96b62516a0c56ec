//! `cargo xtask bench`: runs the benches and relays their lines.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::bail;

use crate::process;

/// A figure that can be asked for by name.
struct Bench {
    name: &'static str,
    package: &'static str,
    /// The bench target of the package that measures it; one target may measure several.
    target: &'static str,
}

/// Names stay: others call them.
const BENCHES: &[Bench] = &[
    Bench { name: "rules_turn", package: "rules", target: "turn" },
    Bench { name: "rules_playout", package: "rules", target: "turn" },
    Bench { name: "rules_turn_instructions", package: "rules", target: "turn" },
    // All of pairing's.
    Bench { name: "pairing", package: "matchmaker", target: "pairing" },
    Bench { name: "pairing_1k", package: "matchmaker", target: "pairing" },
    Bench { name: "pairing_10k", package: "matchmaker", target: "pairing" },
    Bench { name: "pairing_100k", package: "matchmaker", target: "pairing" },
    Bench { name: "pairing_growth", package: "matchmaker", target: "pairing" },
    Bench { name: "seal_volatile", package: "service-tests", target: "rpc" },
    Bench { name: "seal_volatile_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "seal_volatile_token", package: "service-tests", target: "rpc" },
    Bench { name: "seal_volatile_token_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "seal_embedded", package: "service-tests", target: "rpc" },
    Bench { name: "seal_embedded_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "seal_embedded_fsync_1", package: "service-tests", target: "rpc" },
    Bench { name: "seal_embedded_fsync_8", package: "service-tests", target: "rpc" },
    Bench { name: "seal_embedded_fsync_64", package: "service-tests", target: "rpc" },
    Bench { name: "seal_embedded_fsync_256", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_redis_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_scripts", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_commands", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_256", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_256_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_256_redis_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_256_scripts", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_256_commands", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_told", package: "service-tests", target: "rpc" },
    Bench { name: "seal_redis_told_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "bytes_per_match", package: "service-tests", target: "rpc" },
    Bench { name: "bytes_per_match_finished", package: "service-tests", target: "rpc" },
    Bench { name: "tickets_redis", package: "service-tests", target: "rpc" },
    Bench { name: "tickets_redis_median", package: "service-tests", target: "rpc" },
    Bench { name: "tickets_redis_p99", package: "service-tests", target: "rpc" },
    Bench { name: "hint_latency", package: "service-tests", target: "rpc" },
    Bench { name: "hint_latency_p99", package: "service-tests", target: "rpc" },
    Bench { name: "commit_embedded", package: "store-embedded", target: "commit" },
    Bench { name: "commit_embedded_no_fsync", package: "store-embedded", target: "commit" },
    Bench { name: "receipt_signed", package: "service-tests", target: "rpc" },
    Bench { name: "receipt_signed_cpu", package: "service-tests", target: "rpc" },
    Bench { name: "transcript_verify", package: "service-tests", target: "rpc" },
    Bench { name: "transcript_verify_match", package: "service-tests", target: "rpc" },
    Bench { name: "streams_idle", package: "service-tests", target: "rpc" },
    Bench { name: "streams_idle_alone", package: "service-tests", target: "rpc" },
    Bench { name: "fanout", package: "service-tests", target: "rpc" },
];

/// Runs all benches, or the one named `only`. With `json` stdout has one JSON object a line
/// (`name, value, unit, floor, ratio, conditions`) and nothing else.
///
/// # Errors
/// There is no bench of that name, or one fails.
pub(crate) fn run(only: Option<&str>, json: bool) -> anyhow::Result<()> {
    for (package, target) in targets(only)? {
        let mut command = process::cargo();
        command.args(["bench", "--package", package, "--bench", target, "--"]);
        if let Some(name) = only {
            command.args(["--only", name]);
        }
        if json {
            command.arg("--json");
            relay_json(&mut command)?;
        } else {
            process::run(&mut command)?;
        }
    }
    Ok(())
}

/// The (package, target) pairs that measure `only`, or everything; each once.
fn targets(only: Option<&str>) -> anyhow::Result<Vec<(&'static str, &'static str)>> {
    let mut targets = Vec::new();
    for bench in BENCHES.iter().filter(|bench| only.is_none_or(|name| name == bench.name)) {
        if !targets.contains(&(bench.package, bench.target)) {
            targets.push((bench.package, bench.target));
        }
    }
    if targets.is_empty() {
        let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        bail!("no bench is named {:?}; there are: {}", only.unwrap_or_default(), names.join(", "));
    }
    Ok(targets)
}

/// Passes on the JSON lines; whatever else a bench says goes to stderr.
fn relay_json(command: &mut std::process::Command) -> anyhow::Result<()> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            match line? {
                line if line.starts_with('{') => println!("{line}"),
                line => eprintln!("{line}"),
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` ended with {status}", process::line(command));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_measures_several_figures_runs_once() {
        let targets = targets(None).unwrap();
        assert_eq!(targets.iter().filter(|target| **target == ("rules", "turn")).count(), 1);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_names() {
        let error = targets(Some("rules_tern")).unwrap_err().to_string();
        assert!(error.contains("\"rules_tern\"") && error.contains("rules_turn, rules_playout"), "{error}");
    }

    #[test]
    fn names_are_unique() {
        for (index, bench) in BENCHES.iter().enumerate() {
            assert!(BENCHES[..index].iter().all(|other| other.name != bench.name), "{}", bench.name);
        }
    }
}
