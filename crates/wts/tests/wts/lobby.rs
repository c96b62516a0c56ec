//! `wts play`: invites, what waits for a player, rematches.

use crate::play::{PROMPT, Process, seated_with, server};

fn play(url: &str, player: &str, options: &[&str]) -> Process {
    Process::start(&[&["play", "--server", url, "--as", player], options].concat())
}

/// A lobby that says so if there is nothing in it.
fn is_empty(url: &str, player: &str) -> bool {
    play(url, player, &[]).read_until("choose> ").contains("nothing waits for you")
}

#[test]
fn a_player_finds_his_invites_and_matches_and_chooses() {
    let (_server, url) = server();
    let mut ann = play(&url, "ann", &["--invite", "bob", "--seat", "white", "--turn-limit", "9"]);
    ann.read_until("--accept ");
    let mut eve = play(&url, "eve", &["--invite", "bob", "--bank-s", "300+5"]);
    eve.read_until("--accept ");
    let mut bob = play(&url, "bob", &[]);
    let mut list = bob.read_until("choose> ");
    while !list.contains("ann invites you") || !list.contains("eve invites you") {
        list = bob.read_until("choose> ");
    }
    assert!(list.contains("ann invites you: casual, 5 min a turn"), "{list}");
    assert!(list.contains("at most 9 turns; you play black"), "{list}");
    assert!(list.contains("eve invites you: casual, 5 min + 5 s a turn"), "{list}");
    let of = |name: &str| {
        let line = list.lines().find(|line| line.contains(name)).expect("it is listed");
        line.split_whitespace().next().expect("it has a number").to_owned()
    };
    bob.write("nonsense");
    assert!(bob.read_until("choose> ").contains("no number of the list"));
    bob.write(&format!("d {}", of("eve")));
    let (said, code) = eve.end();
    assert_eq!(code, Some(1), "{said}");
    bob.read_until("ann invites you");
    bob.read_until("choose> ");
    bob.write("1");
    bob.read_until("you play black");
    ann.read_until("you play white");
    bob.read_until(PROMPT);
    drop(bob);
    let mut bob = play(&url, "bob", &[]);
    // It is listed as soon as the server has noted it for him.
    bob.read_until("against ann, turn 1: your move is due");
    bob.read_until("choose> ");
    bob.write("1");
    bob.read_until(PROMPT);
}

#[test]
fn an_invite_that_is_left_alone_is_taken_back() {
    let (_server, url) = server();
    for signal in ["INT", "TERM"] {
        let mut ann = play(&url, "ann", &["--invite", "bob"]);
        ann.read_until("--accept ");
        let mut bob = play(&url, "bob", &[]);
        bob.read_until("ann invites you");
        ann.signal(signal);
        assert_eq!(ann.end().1, Some(1));
        bob.read_until("nothing waits for you");
    }
    let ann = play(&url, "ann", &["--invite", "bob", "--wait-s", "1"]);
    assert_eq!(ann.end().1, Some(1));
    assert!(is_empty(&url, "bob"));
}

#[test]
fn a_player_who_is_told_to_go_leaves_and_his_match_goes_on() {
    let (_server, url) = server();
    let (ann, mut bob) = seated_with(&url, &[]);
    ann.signal("TERM");
    let (said, code) = ann.end();
    assert!(said.contains("the match goes on; come back with --match matches/"), "{said}");
    assert_eq!(code, Some(0));
    bob.write("E5");
    bob.read_until("sealed E5");
}

#[test]
fn a_rematch_is_offered_and_found() {
    let (_server, url) = server();
    let (mut ann, bob) = seated_with(&url, &["--seat", "black", "--turn-limit", "7"]);
    ann.write("resign");
    ann.end();
    let (said, _) = bob.end();
    let finished = said.split("--rematch ").nth(1).expect("it says how").trim().to_owned();
    let mut ann = play(&url, "ann", &["--rematch", &finished]);
    ann.read_until("the other one accepts with --rematch ");
    let mut lobby = play(&url, "bob", &[]);
    lobby.read_until("ann offers you a rematch: ");
    assert!(lobby.read_until("\n").contains("at most 7 turns"));
    drop(lobby);
    let mut bob = play(&url, "bob", &["--rematch", &finished]);
    bob.read_until("you play black");
    ann.read_until("you play white");
}
