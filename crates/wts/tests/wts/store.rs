//! `wts store`: what an operator does with the directory of a server, command by command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tempfile::TempDir;
use tokio::task::JoinHandle;
use whattheshell::{Client, Error, MatchHandle, v1};

use super::server::Server;

/// Where a backup says its format: after what it begins with.
const BACKUP_FORMAT_AT: std::ops::Range<usize> = 16..20;

/// A folder with the directories and files of one test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `wts store` on one of the directories.
    fn store(&self, data: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wts"));
        let command = command.arg("store").args(arguments).arg("--data").arg(self.path(data));
        command.current_dir(self.0.path()).output().expect("wts runs")
    }

    /// The same where it must succeed; what it says.
    fn stored(&self, data: &str, arguments: &[&str]) -> String {
        let output = self.store(data, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The same where it must be refused; why.
    fn refused(&self, data: &str, arguments: &[&str]) -> String {
        let output = self.store(data, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stdout));
        text(&output.stderr)
    }

    /// What `wts store check --json` counts under this name.
    fn checked(&self, data: &str, counted: &str) -> u64 {
        let found = self.stored(data, &["check", "--json"]);
        let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
        assert_eq!(found["problem_count"], 0, "{found}");
        found[counted].as_u64().unwrap_or_else(|| panic!("{counted} is counted: {found}"))
    }

    fn copy_keys(&self, from: &str, to: &str) {
        std::fs::copy(self.path(from).join("keys"), self.path(to).join("keys")).expect("there are keys");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A new match of two players, black first.
async fn met(client: &Client, number: u32) -> Result<[MatchHandle; 2], Error> {
    let invitee = format!("players/white-{number}");
    let black = client.player(&client.mint_token(&format!("players/black-{number}")).await?.token)?;
    let white = client.player(&client.mint_token(&invitee).await?.token)?;
    let inviter_seat = v1::Seat::Black.into();
    let request = v1::CreateInviteRequest { invitee, inviter_seat, ..Default::default() };
    let invite = black.invite(request).await?.invite.unwrap_or_default();
    let name = white.accept_invite(&invite.name, None).await?.r#match;
    Ok([black.join(&name).await?, white.join(&name).await?])
}

/// Both play the turn that is open: the first legal cell and the last one.
async fn turn([black, white]: &[MatchHandle; 2]) -> Result<v1::Match, Error> {
    let turn = black.refresh().await?.turn + 1;
    let mut cells = black.position().legal_cells();
    let (first, last) = (cells.next().expect("a cell is empty"), cells.last().expect("as is another"));
    black.seal(turn, first).await?;
    white.seal(turn, last).await?;
    black.refresh().await
}

async fn connected(server: &Server) -> Client {
    Client::connect(&server.url()).await.expect("the server listens")
}

/// A player's seat in a match that is there already.
async fn seated(client: &Client, player: &str, game: &str) -> MatchHandle {
    let token = client.mint_token(player).await.expect("a token").token;
    client.player(&token).expect("a token").open(game).await.expect("the match is there")
}

/// Players who play one match after the other until they are told to stop.
struct Play {
    turns: Arc<AtomicU32>,
    stopping: Arc<AtomicBool>,
    pairs: Vec<JoinHandle<Result<(), Error>>>,
}

impl Play {
    fn begin(client: &Client, pairs: std::ops::Range<u32>) -> Self {
        let (turns, stopping) = (Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
        let pair = |number| {
            let (client, turns, stopping) = (client.clone(), Arc::clone(&turns), Arc::clone(&stopping));
            tokio::spawn(async move {
                let mut game = met(&client, number).await?;
                while !stopping.load(Ordering::Relaxed) {
                    if turn(&game).await?.finish.is_some() {
                        game = met(&client, number).await?;
                    }
                    turns.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let pairs = pairs.map(pair).collect();
        Self { turns, stopping, pairs }
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Waits until they have played more turns than that.
    async fn beyond(&self, turns: u32) {
        while self.turns() <= turns {
            assert!(self.pairs.iter().all(|pair| !pair.is_finished()), "they play on");
            tokio::task::yield_now().await;
        }
    }

    async fn end(self) {
        self.stopping.store(true, Ordering::Relaxed);
        for pair in self.pairs {
            pair.await.expect("no player panics").expect("no call fails");
        }
    }
}

/// A store with a match in which turn 1 is resolved and black has sealed in turn 2; its name.
async fn begun(folder: &Folder, data: &str) -> String {
    let mut server = Server::start(&folder.path(data));
    let game = met(&connected(&server).await, 0).await.expect("a match");
    turn(&game).await.expect("a turn");
    let cell = game[0].position().legal_cells().next().expect("a cell is empty");
    game[0].seal(2, cell).await.expect("it is legal");
    server.terminate();
    assert_eq!(server.end().0.code(), Some(0));
    game[0].name().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_taken_under_play_is_served_elsewhere_and_its_matches_go_on() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"));
    let client = connected(&server).await;
    let game = met(&client, 0).await.expect("a match");
    let before = turn(&game).await.expect("a turn");
    let cell = game[0].position().legal_cells().next().expect("a cell is empty");
    let receipt = game[0].seal(2, cell).await.expect("it is legal");

    let play = Play::begin(&client, 1..5);
    play.beyond(8).await;
    let played = play.turns();
    folder.stored("data", &["backup", "copy"]);
    play.beyond(play.turns()).await;
    play.end().await;
    drop(server);

    let said = folder.stored("other", &["restore", "copy"]);
    assert!(said.contains("before you serve it, copy the keys"), "{said}");
    folder.copy_keys("data", "other");
    let turns = folder.checked("other", "turns");
    assert!(turns > u64::from(played), "{turns} turns, and {played} and one were played before the backup");

    let server = Server::start(&folder.path("other"));
    let client = connected(&server).await;
    let black = seated(&client, "players/black-0", before.name.as_str()).await;
    let white = seated(&client, "players/white-0", before.name.as_str()).await;
    let seen = black.refresh().await.expect("the match is there");
    assert_eq!((seen.turn, &seen.hash), (1, &before.hash));
    let own = seen.status.and_then(|status| status.own_seal).expect("black has sealed");
    assert_eq!((own.commitment, own.cell), (receipt.commitment, Some(u32::from(cell.number()))));
    let other = white.position().legal_cells().last().expect("a cell is empty");
    white.seal(2, other).await.expect("it is legal");
    let after = turn(&[black, white]).await.expect("the match goes on");
    assert_eq!(after.turn, 3);
    let new = met(&client, 9).await.expect("a new match");
    assert_eq!(turn(&new).await.expect("a turn").turn, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_says_what_is_there_and_needs_the_directory_for_itself() {
    let folder = Folder::new();
    begun(&folder, "data").await;
    assert_eq!((folder.checked("data", "live"), folder.checked("data", "turns")), (1, 1));
    let said = folder.stored("data", &["check"]);
    assert!(said.contains("live matches       1\n") && said.contains("problems           0\n"), "{said}");
    let _server = Server::start(&folder.path("data"));
    let why = folder.refused("data", &["check"]);
    assert!(why.contains("in use by another process"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_a_changed_byte_and_names_a_match_that_it_cannot_open() {
    let folder = Folder::new();
    let name = begun(&folder, "data").await;
    begun(&folder, "stranger").await;
    folder.stored("data", &["backup", "copy"]);
    folder.stored("other", &["restore", "copy"]);
    folder.copy_keys("stranger", "other");
    let found = folder.store("other", &["check", "--json"]);
    assert_eq!(found.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let id = name.trim_start_matches("matches/");
    assert_eq!(found["problem_count"], 1, "{found}");
    assert!(found["problems"][0].as_str().is_some_and(|problem| problem.contains(id)), "{found}");

    change_a_byte(&folder.path("data"), b"players/white-0");
    let why = folder.refused("data", &["check"]);
    assert!(why.contains("the store is damaged"), "{why}");
    let mut serve = Command::new(env!("CARGO_BIN_EXE_wts"));
    let serve = serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path("data"));
    let refused = serve.output().expect("wts runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("`wts store restore` brings a backup back"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_was_cut_after_a_clean_end_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    begun(&folder, "data").await;
    let journal = folder.path("data").join("engine/0.jnl");
    let whole = std::fs::read(&journal).expect("a journal");
    std::fs::write(&journal, &whole[..whole.len() / 2]).expect("a file can be written");
    let mut serve = Command::new(env!("CARGO_BIN_EXE_wts"));
    let serve = serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path("data"));
    let serve = text(&serve.output().expect("wts runs").stderr);
    for why in [serve, folder.refused("data", &["check"]), folder.refused("data", &["backup", "copy"])] {
        assert!(why.contains("is not what it was when the store was closed"), "{why}");
        assert!(why.contains("`wts store restore` brings a backup back"), "{why}");
    }
    assert_eq!(std::fs::read(&journal).expect("a journal"), whole[..whole.len() / 2]);
    std::fs::write(&journal, &whole).expect("a file can be written");
    assert_eq!((folder.checked("data", "live"), folder.checked("data", "turns")), (1, 1));
}

/// Changes one letter of this text wherever it stands in a file of a store.
fn change_a_byte(directory: &Path, wanted: &[u8]) {
    let mut changed = 0;
    for entry in std::fs::read_dir(directory.join("engine")).expect("a store") {
        let path = entry.expect("an entry").path();
        let Ok(mut bytes) = std::fs::read(&path) else { continue };
        let Some(at) = bytes.windows(wanted.len()).position(|window| window == wanted) else { continue };
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).expect("a file can be written");
        changed += 1;
    }
    assert!(changed > 0, "the text is in no file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_takes_no_directory_that_is_in_use_or_has_a_store() {
    let folder = Folder::new();
    let name = begun(&folder, "data").await;
    folder.stored("data", &["backup", "copy"]);
    let why = folder.refused("data", &["backup", "copy"]);
    assert!(why.contains("copy exists"), "{why}");
    let why = folder.refused("data", &["restore", "copy"]);
    assert!(why.contains("has a store already"), "{why}");

    let server = Server::start(&folder.path("data"));
    let why = folder.refused("data", &["restore", "copy"]);
    assert!(why.contains("in use by another process"), "{why}");
    let game = seated(&connected(&server).await, "players/black-0", &name).await;
    assert_eq!(game.refresh().await.expect("nothing was touched").turn, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_damaged_or_not_whole_leaves_nothing_behind() {
    let folder = Folder::new();
    begun(&folder, "data").await;
    folder.stored("data", &["backup", "copy"]);
    let whole = std::fs::read(folder.path("copy")).expect("a file");
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for (damaged, expected) in [(&changed[..], "damaged"), (&whole[..whole.len() - 1], "not whole")] {
        std::fs::write(folder.path("damaged"), damaged).expect("a file can be written");
        let why = folder.refused("other", &["restore", "damaged"]);
        assert!(why.contains(expected), "{why}");
        let why = folder.refused("other", &["check"]);
        assert!(!why.is_empty(), "there is no store");
    }
    folder.stored("other", &["restore", "copy"]);
    folder.copy_keys("data", "other");
    assert_eq!(folder.checked("other", "live"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_program_wrote_is_refused_by_every_command() {
    let folder = Folder::new();
    begun(&folder, "data").await;
    folder.stored("data", &["backup", "copy"]);
    let mut newer = std::fs::read(folder.path("copy")).expect("a file");
    newer[BACKUP_FORMAT_AT].copy_from_slice(&4_u32.to_be_bytes());
    std::fs::write(folder.path("newer"), newer).expect("a file can be written");
    let why = folder.refused("other", &["restore", "newer"]);
    assert!(why.contains("format 4") && why.contains("use the newer one"), "{why}");

    let format = folder.path("data").join("format");
    let ours = std::fs::read(&format).expect("a file");
    std::fs::write(&format, "4\n").expect("a file can be written");
    let mut serve = Command::new(env!("CARGO_BIN_EXE_wts"));
    let serve = serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path("data"));
    let serve = text(&serve.output().expect("wts runs").stderr);
    for why in [serve, folder.refused("data", &["check"]), folder.refused("data", &["backup", "again"])] {
        assert!(why.contains("format 4") && why.contains("use the newer program"), "{why}");
    }
    std::fs::write(&format, ours).expect("a file can be written");
    assert_eq!(folder.checked("data", "live"), 1, "nothing was changed");
}
