//! The test vectors of the rules.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use vectors::{Summary, check_file};

#[track_caller]
fn check(file: &str, rows: u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    let summary = check_file(BufReader::new(File::open(path).expect("the vectors are there")));
    assert_eq!(summary, Summary { passed: rows, ..Summary::default() });
}

#[test]
fn hand_built_turns_pass() {
    check("examples.jsonl", 128);
}

#[test]
fn turns_of_steered_play_pass() {
    check("random.jsonl", 1_500);
}

#[test]
fn whole_games_pass() {
    check("games.jsonl", 200);
}

#[test]
fn illegal_input_is_refused_as_expected() {
    check("bad.jsonl", 78);
}
