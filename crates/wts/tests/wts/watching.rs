//! `wts watch` and `wts replay`.

use std::process::{Command, Output};

use crate::play::{Process, seated_with, server};

/// A match that a spectator watches from its first turn to its end: his words, its server and its name.
fn watched(options: &[&str]) -> (String, Process, String, String) {
    let (server, url) = server();
    let (mut ann, mut bob) = seated_with(&url, &["--spectators"]);
    ann.write("quit");
    let (said, _) = ann.end();
    let name = said.trim().rsplit(' ').next().expect("it names the match").to_owned();
    let mut ann = Process::start(&["play", "--server", &url, "--as", "ann", "--match", &name]);
    ann.read_until("cell> ");
    let watch = ["watch", "--server", &url, "--as", "eve", &name];
    let mut eve = Process::start(&[&watch, options].concat());
    ann.write("E5");
    bob.write("E5");
    let mut said = eve.read_until("E5");
    ann.write("resign");
    let (rest, code) = eve.end();
    said.push_str(&rest);
    assert_eq!(code, Some(0), "{said}");
    (said, server, url, name)
}

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wts")).arg("replay").args(arguments).output().expect("wts runs")
}

/// What was said, without the lines that begin like this: a replay knows nothing of what went on between
/// turns.
fn without(beginning: &str, said: &str) -> String {
    said.split_inclusive('\n').filter(|line| !line.starts_with(beginning)).collect()
}

#[test]
fn a_spectator_watches_line_by_line_and_replays_what_he_saw() {
    let (said, _server, url, name) = watched(&[]);
    for what in [
        "(B) against",
        "5 min a turn",
        "both chose E5: they collide",
        "(e1 )",
        "Eggs, oldest first: e1 E5",
        "after turn 1: ",
        "the transcript is verified: 1 turns",
    ] {
        assert!(said.contains(what), "{what:?} is not in {said}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("match.bin");
    let file = file.to_str().expect("a path of text");
    let fetched = replay(&["--server", &url, "--as", "eve", &name, "--save", file]);
    assert!(said.contains("now: black, "), "{said}");
    let said = without("now: ", &said);
    assert_eq!(String::from_utf8_lossy(&fetched.stdout), said, "the same as he saw");
    let kept = replay(&[file]);
    assert_eq!(kept.stdout, fetched.stdout, "the same without a server");

    let mut bytes = std::fs::read(file).expect("the transcript was kept");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file, bytes).expect("a file of ours");
    let forged = replay(&[file]);
    assert_eq!((forged.status.code(), forged.stdout.len()), (Some(1), 0), "nothing of it is shown");
}

#[test]
fn a_spectator_watches_by_json_lines() {
    let (said, _server, url, name) = watched(&["--json"]);
    assert!(said.contains(r#""state":"MATCH_STATE_OPEN""#), "{said}");
    let said: String = without(r#"{"black":{"#, &said);
    assert_eq!(said.lines().count(), 4, "{said}");
    for event in ["begin", "turn", "finished", "verified"] {
        let field = format!(r#""event":"{event}""#);
        assert!(said.contains(&field), "{field} is not in {said}");
    }
    let replayed = replay(&["--server", &url, "--as", "eve", &name, "--json"]);
    assert_eq!(String::from_utf8_lossy(&replayed.stdout), said);
}

#[test]
fn a_match_that_is_not_to_be_watched_is_refused_with_advice() {
    let (_server, url) = server();
    let nothing = "matches/01a229bb-b20b-7b70-9e06-c99352741d23";
    let output = Command::new(env!("CARGO_BIN_EXE_wts"))
        .args(["watch", "--server", &url, "--as", "eve", nothing])
        .output()
        .expect("wts runs");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("check the name") && said.contains("--spectators"), "{said}");
}
