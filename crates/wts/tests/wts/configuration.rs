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
