//! `wts vectors check`.

use std::io::Write as _;
use std::process::{Command, Output};

use tempfile::NamedTempFile;

const PASSING: &str = r#"{"id": "place-01", "category": "place", "before": {"black": [], "white": [], "eggs": []}, "black_move": "E5", "white_move": "D4", "after": {"black": ["E5"], "white": ["D4"], "eggs": []}, "captures": [], "hatched": [], "outcome": {"status": "ongoing", "black_count": 0, "white_count": 0}}"#;

/// Runs the check over files with these contents.
#[track_caller]
fn check(contents: &[&str]) -> (Output, Vec<NamedTempFile>) {
    let files: Vec<NamedTempFile> = contents
        .iter()
        .map(|content| {
            let mut file = NamedTempFile::new().expect("a temporary file");
            file.write_all(content.as_bytes()).expect("written");
            file
        })
        .collect();
    let output = Command::new(env!("CARGO_BIN_EXE_wts"))
        .args(["vectors", "check"])
        .args(files.iter().map(NamedTempFile::path))
        .output()
        .expect("wts runs");
    (output, files)
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn passing_files_end_with_their_sum_and_0() {
    let (output, _files) = check(&[PASSING, &format!("{PASSING}\n\n{PASSING}\n")]);
    assert_eq!(lines(&output), ["3 passed, 0 failed"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_failing_row_is_named_by_file_line_and_id() {
    let wrong = PASSING.replace(r#""black": ["E5"]"#, r#""black": ["E6"]"#);
    let (output, files) = check(&[&format!("{PASSING}\n{wrong}\n")]);
    let lines = lines(&output);
    assert_eq!(lines.len(), 2);
    let place = format!("{}:2: place-01: ", files[0].path().display());
    assert!(lines[0].starts_with(&place), "{}", lines[0]);
    assert_eq!(lines[1], "1 passed, 1 failed");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_row_cannot_steer_the_terminal() {
    let (output, _files) = check(&[r#"{"id": "\u001b[2J", "moves": [], "turns": 1}"#]);
    assert_eq!(output.stdout.iter().filter(|byte| **byte < b' ' && **byte != b'\n').count(), 0);
    assert_eq!(lines(&output).last().map(String::as_str), Some("0 passed, 1 failed"));
}

#[test]
fn a_file_that_cannot_be_opened_is_a_failure() {
    let output = Command::new(env!("CARGO_BIN_EXE_wts"))
        .args(["vectors", "check", "no/such.jsonl"])
        .output()
        .expect("wts runs");
    assert!(lines(&output)[0].starts_with("no/such.jsonl: "));
    assert_eq!(lines(&output)[1], "0 passed, 1 failed");
    assert_eq!(output.status.code(), Some(1));
}
