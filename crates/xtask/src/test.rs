//! `cargo xtask test`: every stage, in order, until one fails.

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::process::{self, Closing};
use crate::{bench, chaos, flood, foreign, fuzz, generate, kill, lint, simulate, tidy, tool};

/// One step of a test run.
struct Stage {
    name: &'static str,
    /// What a failure of this stage means.
    why: &'static str,
    work: Work,
}

enum Work {
    /// A cargo command line, and variables for it.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// cargo-deny, wherever it is installed.
    Deny(&'static [&'static str]),
    /// The binary that the build stage made, with these arguments.
    Wts(fn() -> anyhow::Result<Vec<OsString>>),
    /// A task of this program.
    Own(fn() -> anyhow::Result<()>),
}

/// What every change has to pass; what is quick comes first.
const STAGES: &[Stage] = &[
    Stage { name: "set up", why: "the tests lack a tool", work: Work::Own(tool::set_up) },
    Stage {
        name: "format",
        why: "run `cargo fmt --all`",
        work: Work::Cargo(&["fmt", "--all", "--check"], &[]),
    },
    Stage { name: "tidy", why: "a layer or a habit is broken", work: Work::Own(tidy::check) },
    Stage {
        name: "generate",
        why: "run `cargo xtask generate` and commit what it writes",
        work: Work::Own(|| generate::run(true)),
    },
    Stage {
        name: "lint",
        why: "a proto breaks a rule of the API's style, or is not formatted; try `cargo xtask lint`",
        work: Work::Own(|| lint::run(true)),
    },
    Stage {
        name: "deny",
        why: "a licence, a library or a source that deny.toml refuses",
        work: Work::Deny(&["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]),
    },
    Stage {
        name: "clippy",
        why: "a lint, or a call that clippy.toml bans",
        work: Work::Cargo(
            &["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"],
            &[],
        ),
    },
    // The binaries come first because tests of the process start them. All targets at once: the features
    // are then those of the test stage, which rebuilds nothing.
    Stage {
        name: "build",
        why: "it does not compile",
        work: Work::Cargo(&["build", "--workspace", "--all-targets", "--locked"], &[]),
    },
    Stage {
        name: "test",
        why: "a promise is broken",
        work: Work::Cargo(&["test", "--workspace", "--locked"], &[]),
    },
    // A feature of its own: a second version must never be one that a match can name by default.
    Stage {
        name: "two rules",
        why: "a match is not played, stored or verified by its own version of the rules",
        work: Work::Cargo(
            &[
                "test",
                "--locked",
                "--package",
                "service-tests",
                "--features",
                "second-version",
                "--test",
                "service",
                "two_rules",
            ],
            &[],
        ),
    },
    Stage { name: "vectors", why: "this build disagrees with a test vector", work: Work::Wts(check_vectors) },
    Stage {
        name: "second opinion",
        why: "the vectors are not what their generator, an implementation of its own, makes of them",
        work: Work::Own(|| {
            process::run(Command::new("python3").args(["tests/vectors/generate.py", "--check"]))
        }),
    },
    Stage {
        name: "demo",
        why: "a whole match between two processes does not run or does not verify",
        work: Work::Wts(|| Ok(vec!["demo".into()])),
    },
    Stage {
        name: "foreign",
        why: "a client in another language is not what the protos say, or cannot play a whole match",
        work: Work::Own(foreign::run),
    },
    Stage {
        name: "kill",
        why: "a server that was killed, whose power was cut or whose disk failed lost what it had \
              acknowledged; or a loss was not found",
        work: Work::Own(|| kill_and_cut(KILLS)),
    },
    Stage {
        name: "simulate",
        why: "an invariant broke in a simulated match; the smallest run that breaks it is above",
        work: Work::Own(|| simulate_matches(false)),
    },
    Stage {
        name: "chaos",
        why: "a promise of nodes that share a Redis broke; which one, and with which seed, is above",
        work: Work::Own(|| chaos::run(&chaos::Arguments { seed: 1, short: true, ..Default::default() })),
    },
    Stage {
        name: "flood",
        why: "bad connections get at honest players",
        work: Work::Own(|| flood::run(&flood::Arguments { short: true, ..Default::default() })),
    },
    Stage {
        name: "doc",
        why: "a link in the documentation leads nowhere",
        work: Work::Cargo(
            &["doc", "--workspace", "--no-deps", "--locked"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
    },
];

/// What `--full` adds: the same promises, tried for longer.
const LONG_STAGES: &[Stage] = &[
    Stage {
        name: "properties",
        why: "a property fails for a rare case; the case is written beside the test",
        work: Work::Cargo(
            &["test", "--workspace", "--locked"],
            &[("PROPTEST_CASES", "10000"), ("WTS_FULL", "1")],
        ),
    },
    Stage { name: "many kills", why: "as `kill`", work: Work::Own(|| kill_and_cut(MANY_KILLS)) },
    Stage { name: "a million matches", why: "as `simulate`", work: Work::Own(|| simulate_matches(true)) },
    Stage {
        name: "long chaos",
        why: "as `chaos`",
        work: Work::Own(|| chaos::run(&chaos::Arguments { seed: 1, ..Default::default() })),
    },
    Stage {
        name: "fuzz",
        why: "an input breaks a promise",
        work: Work::Own(|| fuzz::run(&fuzz::Arguments::default())),
    },
    Stage { name: "benches", why: "a bench does not run", work: Work::Own(|| bench::run(None, false)) },
];

/// Kills, as many power cuts, and as many failed syncs, in every run: some seconds.
const KILLS: u32 = 15;

/// The same in a long run: what an accepted release has to survive.
const MANY_KILLS: u32 = 300;

/// Power cuts of a server without syncs: each loses nearly everything.
const LOSSES: u32 = 5;

fn kill_and_cut(kills: u32) -> anyhow::Result<()> {
    for (power, fail_syncs) in [(false, false), (true, false), (false, true)] {
        kill::run(&kill::Arguments { kills, seed: 1, power, fail_syncs, ..kill::Arguments::default() })?;
    }
    kill::run(&kill::Arguments { kills, seed: 1, queue: true, ..kill::Arguments::default() })?;
    kill::finds_losses(LOSSES, 1)
}

/// Matches simulated in every run: half a minute.
const MATCHES: u64 = 2_000;

fn simulate_matches(full: bool) -> anyhow::Result<()> {
    simulate::run(&simulate::Arguments { matches: MATCHES, seed: 1, full, json: false })
}

/// Runs the stages, the long ones too if `full`, and prints what each took.
///
/// # Errors
/// The first stage that fails; later ones do not run.
pub(crate) fn run(full: bool) -> anyhow::Result<()> {
    let begin = Instant::now();
    let mut record = Record::default();
    let long = if full { LONG_STAGES } else { &[] };
    for stage in STAGES.iter().chain(long) {
        println!("== {}", stage.name);
        let stage_begin = Instant::now();
        let result = perform(&stage.work);
        let failed = result.is_err();
        record.seconds.push((stage.name, stage_begin.elapsed()));
        match result {
            Ok(closings) => record.add(stage.name, closings),
            Err(error) => println!("{error:#}"),
        }
        if failed {
            print!("\n{}", record.summary());
            bail!("stage `{}` failed: {}", stage.name, stage.why);
        }
    }
    print!("\n{}", record.summary());
    let stages = record.seconds.len();
    println!("all {stages} stages passed in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn perform(work: &Work) -> anyhow::Result<Vec<Closing>> {
    match work {
        Work::Cargo(arguments, variables) => {
            process::run_tests(process::cargo().args(*arguments).envs(variables.iter().copied()))
        }
        Work::Deny(arguments) => process::run_tests(Command::new(tool::deny()?).args(*arguments)),
        Work::Wts(arguments) => process::run_tests(process::wts()?.args(arguments()?)),
        Work::Own(task) => task().map(|()| Vec::new()),
    }
}

/// The arguments that check all vectors of the project, in the order of their names.
fn check_vectors() -> anyhow::Result<Vec<OsString>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir("tests/vectors")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path.into_os_string());
        }
    }
    files.sort();
    files.splice(0..0, ["vectors".into(), "check".into()]);
    Ok(files)
}

/// What a run has to report at its end.
#[derive(Default)]
struct Record {
    seconds: Vec<(&'static str, Duration)>,
    closings: Vec<Closing>,
}

impl Record {
    /// Keeps the closing lines of a stage; where cargo names no suite, the stage is the suite.
    fn add(&mut self, stage: &str, closings: Vec<Closing>) {
        for mut closing in closings {
            if closing.suite.is_empty() {
                stage.clone_into(&mut closing.suite);
            }
            self.closings.push(closing);
        }
    }

    /// The runners' closing lines, their sum, and the seconds of each stage.
    fn summary(&self) -> String {
        let mut text = String::new();
        // A suite without tests would only hide those that have some.
        for closing in self.closings.iter().filter(|closing| closing.passed() > 0) {
            text += &format!("{:<44} {}\n", closing.suite, closing.line);
        }
        // Rows of vectors are counted on their own line.
        let tests = self.closings.iter().filter(|closing| closing.line.starts_with("test result: "));
        let passed: u64 = tests.map(Closing::passed).sum();
        text += &format!("{passed} tests passed\n\nstage          seconds\n");
        for (name, duration) in &self.seconds {
            text += &format!("{name:<14} {:>7.1}\n", duration.as_secs_f64());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_every_stage_and_every_closing_line() {
        let closing = |suite: &str, line: &str| Closing { suite: suite.to_owned(), line: line.to_owned() };
        let record = Record {
            seconds: vec![("clippy", Duration::from_millis(12_340)), ("test", Duration::from_secs(5))],
            closings: vec![
                closing("rules: tests/rules.rs", "test result: ok. 7 passed; 0 failed"),
                closing("xtask: src/main.rs", "test result: ok. 5 passed; 0 failed"),
                closing("vectors", "1906 passed, 0 failed"),
                closing("doc tests of wire", "test result: ok. 0 passed; 0 failed"),
            ],
        };
        let summary = record.summary();
        assert!(summary.contains("rules: tests/rules.rs                        test result: ok. 7 passed"));
        assert!(summary.contains("1906 passed, 0 failed\n12 tests passed\n"));
        assert!(summary.contains("clippy            12.3\ntest               5.0\n"));
        assert!(!summary.contains("doc tests of wire"));
    }
}
