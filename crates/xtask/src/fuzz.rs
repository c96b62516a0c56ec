//! The fuzz targets, each for a while: part of `cargo xtask test --full`.

use std::path::Path;

use anyhow::Context as _;

use crate::{process, tool};

/// Targets of `tests/fuzz`, each with a corpus of its own name.
const TARGETS: &[&str] = &["rules"];

/// Seconds a target runs: from the corpus it reaches all code within the first few.
const TARGET_SECONDS: u32 = 60;

/// Runs each target, starting from its corpus. What it finds stays under `target`; a finding that is worth
/// keeping is moved to the corpus by hand.
///
/// # Errors
/// A target finds a broken promise, or the fuzzer cannot be set up.
pub(crate) fn run() -> anyhow::Result<()> {
    for target in TARGETS {
        let found = Path::new("target/fuzz-corpus").join(target);
        std::fs::create_dir_all(&found)?;
        // libFuzzer adds to the first folder and only reads the second.
        process::run(
            tool::fuzz()?
                .args(["run", "--fuzz-dir", "tests/fuzz", "--features", "libfuzzer", target])
                .arg(&found)
                .arg(Path::new("tests/fuzz/corpus").join(target))
                .args(["--", &format!("-max_total_time={TARGET_SECONDS}"), "-print_final_stats=1"]),
        )
        .with_context(|| format!("fuzz target `{target}`; its input is under tests/fuzz/artifacts"))?;
    }
    Ok(())
}
