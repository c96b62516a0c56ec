//! `wts play`: opponents from a pool, and bots.

use redis_servers::{Flavor, Options};
use serde_json::Value;
use whattheshell::rules::Cell;
use whattheshell::{Client, v1};

use crate::play::{PROMPT, Process, event, events_until, server, server_with};
use crate::shared_store::SharedStore;

fn play(url: &str, player: &str, options: &[&str]) -> Process {
    Process::start(&[&["play", "--server", url, "--as", player], options].concat())
}

/// An empty cell of the board that an event tells.
fn empty_cell(position: &Value) -> String {
    let cells = position.as_str().expect("a position");
    let at = cells.find('.').and_then(|at| u8::try_from(at).ok()).and_then(Cell::from_index);
    at.expect("the board is not full").to_string()
}

/// What ratings a line tells of a player: before and after.
fn moved(said: &str, player: &str) -> (i32, i32) {
    let line = said.lines().find(|line| line.starts_with("ratings: ") && line.contains('→'));
    let line = line.unwrap_or_else(|| panic!("no rating has moved: {said}"));
    let words: Vec<_> = line.split([' ', ',']).collect();
    let at = words.iter().position(|word| *word == player).expect("he is in it");
    let rating = |word: &str| word.parse().expect("a rating");
    (rating(words[at + 1]), rating(words[at + 3]))
}

#[test]
fn two_people_queue_play_and_see_both_ratings_move() {
    let (_server, url) = server();
    let queue = ["--queue", "ranked", "--time", "10s,30s"];
    let (mut ann, mut bob) = (play(&url, "ann", &queue), play(&url, "bob", &queue));
    for player in [&mut ann, &mut bob] {
        let said = player.read_until(PROMPT);
        assert!(said.contains("you wait in ranked for 10s, 30s, rated 1500"), "{said}");
        assert!(said.contains("an opponent is found: matches/"), "{said}");
        assert!(said.contains("ann 1500") && said.contains("bob 1500"), "{said}");
    }
    ann.write("A1");
    bob.write("I9");
    ann.read_until(PROMPT);
    bob.read_until(PROMPT);
    bob.write("resign");
    for player in [ann, bob] {
        let (said, code) = player.end();
        let (won, lost) = (moved(&said, "ann"), moved(&said, "bob"));
        assert!(won.0 == 1500 && won.1 > 1500 && lost.0 == 1500 && lost.1 < 1500, "{said}");
        assert_eq!(code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_queue_through_two_nodes_of_one_store() {
    let store = SharedStore::start(Flavor::ALL[0], &Options::new(), 2).await;
    let queue = ["--queue", "ranked", "--time", "30s"];
    let (mut ann, mut bob) =
        (play(&store.nodes[0].url(), "ann", &queue), play(&store.nodes[1].url(), "bob", &queue));
    ann.read_until(PROMPT);
    bob.read_until(PROMPT);
    bob.write("resign");
    for player in [ann, bob] {
        let (said, _) = player.end();
        let (won, lost) = (moved(&said, "ann"), moved(&said, "bob"));
        assert!(won.1 > won.0 && lost.1 < lost.0, "{said}");
    }
}

#[test]
fn a_program_is_told_of_its_ticket_and_its_rating() {
    let (_server, url) = server();
    let queue = ["--queue", "ranked", "--time", "30s", "--json"];
    let (mut ann, mut bob) = (play(&url, "ann", &queue), play(&url, "bob", &queue));
    let queued = event(&mut ann, "queued");
    assert_eq!((&queued["pool"], &queued["time_controls"][0]), (&"ranked".into(), &"30s".into()));
    let matched = event(&mut ann, "matched");
    assert_eq!(matched["ticket"], queued["ticket"]);
    let begin = event(&mut ann, "begin");
    assert_eq!((&begin["match"], &begin["black_rating"]), (&matched["match"], &1500.0.into()));
    event(&mut ann, "due");
    event(&mut bob, "due");
    bob.write("resign");
    let rated = event(&mut ann, "rated");
    let (winner, loser) = if begin["seat"] == "black" { ("black", "white") } else { ("white", "black") };
    let after = |seat: &str| rated[format!("{seat}_after")].as_f64().expect("it has moved");
    assert!(after(winner) > 1500.0 && after(loser) < 1500.0, "{rated}");
}

#[test]
fn a_player_plays_a_bot_that_never_keeps_him_from_sealing() {
    let (_server, url) = server();
    let mut ann = play(&url, "ann", &["--bot", "0", "--seat", "white", "--json"]);
    let begin = event(&mut ann, "begin");
    assert_eq!((&begin["opponent"], &begin["seat"]), (&"players/bot-0".into(), &"white".into()));
    assert_eq!(begin["settings"]["bot_level"], 0);
    event(&mut ann, "due");
    ann.write("E5");
    for turn in 1..=4 {
        let said = events_until(&mut ann, "turn");
        assert!(said.iter().all(|said| said["event"] != "refused"), "{said:?}");
        let told = said.last().expect("the turn");
        assert_eq!(told["turn"], turn);
        event(&mut ann, "due");
        ann.write(&empty_cell(&told["position"]));
    }
    event(&mut ann, "turn");
    ann.write("resign");
    let said = events_until(&mut ann, "verified");
    assert!(said.iter().any(|said| said["reason"] == "END_REASON_RESIGNATION"), "{said:?}");
    let (rest, code) = ann.end();
    assert_eq!((rest.as_str(), code), ("", Some(0)), "a match against a bot changes no rating");
}

#[test]
fn a_player_plays_a_bot_by_commit_and_reveal() {
    let (_server, url) = server();
    let mut ann = play(&url, "ann", &["--bot", "1", "--commit-reveal", "--json"]);
    event(&mut ann, "due");
    ann.write("E5");
    let told = event(&mut ann, "turn");
    event(&mut ann, "due");
    ann.write(&empty_cell(&told["position"]));
    assert_eq!(event(&mut ann, "turn")["turn"], 2);
}

#[test]
fn who_is_in_a_ranked_match_is_told_so_when_he_asks_for_another() {
    let (_server, url) = server();
    let queue = ["--queue", "ranked", "--time", "30s"];
    let (mut ann, mut bob) = (play(&url, "ann", &queue), play(&url, "bob", &queue));
    ann.read_until(PROMPT);
    bob.read_until(PROMPT);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_wts"));
    let output = command.args(["play", "--server", &url, "--as", "ann"]).args(queue).output();
    let said = String::from_utf8_lossy(&output.expect("wts runs").stderr).into_owned();
    assert!(said.contains("`wts play` alone lists it"), "{said}");
}

#[test]
fn a_bot_comes_where_nobody_does() {
    let (_server, url) = server();
    let wish = ["--queue", "casual", "--time", "30s", "--bot-after", "1s", "--bot", "2", "--json"];
    let mut ann = play(&url, "ann", &wish);
    event(&mut ann, "matched");
    assert_eq!(event(&mut ann, "begin")["settings"]["bot_level"], 2);
    event(&mut ann, "due");
}

#[test]
fn who_stops_waiting_has_no_ticket_any_more() {
    let (_server, url) = server();
    let queue = ["--queue", "ranked", "--json"];
    let mut ann = play(&url, "ann", &queue);
    let first = event(&mut ann, "queued");
    let mut elsewhere = play(&url, "ann", &queue);
    assert_eq!(event(&mut elsewhere, "queued")["ticket"], first["ticket"], "while he waits it is his ticket");
    ann.signal("INT");
    assert_eq!(ann.end().1, Some(1));
    let mut again = play(&url, "ann", &queue);
    assert_ne!(event(&mut again, "queued")["ticket"], first["ticket"]);
    assert_eq!(elsewhere.end().1, Some(1), "it is cancelled everywhere");
}

/// A server with a pool `quick`, in which somebody looks for an opponent who will not come to the match.
pub(crate) fn server_of_no_show() -> (Process, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("pools.toml");
    let pools = "[[pools]]\nname = \"quick\"\ntime_controls = [\"30s\"]\nstart_time = \"5s\"\n";
    std::fs::write(&file, pools).expect("it is written");
    let (server, url) = server_with(&["--pools", &file.display().to_string()]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(ask_and_stay_away(&url)).expect("he asks");
    (server, url)
}

async fn ask_and_stay_away(url: &str) -> Result<(), whattheshell::Error> {
    let client = Client::connect(url).await?;
    let player = client.player(&client.mint_token("players/gone").await?.token)?;
    let pool = client.server_info().await?.pools.pop().unwrap_or_default();
    let request =
        v1::CreateTicketRequest { pool: pool.pool, time_controls: pool.time_controls, ..Default::default() };
    player.create_ticket(request).await.map(drop)
}

#[test]
fn who_is_let_down_waits_again_and_is_matched_with_another() {
    let (_server, url) = server_of_no_show();
    let mut ann = play(&url, "ann", &["--queue", "quick", "--json"]);
    let queued = event(&mut ann, "queued");
    let let_down = event(&mut ann, "matched");
    let requeued = event(&mut ann, "requeued");
    assert_eq!(requeued["ticket"], queued["ticket"]);
    assert_eq!(requeued["aborted_match"], let_down["match"]);
    let _bob = play(&url, "bob", &["--queue", "quick"]);
    assert_ne!(event(&mut ann, "matched")["match"], let_down["match"]);
    event(&mut ann, "due");
}

#[test]
fn what_a_pool_does_not_have_is_explained() {
    let (_server, url) = server();
    let refused = |options: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_wts"));
        let output = command.args(["play", "--server", &url, "--as", "ann"]).args(options).output();
        String::from_utf8_lossy(&output.expect("wts runs").stderr).into_owned()
    };
    assert!(refused(&["--queue", "blitz"]).contains("no pool `blitz`; it has: casual, ranked"));
    let times = refused(&["--queue", "ranked", "--time", "45s"]);
    assert!(times.contains("--time takes 10s, 30s, 3m+2s, 1d"), "{times}");
    assert!(refused(&["--queue", "ranked", "--time", "45"]).contains("it is the time of each turn"));
    assert!(refused(&["--bot", "7"]).contains("0..=6"));
}
