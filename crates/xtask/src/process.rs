//! Child processes: started, shown, and their closing lines kept.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use cargo_metadata::MetadataCommand;
use cargo_metadata::camino::Utf8PathBuf;

/// The cargo that runs this task, so that a task never mixes two toolchains.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The product's binary, as the last debug build made it.
///
/// # Errors
/// cargo cannot say where it is.
pub(crate) fn wts() -> anyhow::Result<Command> {
    Ok(Command::new(built(None)?.join("wts")))
}

/// Builds the programs of `packages` and returns the folder that they are in: by `profile`, or for debugging.
///
/// # Errors
/// They do not compile, or cargo cannot say where they are.
pub(crate) fn build(packages: &[&str], profile: Option<&str>) -> anyhow::Result<Utf8PathBuf> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked"]);
    packages.iter().for_each(|package| _ = build.args(["--package", package]));
    profile.iter().for_each(|profile| _ = build.args(["--profile", profile]));
    run(&mut build)?;
    built(profile)
}

/// The folder of what was built by a profile.
fn built(profile: Option<&str>) -> anyhow::Result<Utf8PathBuf> {
    let target = MetadataCommand::new().no_deps().exec()?.target_directory;
    Ok(target.join(profile.unwrap_or("debug")))
}

/// Runs `command` with its output on ours.
///
/// # Errors
/// It cannot be started, or ends with anything but 0.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| start_failure(command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(())
}

/// Runs `command`, shows its output as it comes, and returns the closing lines of the test runners in it.
///
/// # Errors
/// It cannot be started, or ends with anything but 0.
pub(crate) fn run_tests(command: &mut Command) -> anyhow::Result<Vec<Closing>> {
    // One pipe for both streams keeps the order: cargo names a test binary on stderr, the runner of that
    // binary reports on stdout.
    let (reader, writer) = std::io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()
        .with_context(|| start_failure(command))?;
    // The command holds the writing ends; the pipe ends only once they are gone.
    command.stdout(Stdio::null()).stderr(Stdio::null());

    let mut suite = String::new();
    let mut closings = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let bytes = line?;
        let line = String::from_utf8_lossy(&bytes);
        println!("{line}");
        if let Some(name) = suite_name(&line) {
            suite = name;
        } else if is_closing(&line) {
            closings.push(Closing { suite: suite.clone(), line: line.into_owned() });
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` ended with {status}", self::line(command));
    }
    Ok(closings)
}

/// The line with which a test runner sums up one suite.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closing {
    /// What ran: a test binary and its source, or a crate's doc tests; empty if the command itself is
    /// the suite.
    pub(crate) suite: String,
    /// The line as the runner printed it.
    pub(crate) line: String,
}

impl Closing {
    /// How many tests passed, as the line says.
    pub(crate) fn passed(&self) -> u64 {
        let words: Vec<&str> = self.line.split([' ', ';', ',']).filter(|word| !word.is_empty()).collect();
        words
            .windows(2)
            .find_map(|pair| (pair[1] == "passed").then(|| pair[0].parse().ok()).flatten())
            .unwrap_or(0)
    }
}

/// The suite that cargo announces with this line, if it announces one.
fn suite_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(package) = line.strip_prefix("Doc-tests ") {
        return Some(format!("doc tests of {package}"));
    }
    let (source, binary) = line.strip_prefix("Running ")?.split_once(" (")?;
    let stem = binary.trim_end_matches(')').rsplit('/').next()?;
    let package = stem.rsplit_once('-').map_or(stem, |(package, _hash)| package);
    Some(format!("{package}: {}", source.trim_start_matches("unittests ")))
}

/// True for libtest's `test result: …` and for the vector checker's `N passed, N failed`.
fn is_closing(line: &str) -> bool {
    line.starts_with("test result: ") || (line.contains(" passed, ") && line.ends_with(" failed"))
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_stem().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// What to say where a command cannot be started.
pub(crate) fn start_failure(command: &Command) -> String {
    format!("cannot start `{}`", line(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_suite_a_runner_reports_on() {
        let check = |line: &str, name: Option<&str>| assert_eq!(suite_name(line).as_deref(), name, "{line}");
        check(
            "     Running unittests src/lib.rs (target/debug/deps/rules-0a1b2c)",
            Some("rules: src/lib.rs"),
        );
        check(
            "     Running tests/store.rs (target/debug/deps/store-embedded-77)",
            Some("store-embedded: tests/store.rs"),
        );
        check("   Doc-tests sealing", Some("doc tests of sealing"));
        check("   Compiling rules v0.1.0", None);
        check("     Running `target/debug/wts`", None);
    }

    #[test]
    fn counts_what_passed() {
        let check = |line: &str, passed| {
            assert!(is_closing(line), "{line}");
            assert_eq!(Closing { suite: String::new(), line: line.to_owned() }.passed(), passed, "{line}");
        };
        check(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
            12,
        );
        check("1828 passed, 0 failed", 1828);
        assert!(!is_closing("test passed ... ok"));
    }

    #[test]
    fn output_of_both_streams_keeps_its_order() {
        let script =
            r"echo '  Running tests/a.rs (target/a-1)' >&2; echo 'test result: ok. 3 passed; 0 failed'";
        let closings = run_tests(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!(
            closings,
            [Closing {
                suite: "a: tests/a.rs".to_owned(),
                line: "test result: ok. 3 passed; 0 failed".to_owned()
            }]
        );
    }

    #[test]
    fn a_failing_command_is_named() {
        let error = run_tests(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c exit 3` ended with exit status: 3");
    }
}
