//! `cargo xtask fuzz`: the fuzz targets, each for a while; part of `cargo xtask test --full`.

use std::path::Path;

use anyhow::Context as _;
use clap::Args;

use crate::{process, tool};

/// Targets of `tests/fuzz`, each with a corpus of its own name.
const TARGETS: [&str; 6] = ["rules", "notation", "commitments", "records", "transcripts", "service"];

/// Seconds a target runs if not said otherwise: from the corpus it reaches all code within the first few.
const TARGET_SECONDS: u32 = 60;

/// Options of `cargo xtask fuzz`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How long each target runs
    #[arg(long, default_value_t = TARGET_SECONDS)]
    pub(crate) seconds: u32,

    /// One target; all if not given. May be repeated
    #[arg(long, value_name = "NAME", value_parser = TARGETS)]
    pub(crate) target: Vec<String>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { seconds: TARGET_SECONDS, target: Vec::new() }
    }
}

/// Runs each target, starting from its corpus. What it finds stays under `target`; a finding that is worth
/// keeping is moved to the corpus by hand.
///
/// # Errors
/// A target finds a broken promise, or the fuzzer cannot be set up.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_wanted =
        |target: &&str| arguments.target.is_empty() || arguments.target.iter().any(|t| t == target);
    for target in TARGETS.iter().copied().filter(is_wanted) {
        let found = Path::new("target/fuzz-corpus").join(target);
        std::fs::create_dir_all(&found)?;
        // libFuzzer adds to the first folder and only reads the second.
        process::run(
            tool::fuzz()?
                .args(["run", "--fuzz-dir", "tests/fuzz", "--features", "libfuzzer", target])
                .arg(&found)
                .arg(Path::new("tests/fuzz/corpus").join(target))
                .args(["--", &format!("-max_total_time={}", arguments.seconds), "-print_final_stats=1"]),
        )
        .with_context(|| format!("fuzz target `{target}`; its input is under tests/fuzz/artifacts"))?;
    }
    Ok(())
}
