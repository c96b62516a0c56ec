//! `wts bots`.

use std::process::{Command, Output};

use serde_json::Value;

fn bots(options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wts")).arg("bots").args(options).output().expect("wts runs")
}

/// The objects that it prints, one a line.
fn objects(options: &[&str]) -> Vec<Value> {
    let output = bots(&[options, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

/// The names of an object's fields, in order.
fn names(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_level_is_compared_with_the_one_below() {
    let rows = objects(&["--games", "6", "--levels", "1,4"]);
    let pairs: Vec<_> = rows.iter().map(|row| (row["stronger"].as_u64(), row["weaker"].as_u64())).collect();
    assert_eq!(pairs, [(Some(1), Some(0)), (Some(4), Some(3))]);
    for row in &rows {
        assert_eq!(names(row), ["interval", "ms_per_move", "score", "stronger", "weaker"]);
        assert_eq!(row["interval"].as_array().expect("two numbers").len(), 2);
        let (low, high) = (number(&row["interval"][0]), number(&row["interval"][1]));
        assert!(low <= number(&row["score"]) && number(&row["score"]) <= high && low < high, "{row}");
        assert!(number(&row["ms_per_move"]) > 0.0, "{row}");
    }
    assert!(number(&rows[0]["score"]) > 0.5, "better than chance: {}", rows[0]);
}

#[test]
fn what_a_level_gives_away_follows_from_the_seed() {
    let options = ["--exploit", "--games", "4", "--levels", "4", "--seed", "7"];
    let rows = objects(&options);
    assert_eq!(rows.len(), 1);
    assert_eq!(names(&rows[0]), ["best_response_1", "best_response_2", "level", "replay"]);
    assert_eq!(rows[0]["level"], 4);
    for name in ["best_response_1", "best_response_2", "replay"] {
        assert!((0.0..=1.0).contains(&number(&rows[0][name])), "{name}: {}", rows[0]);
    }
    assert_eq!(objects(&options), rows);
}

#[test]
fn without_json_it_is_a_table() {
    let output = bots(&["--games", "2", "--levels", "1"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0], "| stronger | weaker | score | interval | ms_per_move |");
    assert!(lines[2].starts_with("| 1 | 0 | "), "{text}");
    assert!(lines.iter().all(|line| line.matches('|').count() == 6), "{text}");
}

#[test]
fn the_random_level_has_none_below() {
    assert_eq!(bots(&["--levels", "0"]).status.code(), Some(2));
    assert_eq!(bots(&["--levels", "7"]).status.code(), Some(2));
    assert_eq!(bots(&["--games", "0"]).status.code(), Some(2));
}
