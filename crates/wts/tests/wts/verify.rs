//! `wts verify`.

use std::io::Write as _;
use std::process::{Command, Output};

use tempfile::NamedTempFile;
use whattheshell::sealing::{Digest, ServerSigningKey};
use whattheshell::{Client, Transcript, v1};

use crate::play::server;

/// A match of one turn that white has given up, played on a server of its own.
fn played() -> v1::Transcript {
    let (_server, url) = server();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let transcript = runtime.block_on(async {
        let client = Client::connect(&url).await?;
        let [ann, bob] = ["players/ann", "players/bob"].map(|player| client.mint_token(player));
        let (ann, bob) = (client.player(&ann.await?.token)?, client.player(&bob.await?.token)?);
        let settings = Some(v1::MatchSettings::default());
        let invitee = "players/bob".to_owned();
        let request = v1::CreateInviteRequest { invitee, settings, ..Default::default() };
        let invite = ann.invite(request).await?.invite.unwrap_or_default();
        let accepted = bob.accept_invite(&invite.name, None).await?;
        let (black, white) = (ann.join(&accepted.r#match).await?, bob.join(&accepted.r#match).await?);
        let (one, other) = ("E5".parse().expect("a cell"), "D4".parse().expect("a cell"));
        black.seal(1, one).await?;
        white.seal(1, other).await?;
        white.resign().await?;
        white.transcript().await
    });
    transcript.map(|transcript: Transcript| transcript.message().clone()).expect("the match is played")
}

/// The match under the signature of a key.
fn signed(mut message: v1::Transcript, key: &ServerSigningKey) -> v1::Transcript {
    let finish = message.finish.as_ref().expect("it is over");
    let end = Digest::try_from(&finish.end_hash[..]).expect("a hash");
    message.key_id = key.id().to_string();
    message.signature = key.sign_end(&end).as_bytes().to_vec();
    message
}

fn verify(bytes: &[u8], options: &[&str]) -> Output {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
    command.arg("verify").arg(file.path()).args(options).output().expect("wts runs")
}

/// Verifies and compares how it ends and what it says.
#[track_caller]
fn check(message: &v1::Transcript, options: &[&str], code: i32, said: &[&str]) {
    let output = verify(&Transcript::from(message.clone()).to_bytes(), options);
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}{error}");
    said.iter().for_each(|said| assert!(text.contains(said), "{said:?} is not in {text}"));
}

#[test]
fn a_match_is_verified_with_what_it_proves() {
    let message = played();
    let key = ServerSigningKey::from_seed("k1".parse().expect("an id"), &[7; 32]);
    let known = format!("--key=k1={}", key.public_key());
    let bare = v1::Transcript { key_id: String::new(), signature: Vec::new(), ..message };
    let right = signed(bare.clone(), &key);

    check(&bare, &[], 0, &[": verified", "1 turns; ", "every commitment opens", "not signed by the service"]);
    check(&right, &[], 0, &["by its key k1, was not checked"]);
    check(&right, &[&known], 0, &["signed by the service with its key k1"]);
    check(
        &right,
        &[&known, "--json"],
        0,
        &[
            r#""verified":true"#,
            r#""signed_by":"k1""#,
            r#""turns":1"#,
            r#""reason":"END_REASON_RESIGNATION""#,
        ],
    );
    check(&bare, &[&known], 1, &[": refused", "`signature`"]);

    let mut forged = right.clone();
    forged.signature[5] ^= 1;
    check(&forged, &[&known], 1, &["the signature of the transcript is not by the key that it names"]);
    let other = format!("--key=k2={}", key.public_key());
    check(&right, &[&other], 1, &["not among the known ones"]);

    let mut tampered = right.clone();
    tampered.turns[0].black.as_mut().expect("a side").salt[0] ^= 1;
    check(&tampered, &[&known], 1, &["turn 1: black: the opening does not open the commitment"]);
    check(&tampered, &["--json"], 1, &[r#""verified":false"#, r#""turn":1"#, r#""seat":"black""#]);

    every_changed_byte_is_refused(&right, &key);
}

/// Any byte of the file: what still decodes to something else is refused.
fn every_changed_byte_is_refused(right: &v1::Transcript, key: &ServerSigningKey) {
    let keys = [whattheshell::sealing::ServerKey { id: key.id().clone(), public_key: key.public_key() }];
    let bytes = Transcript::from(right.clone()).to_bytes();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let Ok(changed) = Transcript::from_bytes(&changed) else { continue };
            if changed.message() != right {
                assert!(changed.verify_signed(&keys).is_err(), "bit {bit} of byte {at}");
            }
        }
    }
}

#[test]
fn what_is_no_transcript_is_an_error() {
    let output = verify(b"{\"match\": \"matches/1\"}", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is no whattheshell.v1.Transcript"));
    let output = verify(b"", &["--key", "k1=00"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("64 hexadecimal digits"));
}

/// Runs a command on a file while nobody reads what it says.
#[track_caller]
fn check_unread(command: &str, message: &v1::Transcript, code: i32) {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(&Transcript::from(message.clone()).to_bytes()).expect("written");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut wts = Command::new(env!("CARGO_BIN_EXE_wts"));
    let output = wts.arg(command).arg(file.path()).stdout(writer).output().expect("wts runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*error), (Some(code), ""), "{command}");
}

#[test]
fn whoever_reads_only_the_first_lines_changes_no_verdict() {
    let message = played();
    let mut tampered = message.clone();
    tampered.turns[0].black.as_mut().expect("a side").salt[0] ^= 1;
    check_unread("verify", &message, 0);
    check_unread("verify", &tampered, 1);
    check_unread("replay", &message, 0);
}
