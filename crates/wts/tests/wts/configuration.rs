//! `wts serve --print-config` and `wts token`.

use std::process::{Command, Output};

use crate::play::server;

fn wts(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
    command.args(arguments).envs(environment.iter().copied()).output().expect("wts runs")
}

/// The columns of the line of an option.
#[track_caller]
fn row(text: &str, option: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(option));
    line.expect("the option is there").split_whitespace().map(str::to_owned).collect()
}

#[test]
fn every_value_says_where_it_came_from() {
    let output = wts(
        &["serve", "--listen", "127.0.0.1:1", "--volatile", "--print-config"],
        &[("WTS_HEARTBEAT_S", "7")],
    );
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(row(&text, "--listen"), ["--listen", "127.0.0.1:1", "ADDRESS:PORT", "flag"]);
    assert_eq!(row(&text, "--heartbeat-s"), ["--heartbeat-s", "7", "seconds", "environment"]);
    assert_eq!(row(&text, "--log"), ["--log", "info", "FILTER", "default"]);
    assert_eq!(row(&text, "--volatile"), ["--volatile", "true", "true", "or", "false", "flag"]);
    assert_eq!(row(&text, "--backend"), ["--backend", "-", "NAME=SHA256", "default"]);
}

#[test]
fn every_field_of_a_pool_says_where_it_came_from() {
    let without = wts(&["serve", "--print-config"], &[]);
    let text = String::from_utf8_lossy(&without.stdout);
    assert_eq!(row(&text, "ranked.mode"), ["ranked.mode", "ranked", "casual", "or", "ranked", "default"]);
    assert_eq!(row(&text, "casual.bound"), ["casual.bound", "1m", "TIME", "default"]);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pools.toml");
    let path = file.display().to_string();
    std::fs::write(&file, "[[pools]]\nname = \"blitz\"\ntime_controls = [\"5s\", \"3m+2s\"]\n").unwrap();
    let output = wts(&["serve", "--print-config"], &[("WTS_POOLS", &path)]);
    let text = says(&output);
    assert_eq!(row(&text, "--pools"), ["--pools", &path, "FILE", "environment"]);
    assert_eq!(row(&text, "blitz.time_controls"), ["blitz.time_controls", "5s,3m+2s", "TIMES", "file"]);
    assert_eq!(row(&text, "blitz.start_time"), ["blitz.start_time", "20s", "TIME", "default"]);
    assert!(!text.contains("ranked."), "{text}");

    std::fs::write(&file, "[[pools]]\nname = \"blitz\"\nbound = \"1\"\n").unwrap();
    let output = wts(&["serve", "--listen", "127.0.0.1:0", "--volatile", "--pools", &path], &[]);
    let text = says(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("pool blitz: bound: `1`: it is written like 30s"), "{text}");
}

#[test]
fn a_token_is_all_that_is_printed_and_lets_its_player_in() {
    let (_server, url) = server();
    let output = wts(&["token", "--server", &url, "--as", "ann", "--ttl-s", "60"], &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    let token = text.trim_end_matches('\n');
    assert_eq!((token.lines().count(), token.split('.').count()), (1, 3), "{text}");
    let invite = ["play", "--server", &url, "--invite", "--wait-s", "0"];
    let output = wts(&invite, &[("WTS_TOKEN", token)]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("invited;"), "the server knows the token");
    let output = wts(&["token", "--server", &url, "--as", "no player"], &[]);
    assert!(output.stdout.is_empty() && output.status.code() == Some(1));
}

/// A password in the address of a store.
const PASSWORD: &str = "correct-horse";

fn says(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

#[test]
fn the_password_of_a_store_is_never_printed() {
    let store = format!("redis+sentinel://wts:{PASSWORD}@10.0.0.1,10.0.0.2/game");
    for environment in [&[][..], &[("WTS_STORE", store.as_str())]] {
        let mut arguments =
            vec!["serve", "--keys", "no-keys", "--durability", "replicas=1", "--print-config"];
        if environment.is_empty() {
            arguments.extend(["--store", &store]);
        }
        let text = says(&wts(&arguments, environment));
        assert_eq!(row(&text, "--store")[1], "redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/game");
        assert_eq!(row(&text, "--durability")[1], "replicas=1");
        assert!(!text.contains(PASSWORD), "{text}");
        let text = says(&wts(&["serve", "--help"], environment));
        assert!(text.contains("WTS_STORE") && !text.contains(PASSWORD), "{text}");
    }
    let damaged = format!("redis+claster://:{PASSWORD}@10.0.0.1");
    for option in [&[][..], &["--print-config"]] {
        let text = says(&wts(&[&["serve", "--store", &damaged, "--keys", "no-keys"], option].concat(), &[]));
        assert!(text.contains("cannot be read") && !text.contains(PASSWORD), "{text}");
    }
}

#[test]
fn a_node_does_not_start_without_the_keys_of_its_store() {
    let store = ["serve", "--listen", "127.0.0.1:0", "--store", "redis://127.0.0.1:1"];
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys").display().to_string();
    for keys in [&[][..], &["--keys", &file]] {
        let output = wts(&[&store, keys].concat(), &[]);
        let text = says(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("wts keys new"), "it says what to do: {text}");
    }
    for other in [&["--data", "some"][..], &["--volatile"], &["--new-keys"]] {
        let output = wts(&[&store[..], &["--keys", &file], other].concat(), &[]);
        assert_eq!(output.status.code(), Some(2), "{other:?} is another store");
    }
}

#[test]
fn keys_that_nodes_share_are_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shared").display().to_string();
    assert!(says(&wts(&["keys", "new", &file], &[])).contains("every node"));
    let listed = says(&wts(&["keys", "list", "--keys", &file], &[]));
    assert!(listed.contains("signing") && listed.contains("request"), "{listed}");
    let again = wts(&["keys", "new", &file], &[]);
    assert_eq!((again.status.code(), says(&again).contains("exists")), (Some(1), true));
    assert_eq!(says(&wts(&["keys", "list"], &[("WTS_KEYS", &file)])), listed, "and they are the same");
    let prepared = says(&wts(&["keys", "prepare", "box", "--keys", &file], &[]));
    assert!(prepared.contains(&format!("--keys {file}")), "it says what is next: {prepared}");
}
