//! `cargo xtask tidy`: the rules of the code base that no compiler checks.
//!
//! Each check is a function over data that returns findings; this file reads the data and prints them.

mod layers;
mod lints;
mod sources;

use std::fmt;
use std::process::Command;

use anyhow::{Context as _, bail};
use cargo_metadata::{Metadata, MetadataCommand, TargetKind};

use sources::Source;

use crate::generate;

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The file or crate.
    place: String,
    /// What is wrong there.
    problem: String,
    /// What to do about it.
    remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}\n    {}", self.place, self.problem, self.remedy)
    }
}

/// All checks: what is written by hand, then whether the generated code is what `proto/` says.
///
/// # Errors
/// There are findings, or the data cannot be read.
pub(crate) fn run() -> anyhow::Result<()> {
    check()?;
    generate::run(true)
}

/// The checks of what is written by hand.
///
/// # Errors
/// There are findings, or the data cannot be read.
pub(crate) fn check() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let sources = read_sources()?;
    for warning in sources::long_files(&sources, sources::LINES_ADVISED) {
        println!("warning: {warning}");
    }

    let mut findings = layers::check(layers::LAYERS, &packages(&metadata));
    findings.extend(sources::long_files(&sources, sources::LINES_MAX));
    findings.extend(sources::catch_all_names(&sources));
    findings.extend(sources::machine_paths(&sources));
    findings.extend(sources::test_binaries(&test_targets(&metadata)));
    findings.extend(lints::check(&sources));
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => bail!("tidy: {count} findings"),
    }
}

/// The workspace's crates with the dependencies that end up in what they build.
fn packages(metadata: &Metadata) -> Vec<layers::Package> {
    let dependency = |dependency: &cargo_metadata::Dependency| layers::Dependency {
        name: dependency.name.clone(),
        own: dependency.path.is_some(),
    };
    let package = |package: &&cargo_metadata::Package| layers::Package {
        name: package.name.to_string(),
        dependencies: package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != cargo_metadata::DependencyKind::Development)
            .map(dependency)
            .collect(),
    };
    metadata.workspace_packages().iter().map(package).collect()
}

/// The crates with the names of their integration test binaries.
fn test_targets(metadata: &Metadata) -> Vec<(String, Vec<String>)> {
    let tests = |package: &cargo_metadata::Package| {
        package
            .targets
            .iter()
            .filter(|target| target.is_kind(TargetKind::Test))
            .map(|target| target.name.clone())
            .collect()
    };
    metadata.workspace_packages().iter().map(|package| (package.name.to_string(), tests(package))).collect()
}

/// Every text file that is tracked or about to be.
fn read_sources() -> anyhow::Result<Vec<Source>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .output()
        .context("tidy asks git which files belong to the project")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut sources = Vec::new();
    for path in String::from_utf8(output.stdout)?.split_terminator('\0') {
        // Neither binary files nor those that are deleted but still tracked.
        if let Ok(text) = std::fs::read_to_string(path) {
            sources.push(Source { path: path.to_owned(), text });
        }
    }
    Ok(sources)
}
