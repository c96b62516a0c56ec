//! `wts vectors check FILE…`: whether this build agrees with files of test vectors.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::vectors::{FAILURES_MAX, Summary, check_file};
use clap::{Args, Subcommand};

/// The arguments of `wts vectors`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check every row of the files; the last line is `N passed, N failed`
    Check {
        /// Files of one JSON object a line
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// Carries out `wts vectors`. Ends with 1 if a row fails or a file cannot be read.
///
/// # Errors
/// Stdout cannot be written to.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Action::Check { files } = &arguments.action;
    Ok(check(files, &mut std::io::stdout().lock())?)
}

fn check(files: &[PathBuf], out: &mut impl Write) -> std::io::Result<ExitCode> {
    let (mut passed, mut failed) = (0, 0);
    for path in files {
        match File::open(path) {
            Ok(file) => {
                let summary = check_file(BufReader::new(file));
                report(path, &summary, out)?;
                passed += summary.passed;
                failed += summary.failed;
            }
            Err(error) => {
                writeln!(out, "{}: {error}", printable(&path.to_string_lossy()))?;
                failed += 1;
            }
        }
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(path: &Path, summary: &Summary, out: &mut impl Write) -> std::io::Result<()> {
    for failure in &summary.failures {
        let place = format!("{}:{}", path.display(), failure.line);
        let id = if failure.id.is_empty() { "(no id)" } else { &failure.id };
        writeln!(out, "{}", printable(&format!("{place}: {id}: {}", failure.mismatch)))?;
    }
    if summary.failed > FAILURES_MAX as u64 {
        let more = summary.failed - FAILURES_MAX as u64;
        writeln!(out, "{}: {more} more failures", printable(&path.to_string_lossy()))?;
    }
    Ok(())
}

/// The text on one line: a file of unknown origin must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}
