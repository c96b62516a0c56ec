//! `wts feed`.

use std::process::Command;

use redis_servers::{Flavor, Options, Single};
use serde_json::Value;

use crate::play::{Process, listening, seated_with};

/// The key of the only back end.
const KEY: &str = "the shop's key";

/// What the server is told of it: its name, and the SHA-256 of its key.
const BACKEND: &str = "shop=c80d81b34fabf08a6f7109408af749a65d014045243f952276ffecdbd9ad3888";

/// Of a match of one turn that is then given up.
const WHOLE: [(&str, Option<u64>); 5] = [
    ("started", None),
    ("turn_opened", Some(1)),
    ("turn_resolved", Some(1)),
    ("turn_opened", Some(2)),
    ("finished", Some(1)),
];

/// A server with a back end, and its address.
fn server() -> (Process, String) {
    server_on(&["--volatile"])
}

/// The same with a store of one's choice.
fn server_on(store: &[&str]) -> (Process, String) {
    let options = ["serve", "--dev", "--backend", BACKEND, "--listen", "127.0.0.1:0", "--log", "off"];
    listening(&[&options[..], store].concat())
}

fn feed(url: &str, options: &[&str]) -> Process {
    Process::start(&[&["feed", "--server", url, "--api-key", KEY], options].concat())
}

/// Plays one turn, after which one gives up.
fn play(url: &str) {
    let (mut ann, mut bob) = seated_with(url, &["--seat", "black"]);
    ann.write("A1");
    bob.write("I9");
    ann.read_until("cell> ");
    bob.read_until("cell> ");
    bob.write("resign");
    ann.end();
    bob.end();
}

/// The next events, up to the end of a match.
fn until_finished(feed: &mut Process) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    while events.last().is_none_or(|event| event["event"] != "finished") {
        let line = feed.read_until("\n");
        events.push(serde_json::from_str(&line).expect("one object a line"));
    }
    events
}

fn kinds(events: &[Value]) -> Vec<(&str, Option<u64>)> {
    events.iter().map(|event| (event["event"].as_str().expect("a kind"), event["turn"].as_u64())).collect()
}

#[test]
fn a_back_end_is_told_every_match_and_goes_on_from_the_cursor_of_any_line() {
    let (_server, url) = server();
    let mut live = feed(&url, &["--json"]);
    play(&url);
    let told = until_finished(&mut live);
    assert_eq!(kinds(&told), WHOLE);
    for event in &told {
        assert_eq!(event["match"], told[0]["match"]);
        assert_eq!((&event["black"], &event["white"]), (&"players/ann".into(), &"players/bob".into()));
        assert!(event["time_ms"].as_i64() >= told[0]["time_ms"].as_i64(), "{told:?}");
    }
    let end = &told[WHOLE.len() - 1];
    assert_eq!(end["result"], "MATCH_RESULT_BLACK_WINS");
    assert_eq!(end["reason"], "END_REASON_RESIGNATION");

    // Each commit told one event or two; after the first of two both come again.
    for (at, event) in told.iter().enumerate().take(WHOLE.len() - 1) {
        let cursor = event["cursor"].as_str().expect("a cursor");
        let mut resumed = feed(&url, &["--json", "--cursor", cursor]);
        let again = until_finished(&mut resumed);
        assert!(again.ends_with(&told[at + 1..]), "after event {at}: {again:?}");
        assert!(again.len() <= told.len() - at, "after event {at}: {again:?}");
    }

    play(&url);
    let next = until_finished(&mut live);
    assert_eq!(kinds(&next), WHOLE);
    let cursor = end["cursor"].as_str().expect("a cursor");
    let mut resumed = feed(&url, &["--json", "--cursor", cursor]);
    assert_eq!(until_finished(&mut resumed), next, "only what came after the cursor");
}

#[test]
fn people_read_the_feed_as_words() {
    let (_server, url) = server();
    play(&url);
    let mut feed = feed(&url, &[]);
    let said: Vec<String> = WHOLE.iter().map(|_| feed.read_until("\n")).collect();
    let between = "(players/ann against players/bob)\n";
    let what = [
        "the match has started",
        "turn 1 is open",
        "turn 1 is resolved",
        "turn 2 is open",
        "over after turn 1, MATCH_RESULT_BLACK_WINS, END_REASON_RESIGNATION",
    ];
    for (line, what) in said.iter().zip(what) {
        assert!(line.starts_with("matches/") && line.ends_with(&format!(": {what} {between}")), "{line}");
    }
}

/// What a feed that cannot be read says, which ends at once.
fn refused(url: &str, options: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_wts"))
        .args(["feed", "--server", url])
        .args(options)
        .output()
        .expect("wts runs");
    assert_eq!(output.status.code(), Some(1), "{options:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_feed_that_cannot_be_read_says_why() {
    let (_server, url) = server();
    let said = refused(&url, &["--api-key", "a stranger's"]);
    assert!(said.contains("TOKEN_INVALID"), "{said}");
    let said = refused(&url, &["--api-key", KEY, "--cursor", "c0ffe"]);
    assert!(said.contains("hexadecimal"), "{said}");
    let said = refused(&url, &["--api-key", KEY, "--cursor", "c0ffee"]);
    assert!(said.contains("no cursor that this service has given"), "{said}");
}

/// The feed of a directory is not taken over: whoever stands in it is told so, wherever he stands, and misses nothing
/// unawares.
#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_from_before_a_migration_is_told_that_its_feed_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("a path of text");
    let (server, url) = server_on(&["--data", path]);
    play(&url);
    let mut live = feed(&url, &["--json"]);
    let told = until_finished(&mut live);
    drop(live);
    server.signal("TERM");
    server.end();
    let redis = Single::start(Flavor::Redis, &Options::new()).await.expect("a server can be started");
    let migrate = Process::start(&["store", "migrate", "--from", path, "--to", &redis.url()]);
    assert_eq!(migrate.end().1, Some(0));
    let (_server, url) = server_on(&["--store", &redis.url(), "--keys", &format!("{path}/keys")]);
    for event in [&told[0], &told[WHOLE.len() - 1]] {
        let cursor = event["cursor"].as_str().expect("a cursor");
        let said = refused(&url, &["--api-key", KEY, "--cursor", cursor]);
        assert!(said.contains("FEED_TRIMMED"), "{said}");
    }
    let mut anew = feed(&url, &["--json"]);
    play(&url);
    assert_eq!(kinds(&until_finished(&mut anew)), WHOLE, "what came after it, and nothing of before");
}
