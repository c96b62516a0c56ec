//! `wts play`.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub(crate) const PROMPT: &str = "cell> ";

/// Where players' files are, if a test does not say otherwise.
pub(crate) const STATE: &str = env!("CARGO_TARGET_TMPDIR");

/// A `wts` process, ended when it is dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
        let command =
            command.args(arguments).env("WTS_STATE", STATE).stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.spawn().expect("wts runs"))
    }

    /// What it says up to and including `end`; what it said at all, if it ends before.
    pub(crate) fn read_until(&mut self, end: &str) -> String {
        let mut said = Vec::new();
        let mut byte = [0];
        let out = self.0.stdout.as_mut().expect("its output is piped");
        while !said.ends_with(end.as_bytes()) && out.read(&mut byte).expect("its output is read") == 1 {
            said.push(byte[0]);
        }
        String::from_utf8(said).expect("it says text")
    }

    pub(crate) fn write(&mut self, line: &str) {
        let input = self.0.stdin.as_mut().expect("its input is piped");
        writeln!(input, "{line}").expect("it listens");
    }

    /// Sends it a signal, as `kill` names it.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Waits for its end: the rest of what it says, and how it ended.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.0.stdout.as_mut().expect("its output is piped").read_to_string(&mut rest).expect("text");
        (rest, self.0.wait().expect("it ends").code())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server in development mode, and its address.
pub(crate) fn server() -> (Process, String) {
    server_with(&[])
}

/// The same, set to more.
pub(crate) fn server_with(options: &[&str]) -> (Process, String) {
    let serve = ["serve", "--dev", "--volatile", "--listen", "127.0.0.1:0", "--log", "off"];
    listening(&[&serve, options].concat())
}

/// A server that is started so, and its address. It is killed when it is dropped.
pub(crate) fn listening(arguments: &[&str]) -> (Process, String) {
    let mut server = Process::start(arguments);
    let line = server.read_until("\n");
    let url = line.trim().strip_prefix("listening on ").expect("it says where").to_owned();
    (server, url)
}

/// Two players before their first turn.
fn seated(url: &str) -> (Process, Process) {
    seated_with(url, &[])
}

/// The same, in a match that is invited to with these options.
pub(crate) fn seated_with(url: &str, options: &[&str]) -> (Process, Process) {
    let invite = ["play", "--server", url, "--as", "ann", "--invite", "bob"];
    let mut ann = Process::start(&[&invite, options].concat());
    ann.read_until("--accept ");
    let code = ann.read_until("\n");
    let mut bob = Process::start(&["play", "--server", url, "--as", "bob", "--accept", code.trim()]);
    ann.read_until(PROMPT);
    bob.read_until(PROMPT);
    (ann, bob)
}

#[test]
fn two_people_play_by_invite() {
    let (_server, url) = server();
    let (mut ann, mut bob) = seated(&url);
    ann.write("e5");
    bob.write("E5");
    ann.read_until("both chose E5: they collide, and an egg is laid there");
    let board = ann.read_until(PROMPT);
    for what in ["(e1 )", "Eggs, oldest first: e1 E5", "(you): to choose, ", ": chooses, "] {
        assert!(board.contains(what), "{what:?} is not in {board}");
    }
    ann.write("history");
    assert!(ann.read_until(PROMPT).contains("  1  E5  E5  egg laid"));
    bob.read_until(PROMPT);
    bob.write("resign");
    let (said, code) = ann.end();
    assert!(said.contains("you win; ") && said.contains("resigned"), "{said}");
    assert!(said.contains("the transcript is verified, 1 turns"), "{said}");
    assert_eq!(code, Some(0));
    let (said, code) = bob.end();
    assert!(said.contains("you lose; "), "{said}");
    assert_eq!(code, Some(0));
}

#[test]
fn two_people_agree_on_a_draw() {
    let (_server, url) = server();
    let (mut ann, mut bob) = seated(&url);
    ann.write("draw");
    assert!(ann.read_until(PROMPT).contains("a draw is offered"));
    assert!(bob.read_until(PROMPT).contains("the other player offers a draw: `accept` or `decline`"));
    ann.write("accept");
    assert!(ann.read_until(PROMPT).contains("refused"), "his own offer is not his to accept");
    bob.write("decline");
    bob.read_until(PROMPT);
    assert!(ann.read_until(PROMPT).contains("your offer of a draw is declined"));
    bob.write("draw");
    ann.read_until(PROMPT);
    ann.write("accept");
    for player in [ann, bob] {
        let (said, code) = player.end();
        assert!(said.contains("a draw: agreed"), "{said}");
        assert_eq!(code, Some(0));
    }
}

#[test]
fn two_people_play_by_commit_and_reveal() {
    let (_server, url) = server();
    let (mut ann, mut bob) = seated_with(&url, &["--commit-reveal"]);
    ann.write("A1");
    ann.read_until("sees it when the turn resolves");
    bob.write("I9");
    let turn = ann.read_until(PROMPT);
    assert!(turn.contains("both have sealed; the moves are revealed now"), "{turn}");
    assert!(turn.contains("black lands on") && turn.contains("white lands on"), "{turn}");
    bob.read_until(PROMPT);
    ann.write("A1");
    assert!(ann.read_until(PROMPT).contains("A1 is occupied"));
    ann.write("B1");
    ann.read_until("sees it when the turn resolves");
    ann.write("quit");
    ann.read_until("`quit` again leaves");
    ann.write("quit");
    let (said, code) = ann.end();
    assert!(said.contains("the match goes on"), "{said}");
    assert_eq!(code, Some(0));
}

/// The file that keeps the only opening in a directory, and its permissions.
fn kept(state: &std::path::Path) -> Option<u32> {
    let files: Vec<_> =
        std::fs::read_dir(state).expect("a directory").collect::<Result<_, _>>().expect("files");
    assert!(files.len() <= 1, "{files:?}");
    files.first().map(|file| file.metadata().expect("it is there").permissions().mode() & 0o777)
}

#[test]
fn a_player_who_loses_his_terminal_reveals_from_another_one() {
    let (_server, url) = server();
    let (mut ann, mut bob) = seated_with(&url, &["--commit-reveal"]);
    ann.write("quit");
    let (said, _) = ann.end();
    let name = said.trim().rsplit(' ').next().expect("it names the match").to_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let back = [
        "play",
        "--server",
        &url,
        "--as",
        "ann",
        "--match",
        &name,
        "--state",
        state.to_str().expect("a path of text"),
    ];
    let mut ann = Process::start(&back);
    ann.read_until(PROMPT);
    ann.write("A1");
    ann.read_until("sees it when the turn resolves");
    assert_eq!(kept(&state), Some(0o600), "only its owner reads it");
    drop(ann);

    let mut elsewhere = Process::start(&["play", "--server", &url, "--as", "ann", "--match", &name]);
    elsewhere.read_until("was sealed on another machine and cannot be revealed");
    drop(elsewhere);

    let mut ann = Process::start(&back);
    ann.read_until("A1 was kept here for turn 1");
    bob.write("I9");
    let turn = ann.read_until(PROMPT);
    assert!(turn.contains("lands on A1") && turn.contains("lands on I9"), "{turn}");
    assert_eq!(kept(&state), None, "what is public is not kept");
}

#[test]
fn what_is_no_move_is_explained_and_asked_again() {
    let (_server, url) = server();
    let (mut ann, mut bob) = seated(&url);
    for (line, answer) in [("z", "that is no cell"), ("J1", "off the board"), ("help", "seal a move")] {
        ann.write(line);
        let said = ann.read_until(PROMPT);
        assert!(said.contains(answer), "{line}: {said}");
    }
    ann.write("A1");
    bob.write("I9");
    ann.read_until(" lands on I9");
    ann.read_until(PROMPT);
    ann.write("I9");
    let said = ann.read_until(PROMPT);
    assert!(said.contains("I9 is occupied; choose an empty cell"), "{said}");
}

#[test]
fn a_player_comes_back_to_his_match() {
    let (_server, url) = server();
    let (mut ann, mut bob) = seated(&url);
    ann.write("quit");
    let (said, code) = ann.end();
    let name = said.trim().rsplit(' ').next().expect("it names the match").to_owned();
    assert_eq!(code, Some(0));
    let mut ann = Process::start(&["play", "--server", &url, "--as", "ann", "--match", &name]);
    ann.read_until(PROMPT);
    ann.write("A1");
    bob.write("I9");
    bob.read_until("lands on A1");
}

#[test]
fn a_missing_server_is_explained() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
    let command = command.args(["play", "--server", "http://127.0.0.1:1", "--as", "ann", "--invite"]);
    let output = command.output().expect("wts runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot connect to http://127.0.0.1:1"), "{said}");
    assert!(said.contains("is the server running?"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_program_plays_by_json_lines() {
    let (_server, url) = server();
    let mut ann = Process::start(&["play", "--server", &url, "--as", "ann", "--invite", "--json"]);
    ann.read_until(r#""code":""#);
    let code = ann.read_until("\"");
    let accept = ["play", "--server", &url, "--as", "bob", "--json", "--accept", code.trim_end_matches('"')];
    let mut bob = Process::start(&accept);
    for player in [&mut ann, &mut bob] {
        player.read_until(r#""event":"due","turn":1"#);
        player.write("E5");
    }
    let said = ann.read_until(r#""event":"due","turn":2"#);
    assert!(said.contains(r#""event":"turn""#) && said.contains(r#""black":"E5""#), "{said}");
    bob.write("resign");
    let (said, code) = ann.end();
    assert!(said.contains(r#""reason":"END_REASON_RESIGNATION""#), "{said}");
    assert!(said.lines().skip(1).all(|line| line.starts_with('{') && line.ends_with('}')), "{said}");
    assert!(said.contains(r#""event":"verified""#), "{said}");
    assert_eq!(code, Some(0));
}

/// What a player who speaks JSON says, up to and including the next event of this kind.
pub(crate) fn events_until(player: &mut Process, event: &str) -> Vec<Value> {
    let mut said = Vec::new();
    loop {
        let line = player.read_until("\n");
        let object: Value = serde_json::from_str(&line).expect("a line is an object");
        let is_last = object["event"] == event;
        said.push(object);
        if is_last {
            return said;
        }
    }
}

/// The event of this kind that comes next.
pub(crate) fn event(player: &mut Process, event: &str) -> Value {
    events_until(player, event).pop().expect("it ends with one")
}

#[test]
fn a_program_is_told_by_json_what_the_screen_shows() {
    let (_server, url) = server();
    let invite = ["play", "--server", &url, "--as", "ann", "--json", "--invite", "bob", "--seat", "black"];
    let mut ann = Process::start(&[&invite[..], &["--bank-s", "300+5"]].concat());
    let invited = event(&mut ann, "invited");
    let code = invited["code"].as_str().expect("a code");
    let mut bob = Process::start(&["play", "--server", &url, "--as", "bob", "--json", "--accept", code]);
    let begin = event(&mut ann, "begin");
    assert_eq!((&begin["seat"], &begin["opponent"]), (&"black".into(), &"players/bob".into()));
    assert_eq!(begin["settings"]["bank_initial_ms"], 300_000);
    assert_eq!(begin["settings"]["start_time_ms"], 120_000);
    let due = event(&mut ann, "due");
    assert!(due["deadline_ms"].as_u64().is_some_and(|stamp| stamp > 0), "{due}");
    event(&mut bob, "due");

    ann.write("J1");
    assert_eq!(event(&mut ann, "refused")["command"], "seal");
    ann.write("accept");
    assert_eq!(event(&mut ann, "refused")["reason"], "NO_OPEN_OFFER");
    ann.write("draw");
    for player in [&mut ann, &mut bob] {
        let offered = event(player, "draw_offered");
        assert_eq!((&offered["turn"], &offered["by"]), (&1.into(), &"black".into()));
    }
    bob.write("decline");
    for player in [&mut ann, &mut bob] {
        assert_eq!(event(player, "draw_answered")["accepted"], false);
    }
    ann.write("E5");
    let sealed = event(&mut ann, "sealed");
    assert_eq!((&sealed["turn"], &sealed["cell"]), (&1.into(), &"E5".into()));
    let status = event(&mut bob, "status");
    assert_eq!((&status["black"]["sealed"], &status["own_cell"]), (&true.into(), &Value::Null));
    bob.write("D4");
    event(&mut ann, "turn");
    event(&mut ann, "due");
    ann.write("history");
    assert_eq!(event(&mut ann, "history")["turns"][0]["white"], "D4");
    ann.write("E5");
    assert_eq!(event(&mut ann, "refused")["reason"], "CELL_OCCUPIED");
    bob.write("resign");
    assert_eq!(event(&mut ann, "finished")["result"], "MATCH_RESULT_BLACK_WINS");
    assert_eq!(event(&mut ann, "verified")["turns"], 1);
}
