//! `wts keys`, and a server whose keys are lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use tonic::transport::Endpoint;
use whattheshell::prost_types::Duration;
use whattheshell::rules::{Cell, Seat};
use whattheshell::sealing::{Commitment, MatchId, Receipt, Signature, verify_receipt};
use whattheshell::{Client, Player, Update, server_keys, v1};
use wire::v1::match_service_client::MatchServiceClient;

use crate::play::{Process, listening};

/// Longer than any machine takes to start a server anew.
const TURN_TIME_S: i64 = 3_600;

/// A data directory.
struct Data {
    directory: TempDir,
}

impl Data {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory") }
    }

    /// One that a server has begun.
    fn begun() -> Self {
        let data = Self::new();
        drop(data.serve());
        data
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn keys(&self) -> PathBuf {
        self.path().join("keys")
    }

    /// A server in development mode, and its address. It is killed when it is dropped.
    fn serve(&self) -> (Process, String) {
        self.serve_with(&[])
    }

    fn serve_with(&self, options: &[&str]) -> (Process, String) {
        let data = self.path().to_str().expect("a path of text");
        let arguments = ["serve", "--dev", "--listen", "127.0.0.1:0", "--log", "off", "--data", data];
        listening(&[&arguments, options].concat())
    }

    /// A command about this directory.
    fn wts(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
        command.args(arguments).arg("--data").arg(self.path()).output().expect("wts runs")
    }

    /// What the command says on stdout; it must end well, and show no secret.
    #[track_caller]
    fn says(&self, arguments: &[&str]) -> String {
        let before = self.secrets();
        let output = self.wts(arguments);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        self.shows_no_secret(&before, &said);
        String::from_utf8(output.stdout).expect("text")
    }

    /// A command that must be refused with these words, and change nothing.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], words: &[&str]) {
        let (secrets, before) = (self.secrets(), fs::read(self.keys()).ok());
        let output = self.wts(arguments);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        words.iter().for_each(|words| assert!(said.contains(words), "{words:?} is not in {said}"));
        self.shows_no_secret(&secrets, &said);
        assert_eq!(fs::read(self.keys()).ok(), before, "the keys are as they were");
    }

    /// The server must not start, for a reason of these words.
    #[track_caller]
    fn refuses_to_serve(&self, options: &[&str], words: &[&str]) {
        let serve = ["serve", "--dev", "--listen", "127.0.0.1:0", "--log", "trace"];
        self.refuses(&[&serve, options].concat(), words);
    }

    /// The last word of each key's line.
    fn secrets(&self) -> Vec<String> {
        let text = fs::read_to_string(self.keys()).unwrap_or_default();
        let words = text.lines().filter_map(|line| line.split_whitespace().last());
        words.filter(|word| word.len() == 64).map(str::to_owned).collect()
    }

    #[track_caller]
    fn shows_no_secret(&self, before: &[String], said: &str) {
        for secret in before.iter().chain(&self.secrets()) {
            // A part tells as well.
            assert!(!said.contains(&secret[..16]), "a secret is shown");
        }
    }

    /// The only key of a role in this state.
    #[track_caller]
    fn key(&self, role: &str, state: &str) -> String {
        let listed: Value = serde_json::from_str(&self.says(&["keys", "list", "--json"])).expect("JSON");
        let keys = listed["keys"].as_array().expect("a list");
        let mut found = keys.iter().filter(|key| key["role"] == role && key["state"] == state);
        let id = found.next().and_then(|key| key["id"].as_str()).expect("there is one").to_owned();
        assert!(found.next().is_none(), "there is one");
        id
    }

    /// A new key of this role comes into use. The ids of the old one and the new one.
    fn rotate(&self, role: &str) -> [String; 2] {
        let old = self.key(role, "in-use");
        self.says(&["keys", "prepare", role]);
        let new = self.key(role, "prepared");
        self.says(&["keys", "promote", role, &new]);
        assert_eq!((self.key(role, "ended"), self.key(role, "in-use")), (old.clone(), new.clone()));
        [old, new]
    }
}

/// All that a command said.
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn cell(name: &str) -> Cell {
    name.parse().expect("a cell")
}

/// A player, with the token that he calls by.
async fn player(url: &str, name: &str) -> (Player, String) {
    let client = Client::connect(url).await.expect("the server listens");
    let token = client.mint_token(&format!("players/{name}")).await.expect("a token").token;
    (client.player(&token).expect("a token"), token)
}

/// A match of ann and bob in which nobody has sealed.
async fn begin(url: &str) -> String {
    let ((ann, _), (bob, _)) = (player(url, "ann").await, player(url, "bob").await);
    let turn_time = Duration { seconds: TURN_TIME_S, nanos: 0 };
    let time_control = Some(v1::match_settings::TimeControl::TurnTime(turn_time));
    let settings = Some(v1::MatchSettings { time_control, ..Default::default() });
    let request =
        v1::CreateInviteRequest { invitee: "players/bob".to_owned(), settings, ..Default::default() };
    let invite = ann.invite(request).await.expect("it is legal").invite.expect("an invite");
    let accepted = bob.accept_invite(&invite.name, None).await.expect("it is open");
    ann.join(&accepted.r#match).await.expect("a seat");
    bob.join(&accepted.r#match).await.expect("a seat");
    accepted.r#match
}

/// Ann's call that seals her first move and asks for a signature; repeated, it is the same.
fn anns_seal(name: &str) -> v1::SealMoveRequest {
    v1::SealMoveRequest {
        name: name.to_owned(),
        request_id: "00000000-0000-4000-8000-000000000001".to_owned(),
        turn: 1,
        r#move: Some(v1::seal_move_request::Move::Open(v1::OpenMove {
            cell: cell("E5").number().into(),
            salt: vec![7; 32],
        })),
        sign_receipt: true,
        ..Default::default()
    }
}

async fn ann_seals(url: &str, name: &str) -> v1::SealReceipt {
    let (_, token) = player(url, "ann").await;
    let endpoint = Endpoint::from_shared(url.to_owned()).expect("an address");
    let mut client = MatchServiceClient::new(endpoint.connect().await.expect("the server listens"));
    let mut request = tonic::Request::new(anns_seal(name));
    let token = format!("Bearer {token}").parse().expect("a token is ASCII");
    request.metadata_mut().insert("authorization", token);
    let answer = client.seal_move(request).await.expect("it is legal").into_inner();
    answer.receipt.expect("a receipt")
}

/// Bob seals; what the turn resolves to: ann's cell and his.
async fn bob_seals(url: &str, name: &str) -> [Cell; 2] {
    let (bob, _) = player(url, "bob").await;
    let game = bob.open(name).await.expect("the match goes on");
    game.seal(1, cell("D4")).await.expect("it is legal");
    let mut updates = game.watch();
    loop {
        let update = futures::StreamExt::next(&mut updates).await.expect("it goes on");
        if let Update::Turn(turn) = update.expect("it holds") {
            let seat = game.seat().expect("he has one");
            return [turn.cells[seat.opponent()], turn.cells[seat]];
        }
    }
}

/// Whether the receipt is signed by a key that the server lists.
async fn vouches(url: &str, receipt: &v1::SealReceipt) -> bool {
    let client = Client::connect(url).await.expect("the server listens");
    let keys = server_keys(&client.server_info().await.expect("it is served"));
    let time = receipt.seal_time.expect("a time");
    let signed = Receipt {
        match_id: receipt.r#match.trim_start_matches("matches/").parse::<MatchId>().expect("an id"),
        turn: receipt.turn,
        seat: match v1::Seat::try_from(receipt.seat) {
            Ok(v1::Seat::White) => Seat::White,
            _ => Seat::Black,
        },
        commitment: Commitment::try_from(&receipt.commitment[..]).expect("32 bytes"),
        sealed_ms: (time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000).unsigned_abs(),
        key_id: receipt.key_id.as_str().into(),
    };
    let signature = Signature::try_from(&receipt.signature[..]).expect("64 bytes");
    let named = keys.iter().find(|key| key.id.as_str() == receipt.key_id);
    named.is_some_and(|key| verify_receipt(&signed, &signature, &key.public_key))
}

/// Prepare, restart, promote, restart: what was sealed and signed before goes on.
#[tokio::test]
async fn keys_rotate_under_a_live_match() {
    let data = Data::new();
    let (server, url) = data.serve();
    let name = begin(&url).await;
    let receipt = ann_seals(&url, &name).await;
    assert_eq!(receipt.key_id, data.key("signing", "in-use"));

    for role in ["signing", "box", "token"] {
        data.says(&["keys", "prepare", role]);
    }
    assert!(vouches(&url, &receipt).await, "a running server is not disturbed");
    drop(server);
    let (server, url) = data.serve();
    assert_eq!(ann_seals(&url, &name).await, receipt, "a prepared key is not used yet");

    for role in ["signing", "box", "token"] {
        data.says(&["keys", "promote", role, &data.key(role, "prepared")]);
    }
    drop(server);
    let (_server, url) = data.serve();
    assert!(vouches(&url, &receipt).await, "an old receipt is still verified");
    assert_eq!(ann_seals(&url, &name).await, receipt, "a repeated seal is signed as it was");
    assert_eq!(bob_seals(&url, &name).await, [cell("E5"), cell("D4")], "the sealed move is opened");
    let (ann, _) = player(&url, "ann").await;
    ann.resign(&name).await.expect("it goes on");
    let transcript = ann.transcript(&name).await.expect("it is over");
    assert_eq!(transcript.message().key_id, data.key("signing", "in-use"));
    let info = Client::connect(&url).await.expect("it listens").server_info().await.expect("it is served");
    transcript.verify_signed(&server_keys(&info)).expect("the new key's signature holds");
}

#[tokio::test]
async fn a_store_that_has_lost_its_keys_is_not_served() {
    let data = Data::new();
    let (server, url) = data.serve();
    let name = begin(&url).await;
    ann_seals(&url, &name).await;
    drop(server);
    let copy = data.path().join("copy");
    fs::rename(data.keys(), &copy).expect("moved away");

    data.refuses_to_serve(&[], &["has lost its keys", "Restore that file from a backup", "--new-keys"]);
    assert!(!data.keys().exists(), "no other keys seem to be theirs");

    fs::rename(&copy, data.keys()).expect("moved back");
    let (_server, url) = data.serve();
    assert_eq!(bob_seals(&url, &name).await, [cell("E5"), cell("D4")]);
}

#[tokio::test]
async fn with_new_keys_a_match_whose_sealed_move_is_lost_is_void_and_others_go_on() {
    let data = Data::new();
    let (server, url) = data.serve();
    let (lost, other) = (begin(&url).await, begin(&url).await);
    ann_seals(&url, &lost).await;
    drop(server);
    fs::remove_file(data.keys()).expect("removed");

    drop(data.serve_with(&["--new-keys"]));
    let (_server, url) = data.serve();
    let (ann, _) = player(&url, "ann").await;
    let finish = ann.open(&lost).await.expect("it is there").refresh().await.expect("it is there").finish;
    let finish = finish.expect("it is over");
    assert_eq!((finish.result(), finish.reason()), (v1::MatchResult::Void, v1::EndReason::Operator));
    let transcript = ann.transcript(&lost).await.expect("it is over");
    let info = Client::connect(&url).await.expect("it listens").server_info().await.expect("it is served");
    transcript.verify_signed(&server_keys(&info)).expect("it is whole without the move");
    ann_seals(&url, &other).await;
    assert_eq!(bob_seals(&url, &other).await, [cell("E5"), cell("D4")]);
    let found = data.wts(&["store", "check"]);
    assert!(text(&found).contains("in use by another process"));
}

#[tokio::test]
async fn new_keys_are_made_only_when_they_are_asked_for() {
    let data = Data::new();
    let (server, url) = data.serve();
    let name = begin(&url).await;
    drop(server);
    let lost = fs::read(data.keys()).expect("there are keys");
    data.refuses_to_serve(&["--new-keys"], &["the keys are there"]);

    fs::remove_file(data.keys()).expect("removed");
    drop(data.serve_with(&["--new-keys"]));
    assert_ne!(fs::read(data.keys()).expect("there are keys"), lost);
    assert_eq!(fs::metadata(data.keys()).expect("a file").permissions().mode() & 0o777, 0o600);
    let (_server, url) = data.serve();
    let receipt = ann_seals(&url, &name).await;
    assert!(vouches(&url, &receipt).await, "the match goes on under the new keys");
}

#[test]
fn the_first_start_makes_keys_unasked() {
    let data = Data::begun();
    assert!(data.keys().exists());
    drop(data.serve());
}

#[test]
fn the_list_tells_every_key_and_no_secret() {
    let data = Data::begun();
    let [old, new] = data.rotate("signing");
    data.says(&["keys", "prepare", "box"]);
    let list = data.says(&["keys", "list"]);
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["ROLE", "ID", "STATE", "FROM", "UNTIL", "PUBLIC", "KEY"]);
    let told: Vec<[&str; 2]> = lines[1..].iter().map(|line| [line[0], line[2]]).collect();
    let expected = [
        ["signing", "in-use"],
        ["signing", "ended"],
        ["box", "in-use"],
        ["box", "prepared"],
        ["token", "in-use"],
        ["request", "in-use"],
    ];
    assert_eq!(told, expected);
    assert_eq!((lines[1][1], lines[2][1]), (new.as_str(), old.as_str()));
    assert!(lines[1][3].ends_with('Z') && lines[1][4] == "-", "{list}");
    assert_eq!(lines[1][3], lines[2][4], "one begins when the other ends");
    assert_eq!(lines[1][5].len(), 64, "a public key");
    assert_eq!((lines[4][3], lines[4][4], lines[4][5]), ("-", "-", "-"));

    let json: Value = serde_json::from_str(&data.says(&["keys", "list", "--json"])).expect("JSON");
    assert_eq!(json["keys"][1]["id"], old.as_str());
    assert_eq!(json["keys"][1]["until_ms"], json["keys"][0]["from_ms"]);
    assert_eq!(json["keys"][0]["public_key"], lines[1][5]);
    assert_eq!(json["keys"][3]["from_ms"], Value::Null);
}

#[test]
fn a_change_says_what_to_do_next() {
    let data = Data::begun();
    let said = data.says(&["keys", "prepare", "box"]);
    let id = data.key("box", "prepared");
    assert!(said.contains(&format!("wts keys promote box {id}")) && said.contains("restart it"), "{said}");
    let said = data.says(&["keys", "promote", "box", &id]);
    assert!(said.contains("still opens") && said.contains("restart it"), "{said}");
    assert_eq!(fs::metadata(data.keys()).expect("a file").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_key_goes_only_if_it_is_not_in_use_and_its_loss_is_accepted() {
    let data = Data::begun();
    let in_use = data.key("box", "in-use");
    data.refuses(&["keys", "retire", "box", &in_use, "--accept-loss"], &["is in use"]);
    data.refuses(&["keys", "retire", "box", "b-other"], &["there is no box key b-other"]);
    data.refuses(&["keys", "promote", "box", &in_use], &["waits to be used"]);
    for (role, lost) in [("signing", "receipts"), ("box", "does not start"), ("token", "tokens")] {
        let [old, _] = data.rotate(role);
        data.refuses(&["keys", "retire", role, &old], &[lost, "--accept-loss", "keep a copy"]);
        let said = data.says(&["keys", "retire", role, &old, "--accept-loss"]);
        assert_eq!(said.contains(&format!("{old}=")), role == "signing", "a public key outlives it: {said}");
        assert!(!data.says(&["keys", "list"]).contains(&old));
    }
    data.says(&["keys", "prepare", "token"]);
    data.says(&["keys", "retire", "token", &data.key("token", "prepared")]);
    drop(data.serve());
}

/// The key that a move is sealed under is named, and a copy of the file brings the match back.
#[tokio::test]
async fn a_key_that_was_retired_too_early_is_named() {
    let data = Data::new();
    let (server, url) = data.serve();
    let name = begin(&url).await;
    ann_seals(&url, &name).await;
    drop(server);
    let [old, _] = data.rotate("box");
    let copy = data.path().join("copy");
    fs::copy(data.keys(), &copy).expect("copied");
    data.says(&["keys", "retire", "box", &old, "--accept-loss"]);

    data.refuses_to_serve(
        &[],
        &["a sealed move of match", &format!("needs the key {old}, which is not among")],
    );
    fs::rename(&copy, data.keys()).expect("moved back");
    let (_server, url) = data.serve();
    assert_eq!(bob_seals(&url, &name).await, [cell("E5"), cell("D4")]);
}

#[test]
fn what_is_no_safe_file_of_keys_is_refused() {
    let tasks: [&[&str]; 4] = [
        &["keys", "list"],
        &["keys", "prepare", "box"],
        &["keys", "promote", "box", "b-1"],
        &["keys", "retire", "box", "b-1"],
    ];
    let data = Data::begun();
    let whole = fs::read(data.keys()).expect("there are keys");
    fs::set_permissions(data.keys(), fs::Permissions::from_mode(0o644)).expect("its mode is set");
    tasks.iter().for_each(|task| data.refuses(task, &["can be read by others", "chmod 600"]));
    fs::set_permissions(data.keys(), fs::Permissions::from_mode(0o600)).expect("its mode is set");

    fs::write(data.keys(), &whole[..whole.len() - 10]).expect("written");
    tasks.iter().for_each(|task| data.refuses(task, &["the secret is not 64 hexadecimal digits"]));
    data.refuses_to_serve(&[], &["the secret is not 64 hexadecimal digits"]);

    fs::remove_file(data.keys()).expect("removed");
    tasks.iter().for_each(|task| data.refuses(task, &["there are no keys", "from a backup"]));
    assert!(!data.keys().exists());
}

#[test]
fn a_backup_says_that_the_keys_are_not_in_it() {
    let data = Data::begun();
    let file = data.path().join("backup");
    let said = data.says(&["store", "backup", file.to_str().expect("a path of text")]);
    let keys = data.keys();
    assert!(said.contains(&format!("keep a copy of {} too", keys.display())), "{said}");
    let copy = fs::read(&file).expect("a backup");
    for secret in data.secrets() {
        assert!(!copy.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));
    }
}
