//! `wts serve --jwks`: players come with the tokens of the operator's own accounts.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};
use whattheshell::{Client, v1};

use crate::api_keys::until;
use crate::play::{Process, listening};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

/// What an issuer publishes: the key of this seed, by this id.
fn key_set(seed: u8) -> String {
    let x = BASE64URL.encode(key(seed).verifying_key().to_bytes());
    json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": seed.to_string(), "x": x }] }).to_string()
}

fn token(seed: u8) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let part = |value: Value| BASE64URL.encode(value.to_string());
    let header = part(json!({ "alg": "EdDSA", "kid": seed.to_string() }));
    let claims = json!({ "iss": "accounts", "aud": "shell", "sub": "ann", "iat": now, "exp": now + 600 });
    let message = format!("{header}.{}", part(claims));
    format!("{message}.{}", BASE64URL.encode(key(seed).sign(message.as_bytes()).to_bytes()))
}

fn serve(jwks: &str) -> (Process, String) {
    listening(&[
        "serve",
        "--volatile",
        "--listen",
        "127.0.0.1:0",
        "--log",
        "off",
        "--jwks",
        jwks,
        "--jwks-issuer",
        "accounts",
        "--jwks-audience",
        "shell",
    ])
}

/// Whether the server takes a token of this key.
fn is_taken(url: &str, seed: u8) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = Client::connect(url).await.expect("it listens");
        let player = client.player(&token(seed)).expect("a token with a name");
        player.list_matches(v1::ListMatchesRequest::default()).await.is_ok()
    })
}

/// Publishes a key set on a port of its own, for as long as the test lives.
fn publish(key_set: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/keys", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 4_096]);
            let length = key_set.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all((head + &key_set).as_bytes());
        }
    });
    url
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("it is written");
}

#[test]
fn tokens_of_the_operators_accounts_are_taken_by_the_keys_in_a_file_as_they_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("jwks.json");
    write(&path, &key_set(1));
    let (_server, url) = serve(&path.display().to_string());
    assert!(is_taken(&url, 1) && !is_taken(&url, 2));
    write(&path, &key_set(2));
    until("the new key is taken", || is_taken(&url, 2));
    assert!(!is_taken(&url, 1), "the old one is not");
    write(&path, "nonsense");
    assert!(is_taken(&url, 2), "a damaged file changes nothing");
}

#[test]
fn published_keys_are_fetched() {
    let (_server, url) = serve(&publish(key_set(1)));
    assert!(is_taken(&url, 1) && !is_taken(&url, 2));
    // An issuer that cannot be asked keeps nobody from starting the server again.
    let (_other, url) = serve("http://127.0.0.1:1/keys");
    assert!(!is_taken(&url, 1));
}

#[test]
fn keys_that_cannot_be_trusted_start_no_server() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("jwks.json");
    let named = ["--jwks-issuer", "accounts", "--jwks-audience", "shell"];
    let refused = |jwks: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
        let output =
            command.args(["serve", "--volatile", "--jwks", jwks]).args(more).output().expect("wts runs");
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    let file = path.display().to_string();
    assert!(refused(&file, &named).contains(&file), "it is not there");
    write(&path, r#"{"keys":[]}"#);
    assert!(refused(&file, &named).contains("kid"));
    assert!(refused("http://accounts.example/keys", &named).contains("https"));
    write(&path, &key_set(1));
    assert!(refused(&file, &[]).contains("--jwks-issuer"));
    let with_secret = [&named[..], &["--jwks-algorithms", "HS256"]].concat();
    assert!(refused(&file, &with_secret).contains("EdDSA"));
}
