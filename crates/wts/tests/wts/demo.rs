//! `wts demo`.

use std::net::TcpStream;
use std::process::{Command, Output};

use serde_json::Value;

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wts")).arg("demo").args(arguments).output().expect("wts runs")
}

fn objects(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

#[test]
fn a_demo_shows_every_turn_and_verifies_the_match() {
    let output = demo(&["--seed", "7"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("turn 1\n  - "), "{text}");
    assert!(text.contains("    A   B   C   D   E   F   G   H   I\n9 "), "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("the transcript is verified")), "{text}");
}

#[test]
fn a_demo_by_commit_and_reveal_plays_the_same_match_and_verifies_it() {
    let boards = |told: &[Value]| -> Vec<_> {
        told.iter().filter_map(|object| object["position"].as_str().map(str::to_owned)).collect()
    };
    let sealed = objects(&demo(&["--json", "--seed", "7"]));
    let output = demo(&["--json", "--seed", "7", "--commit-reveal"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let revealed = objects(&output);
    assert_eq!((&sealed[0]["commit_reveal"], &revealed[0]["commit_reveal"]), (&false.into(), &true.into()));
    assert_eq!(boards(&sealed), boards(&revealed));
    assert_eq!(revealed[revealed.len() - 1]["event"], "verified");
}

#[test]
fn a_demo_for_programs_tells_one_object_a_line() {
    let told = objects(&demo(&["--json", "--seed", "7"]));
    let events: Vec<_> = told.iter().map(|object| object["event"].as_str().unwrap_or_default()).collect();
    let turns = events.iter().filter(|event| **event == "turn").count();
    assert!(turns > 4, "{events:?}");
    assert_eq!(events.first(), Some(&"begin"));
    assert_eq!(events[events.len() - 2..], ["finished", "verified"]);
    let numbers: Vec<_> = told.iter().filter_map(|object| object["turn"].as_u64()).collect();
    assert_eq!(numbers, (1..=turns as u64).collect::<Vec<_>>());
    assert_eq!(told[told.len() - 1]["turns"], turns);
}

#[test]
fn a_demo_leaves_no_server_behind() {
    let told = objects(&demo(&["--json"]));
    let address = told[0]["server"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn the_same_seed_plays_the_same_match() {
    let boards = |output: &Output| -> Vec<_> {
        objects(output).iter().map(|object| object["position"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(boards(&demo(&["--json", "--seed", "11"])), boards(&demo(&["--json", "--seed", "11"])));
}
