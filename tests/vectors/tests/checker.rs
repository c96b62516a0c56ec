//! The checker sees everything a row says, and survives what is no row.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;

use serde_json::Value;
use vectors::{FAILURES_MAX, LINE_BYTES_MAX, check_file, check_line};

/// Fields that say what is expected; the others are input or for people.
const EXPECTATIONS: [&str; 8] =
    ["after", "captures", "hatched", "outcome", "final", "sha256", "turns", "error"];

fn rows(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = fs::read_to_string(path).expect("the vectors are there");
    text.lines().map(|line| serde_json::from_str(line).expect("a vector is JSON")).collect()
}

/// Every way to change one detail of a value.
fn changes(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![Value::from("black")],
        Value::Bool(value) => vec![Value::from(!value)],
        Value::Number(number) => vec![Value::from(number.as_i64().expect("counts are whole") + 1)],
        Value::String(text) => vec![Value::Null, Value::from(format!("{text}x")), Value::from(other(text))],
        Value::Array(items) => {
            let mut changed: Vec<Value> = (0..items.len())
                .map(|at| [&items[..at], &items[at + 1..]].concat().into())
                .chain(items.windows(2).enumerate().map(|(at, pair)| {
                    [&items[..at], &[pair[1].clone(), pair[0].clone()], &items[at + 2..]].concat().into()
                }))
                .chain(items.last().map(|last| [&items[..], std::slice::from_ref(last)].concat().into()))
                .collect();
            for (at, item) in items.iter().enumerate() {
                changed.extend(changes(item).into_iter().map(|item| {
                    let mut items = items.clone();
                    items[at] = item;
                    items.into()
                }));
            }
            changed
        }
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| {
                let replaced = changes(field).into_iter().map(move |field| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), field);
                    fields.into()
                });
                let mut without = fields.clone();
                without.remove(name);
                replaced.chain([without.into()])
            })
            .collect(),
    }
}

/// Another word of the same kind.
fn other(text: &str) -> &'static str {
    match text {
        "black" => "white",
        "A1" => "B1",
        "ongoing" => "sudden_death",
        "malformed" => "off_board",
        _ if text.len() == 2 => "A1",
        _ => "malformed",
    }
}

#[track_caller]
fn every_changed_expectation_fails(file: &str, step: usize) {
    let mut changed = 0;
    for row in rows(file).into_iter().step_by(step) {
        if row["category"] == "malformed_type" {
            continue;
        }
        for field in EXPECTATIONS.into_iter().filter(|field| row.get(field).is_some()) {
            for change in changes(&row[field]) {
                let mut row = row.clone();
                row[field] = change;
                assert!(check_line(&row.to_string()).is_err(), "{field} does not matter: {row}");
                changed += 1;
            }
        }
    }
    assert!(changed > 100, "{changed}");
}

#[test]
fn a_turn_with_anything_changed_fails() {
    every_changed_expectation_fails("examples.jsonl", 1);
    every_changed_expectation_fails("random.jsonl", 25);
}

#[test]
fn a_game_with_anything_changed_fails() {
    every_changed_expectation_fails("games.jsonl", 20);
}

#[test]
fn a_refusal_with_anything_changed_fails() {
    every_changed_expectation_fails("bad.jsonl", 1);
}

#[test]
fn a_legal_turn_is_no_refusal_and_an_illegal_one_no_turn() {
    let before = r#""before": {"black": ["A1"], "white": [], "eggs": []}"#;
    for (row, reason) in [
        (
            format!(
                r#"{{{before}, "black_move": "B1", "white_move": "C1", "category": "malformed_type", "error": {{}}}}"#
            ),
            "error: expected {}, got a legal turn",
        ),
        (
            format!(r#"{{{before}, "black_move": "A1", "white_move": "C1", "after": {{}}}}"#),
            "after: expected a legal turn, got black chose an occupied cell",
        ),
    ] {
        assert_eq!(check_line(&row).unwrap_err().to_string(), reason);
    }
}

#[test]
fn what_is_no_row_fails_with_a_reason() {
    let deep = "[".repeat(100_000);
    for (line, reason) in [
        ("", "not JSON"),
        ("nonsense", "not JSON"),
        (r#"{"id": "#, "not JSON"),
        (&deep, "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "no kind of row"),
        (r#"{"moves": 3}"#, "moves is not a list: 3"),
        (r#"{"moves": [["A1"]], "turns": 1}"#, "turn 1 is not two cells"),
        (r#"{"moves": [["A1", "J9"]], "turns": 1}"#, "turn 1 is not two cells"),
        (r#"{"moves": []}"#, "turns is missing"),
        (r#"{"after": {}}"#, "before is missing"),
        (r#"{"after": {}, "before": []}"#, "before: no board"),
        (r#"{"after": {}, "before": {"black": [7], "white": [], "eggs": []}}"#, "before: no board"),
        (
            r#"{"after": {}, "before": {"black": [], "white": [], "eggs": []}, "black_move": 4}"#,
            "black_move is not",
        ),
        (r#"{"error": null}"#, "before is missing"),
    ] {
        let mismatch = check_line(line).unwrap_err().to_string();
        assert!(mismatch.contains(reason), "{mismatch}");
        assert!(mismatch.len() < 2_000, "{}", mismatch.len());
    }
}

#[test]
fn any_text_is_checked_without_a_panic() {
    for line in rows("examples.jsonl").iter().take(3).map(Value::to_string) {
        for at in 0..line.len() {
            assert!(check_line(&line[..at]).is_err());
            for letter in ["\"", "}", "9", "\\u0000"] {
                let _ = check_line(&format!("{}{letter}{}", &line[..at], &line[at + 1..]));
            }
        }
    }
}

#[test]
fn a_file_is_summed_up_line_by_line() {
    let good = rows("games.jsonl")[0].to_string();
    let mut file = format!("{good}\n\n  \r\n{{\"id\": \"x\", \"moves\": 0}}\n").into_bytes();
    file.extend(b"\xff\xfe\n");
    file.extend(vec![b' '; LINE_BYTES_MAX as usize + 10]);
    file.extend(format!("\n{good}").bytes());
    let summary = check_file(&file[..]);
    assert_eq!((summary.passed, summary.failed), (2, 3));
    let failures: Vec<_> =
        summary.failures.iter().map(|failure| (failure.line, failure.id.as_str())).collect();
    assert_eq!(failures, [(4, "x"), (5, ""), (6, "")]);
}

#[test]
fn failures_are_counted_but_not_kept_without_end() {
    let summary = check_file("nonsense\n".repeat(5 * FAILURES_MAX).as_bytes());
    assert_eq!((summary.failed, summary.failures.len()), (5 * FAILURES_MAX as u64, FAILURES_MAX));
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_does_not_pass() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let summary = check_file(BufReader::new(b"{}\n".chain(Broken)));
    assert_eq!(summary.failed, 2);
    assert_eq!(summary.failures[1].mismatch.to_string(), "unreadable: the disk is gone");
}
