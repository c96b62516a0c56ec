//! The shape of files: how long, how named, what they must not mention.

use std::path::Path;

use super::Finding;

/// From here on a file is likely to hold more than one idea: a warning.
pub(super) const LINES_ADVISED: usize = 600;
/// No file that a person has to read is longer.
pub(super) const LINES_MAX: usize = 700;

/// What counts as source; data and prose may be as long as they need.
const SOURCE_EXTENSIONS: &[&str] =
    &["rs", "py", "sh", "ts", "js", "go", "java", "kt", "swift", "dart", "cs", "cpp", "php", "rb"];
/// Folders that a generator writes.
const GENERATED_FOLDERS: &[&str] = &["generated", "gen"];
/// How the names of files end that a generator writes among others.
const GENERATED_ENDINGS: &[&str] = &["_pb2.py", "_pb2_grpc.py"];
/// Names that say nothing about what is inside, so that everything ends up there.
const CATCH_ALL_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc", "types"];
/// Top-level folders of a developer's machine.
const MACHINE_FOLDERS: &[&str] = &["work", "root", "home"];

/// A text file of the project.
pub(super) struct Source {
    /// Relative to the workspace root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    fn is_written_source(&self) -> bool {
        let path = Path::new(&self.path);
        let generated = self.path.split('/').any(|folder| GENERATED_FOLDERS.contains(&folder))
            || GENERATED_ENDINGS.iter().any(|ending| self.path.ends_with(ending));
        let extension = path.extension().and_then(|extension| extension.to_str());
        !generated && extension.is_some_and(|extension| SOURCE_EXTENSIONS.contains(&extension))
    }
}

/// Source files of more than `lines_max` lines.
pub(super) fn long_files(sources: &[Source], lines_max: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_written_source()) {
        let lines = source.text.lines().count();
        if lines > lines_max {
            findings.push(Finding {
                place: source.path.clone(),
                problem: format!("{lines} lines; {lines_max} are enough for one idea"),
                remedy: "Split it along its ideas; name each file after its own.",
            });
        }
    }
    findings
}

/// Files, folders and modules with a name for everything.
pub(super) fn catch_all_names(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_written_source()) {
        let mut names: Vec<&str> =
            source.path.split('/').map(|part| part.split('.').next().unwrap_or(part)).collect();
        names.extend(source.text.lines().filter_map(module_name));
        names.retain(|name| CATCH_ALL_NAMES.contains(name));
        names.dedup();
        findings.extend(names.iter().map(|name| Finding {
            place: source.path.clone(),
            problem: format!("`{name}` is a name for everything"),
            remedy: "Name it after what it holds, or move each piece to where it is used.",
        }));
    }
    findings
}

/// The module that a line of Rust declares or opens.
fn module_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let keyword = if first.starts_with("pub") { words.next()? } else { first };
    if keyword != "mod" {
        return None;
    }
    words.next().map(|name| name.trim_end_matches(';'))
}

/// Absolute paths of one machine: they hold for nobody else and tell where a file was written.
pub(super) fn machine_paths(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        for (index, line) in source.text.lines().enumerate() {
            if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| has_absolute_path(line, folder)) {
                findings.push(Finding {
                    place: format!("{}:{}", source.path, index + 1),
                    problem: format!("an absolute path under `/{folder}`"),
                    remedy: "Use a path relative to the project, or take it from the environment.",
                });
            }
        }
    }
    findings
}

fn has_absolute_path(line: &str, folder: &str) -> bool {
    // Part of a longer path (`target/work/`) or of a URL it is not absolute.
    let inside_a_path = |before: &str| {
        before.chars().next_back().is_some_and(|last| last.is_alphanumeric() || "._-~}$)".contains(last))
    };
    line.match_indices(&format!("/{folder}/")).any(|(at, _)| !inside_a_path(&line[..at]))
}

/// Crates with several integration test binaries: each is linked again with everything below it.
pub(super) fn test_binaries(packages: &[(String, Vec<String>)]) -> Vec<Finding> {
    let several = packages.iter().filter(|(_, tests)| tests.len() > 1);
    several
        .map(|(package, tests)| Finding {
            place: package.clone(),
            problem: format!("{} test binaries: {}", tests.len(), tests.join(", ")),
            remedy: "Keep one file directly under tests/ and make the others modules in a folder beside it.",
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> [Source; 1] {
        [Source { path: path.to_owned(), text: text.to_owned() }]
    }

    #[test]
    fn a_long_source_file_is_found() {
        let text = "x\n".repeat(701);
        assert_eq!(long_files(&source("crates/a/src/lib.rs", &text), LINES_MAX).len(), 1);
        assert!(long_files(&source("crates/a/src/lib.rs", &text[2..]), LINES_MAX).is_empty());
    }

    #[test]
    fn generated_code_and_data_may_be_long() {
        let text = "x\n".repeat(9_000);
        for path in [
            "crates/wire/src/generated/v1.rs",
            "sdk/python/src/whattheshell/v1/game_pb2.py",
            "tests/vectors/games.jsonl",
            "Cargo.lock",
        ] {
            assert!(long_files(&source(path, &text), LINES_MAX).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_name_for_everything_is_found_wherever_it_stands() {
        let check = |path: &str, text: &str, count: usize| {
            assert_eq!(catch_all_names(&source(path, text)).len(), count, "{path}: {text}");
        };
        check("crates/a/src/util.rs", "", 1);
        check("crates/a/tests/common/mod.rs", "", 1);
        check("sdk/typescript/src/helpers.ts", "", 1);
        check("crates/a/src/lib.rs", "pub(crate) mod misc {", 1);
        check("crates/a/src/lib.rs", "    mod types;", 1);
        check("crates/a/src/lib.rs", "// mod util;\nuse tower::util::Oneshot;\nmod utility;", 0);
        check("crates/wire/src/generated/types.rs", "", 0);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for folder in MACHINE_FOLDERS {
            let check = |line: String, count: usize| {
                assert_eq!(machine_paths(&source("README.md", &line)).len(), count, "{line}");
            };
            check(format!("run /{folder}/main/start"), 1);
            check(format!("\"/{folder}/x\""), 1);
            check(format!("target/{folder}/x and https://example.com/{folder}/x"), 0);
            check(format!("$ROOT/{folder}/x"), 0);
            check(format!("/{folder}s/x"), 0);
        }
    }

    #[test]
    fn a_second_test_binary_is_found() {
        let package = |tests: &[&str]| {
            [("store".to_owned(), tests.iter().map(|test| (*test).to_owned()).collect::<Vec<_>>())]
        };
        assert!(test_binaries(&package(&["store"])).is_empty());
        assert_eq!(test_binaries(&package(&["store", "clock"])).len(), 1);
    }
}
