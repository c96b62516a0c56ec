//! `wts keys create` and `wts keys revoke`: who may act for players, while a server runs.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::play::{Process, listening};

/// Longer than a server may take to notice.
const NOTICED_MAX: Duration = Duration::from_secs(60);

/// A file of API keys.
struct Keys(TempDir);

impl Keys {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("api-keys")
    }

    fn wts(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
        command.args(arguments).env("WTS_API_KEYS", self.file()).output().expect("wts runs")
    }

    /// A new key, and what the command says beside it.
    fn create(&self, arguments: &[&str]) -> (String, String) {
        let output = self.wts(&[&["keys", "create"], arguments].concat());
        let beside = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(0), "{beside}");
        (String::from_utf8(output.stdout).expect("text").trim().to_owned(), beside)
    }

    /// The id in the key's text.
    fn id(key: &str) -> &str {
        key.split('_').nth(1).expect("an id")
    }

    /// A server that knows these keys, and nobody else.
    fn serve(&self) -> (Process, String) {
        let file = self.file().display().to_string();
        listening(&["serve", "--volatile", "--listen", "127.0.0.1:0", "--log", "off", "--api-keys", &file])
    }
}

/// Whether this key mints tokens.
fn mints(url: &str, key: &str) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
    command.args(["token", "--server", url, "--as", "ann"]).env("WTS_API_KEY", key);
    command.output().expect("wts runs").status.success()
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < NOTICED_MAX, "{what} does not come about");
        thread::yield_now();
    }
}

#[test]
fn a_key_is_taken_from_when_it_is_made_until_it_is_revoked() {
    let keys = Keys::new();
    let (first, beside) = keys.create(&["backend", "shop"]);
    assert!(first.starts_with("wts_") && !beside.contains(&first), "it is told once: {beside}");
    let (_server, url) = keys.serve();
    assert!(mints(&url, &first));
    assert!(!mints(&url, &format!("{first}x")));

    let (second, _) = keys.create(&["backend", "shop", "--ttl", "90d"]);
    until("the new key is taken", || mints(&url, &second));
    assert!(mints(&url, &first), "the one before it goes on");
    let revoked = keys.wts(&["keys", "revoke", Keys::id(&first)]);
    assert_eq!(revoked.status.code(), Some(0));
    until("the revoked key is refused", || !mints(&url, &first));
    assert!(mints(&url, &second));

    fs::write(keys.file(), "nonsense\n").expect("it is written");
    let (other, _) = Keys::new().create(&["backend", "other"]);
    assert!(!mints(&url, &other) && mints(&url, &second), "a damaged file changes nothing");
}

#[test]
fn a_key_that_has_ended_and_a_key_of_another_kind_mint_nothing() {
    let keys = Keys::new();
    let (ended, _) = keys.create(&["backend", "shop", "--ttl", "1ms"]);
    let (operator, _) = keys.create(&["operator", "olga"]);
    let (_server, url) = keys.serve();
    assert!(!mints(&url, &ended));
    assert!(!mints(&url, &operator));
}

#[test]
fn the_file_and_the_list_hold_no_key() {
    let keys = Keys::new();
    let data = keys.0.path().display().to_string();
    let (key, _) = keys.create(&["backend", "shop"]);
    let text = fs::read_to_string(keys.file()).expect("it is there");
    let secret = key.rsplit('_').next().expect("a secret");
    assert!(text.contains("shop") && !text.contains(secret), "{text}");
    let secrets = keys.0.path().join("keys").display().to_string();
    assert!(keys.wts(&["keys", "new", &secrets]).status.success());
    for form in [&[][..], &["--json"]] {
        let listed = keys.wts(&[&["keys", "list", "--data", &data], form].concat());
        let listed = String::from_utf8(listed.stdout).expect("text");
        assert!(listed.contains("shop") && listed.contains(Keys::id(&key)), "{listed}");
        assert!(!listed.contains(secret));
        if form == ["--json"] {
            let listed: Value = serde_json::from_str(&listed).expect("JSON");
            assert_eq!(listed["api_keys"][0]["kind"], "backend");
        }
    }
}

#[test]
fn what_is_no_key_is_refused_with_its_place() {
    let keys = Keys::new();
    let says = |output: Output| {
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(says(keys.wts(&["keys", "revoke", "ab12cd34"])).contains("ab12cd34"));
    assert!(says(keys.wts(&["keys", "create", "backend", "a b"])).contains("a b"));
    let file = keys.file().display().to_string();
    let missing = says(keys.wts(&["serve", "--volatile", "--api-keys", &file]));
    assert!(missing.contains("wts keys create"), "{missing}");
    fs::write(keys.file(), "# a comment\nbackend shop\n").expect("it is written");
    let damaged = says(keys.wts(&["serve", "--volatile", "--api-keys", &file]));
    assert!(damaged.contains(":2"), "{damaged}");
}
