//! Lint configuration that could fall silent without anybody noticing.

use super::Finding;
use super::sources::Source;

/// Crates whose clippy.toml does not repeat the root's, and crates that do not take the workspace's lints.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let root = sources.iter().find(|source| source.path == "clippy.toml").map_or("", |source| &source.text);
    for source in sources {
        if source.path.ends_with("/clippy.toml") {
            findings.extend(lost_entries(root, source));
        } else if source.path.ends_with("/Cargo.toml") && !source.text.contains("[lints]\nworkspace = true\n")
        {
            findings.push(Finding {
                place: source.path.clone(),
                problem: "the workspace's lints do not hold here".to_owned(),
                remedy: "Add `[lints]` with `workspace = true`.",
            });
        }
    }
    findings
}

/// A nested clippy.toml replaces the root's for its crate: whatever it does not repeat is lost.
fn lost_entries(root: &str, nested: &Source) -> Vec<Finding> {
    let entries = root.lines().filter(|line| line.contains(" = ") && !line.trim_start().starts_with('#'));
    entries
        .filter(|entry| !nested.text.contains(entry))
        .filter(|entry| !entry.ends_with('['))
        .map(|entry| Finding {
            place: nested.path.clone(),
            problem: format!("lacks the root's `{}`", entry.trim()),
            remedy: "Repeat the root's clippy.toml in it, line by line: a nested file replaces the root's.",
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str =
        "disallowed-methods = [\n    { path = \"std::thread::sleep\", reason = \"blocks\" },\n]\n";

    fn check_with(path: &str, text: &str) -> usize {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        check(&[source("clippy.toml", ROOT), source(path, text)]).len()
    }

    #[test]
    fn a_ban_that_a_nested_file_drops_is_found() {
        assert_eq!(check_with("crates/rules/clippy.toml", "disallowed-methods = []\n"), 1);
        assert_eq!(check_with("crates/rules/clippy.toml", &format!("# Pure.\n{ROOT}")), 0);
    }

    #[test]
    fn a_crate_without_the_workspace_lints_is_found() {
        assert_eq!(check_with("crates/rules/Cargo.toml", "[package]\nname = \"rules\"\n"), 1);
        assert_eq!(check_with("crates/rules/Cargo.toml", "[lints]\nworkspace = true\n"), 0);
    }
}
