//! `wts serve --audit-log`: what back ends did is in a file of its own, and nowhere else.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::play::listening;

#[test]
fn what_a_back_end_did_is_in_the_audit_log_and_not_in_the_log() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (keys, audit) = (path("api-keys"), path("audit.log"));
    let created = Command::new(env!("CARGO_BIN_EXE_wts"))
        .args(["keys", "create", "backend", "shop", "--api-keys", &keys])
        .output()
        .expect("wts runs");
    let key = String::from_utf8(created.stdout).expect("text").trim().to_owned();
    fs::write(&audit, "{\"before\":true}\n").expect("it is written");

    let (server, url) = listening(&[
        "serve",
        "--volatile",
        "--listen",
        "127.0.0.1:0",
        "--log",
        "error",
        "--api-keys",
        &keys,
        "--audit-log",
        &audit,
    ]);
    let mut minted = Command::new(env!("CARGO_BIN_EXE_wts"));
    minted.args(["token", "--server", &url, "--as", "ann"]).env("WTS_API_KEY", &key);
    assert!(minted.output().expect("wts runs").status.success());
    server.signal("TERM");
    assert_eq!(server.end().1, Some(0));

    let written = fs::read_to_string(&audit).expect("it is there");
    let lines: Vec<Value> =
        written.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(lines[0]["before"], true, "what was there stays");
    let told = |field: &str| lines[1][field].as_str().unwrap_or_default();
    assert_eq!((told("holder"), told("rpc"), told("object")), ("shop", "MintPlayerToken", "players/ann"));
    assert_eq!(lines.len(), 2, "{written}");
    assert!(!written.contains(&key));
}
