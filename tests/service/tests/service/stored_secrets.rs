//! F1 and D1, at rest: until a turn resolves, its salts are in no file, in no form, and neither is the
//! message that carries a move; and if it never does, not afterwards either. What is searched is all that
//! there is: the journal, the sorted files, what is left after a compaction, and a backup.
//!
//! A cell alone is one byte, which no search can tell from others. It is at rest only inside of a box
//! (`sealing::SealBox`): AES-256-GCM under a key that is not in the directory's engine, over the cell's number
//! (one byte, 1 to 81) and the salt (32), whatever they are, with a random nonce and a tag. So its bytes are
//! indistinguishable from random ones, and what is left to tell cells apart is the length: 61 bytes always,
//! and nothing else in a head grows with the cell. That every head has the same length for all 81 cells is
//! what a test shows here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fjall::KeyspaceCreateOptions;
use rules::{Cell, Seat};
use service_tests::{Cluster, Duel, Keeping, Setup, cell};
use wire::v1::{self, SealStatus};

use super::marked::{self, Values};
use super::reveals;

async fn cluster() -> Cluster {
    Cluster::start(Setup { keeping: Keeping::Directory, ..Setup::default() }).await
}

/// Where the marked move is, and in what form.
fn found(cluster: &Cluster) -> Vec<(PathBuf, &'static str)> {
    let files = cluster.files();
    assert!(files.iter().any(|(_, bytes)| bytes.len() > 1_000), "the store is somewhere else");
    let found = files.into_iter().filter_map(|(path, bytes)| Some((path, marked::move_in(&bytes)?)));
    found.collect()
}

/// Has the engine write all that it holds in memory to sorted files, and merge those. Nobody has the store
/// open.
fn compact(cluster: &Cluster) {
    let engine = cluster.directory().join("engine");
    let database = fjall::Database::builder(engine).open().unwrap();
    for name in database.list_keyspace_names() {
        let space = database.keyspace(&name, KeyspaceCreateOptions::default).unwrap();
        space.rotate_memtable_and_wait().unwrap();
        space.major_compact().unwrap();
    }
}

/// A backup of the store, which nobody has open.
fn backup(cluster: &Cluster) -> Vec<u8> {
    let mut bytes = Vec::new();
    store_embedded::backup(cluster.directory(), &mut bytes).unwrap();
    bytes
}

/// Looks while the store is open, while it is closed, after a compaction, in a backup, and after it was
/// opened once more.
async fn assert_in_no_file(cluster: &mut Cluster) {
    assert_eq!(found(cluster), []);
    cluster.stop().await;
    assert_eq!(found(cluster), [], "the store is closed");
    compact(cluster);
    assert_eq!(found(cluster), [], "the files are sorted");
    assert_eq!(cluster.checked().problems, Vec::<String>::new());
    assert_eq!(marked::move_in(&backup(cluster)), None, "a backup shows it");
    cluster.resume().await;
    assert_eq!(found(cluster), [], "the store was opened again");
}

/// The same search finds a move that is public: in the journal, in sorted files, and in a backup.
async fn assert_found_everywhere(cluster: &mut Cluster) {
    let is_journal = |path: &Path| path.extension().is_some_and(|extension| extension == "jnl");
    let in_journal = found(cluster);
    assert!(in_journal.iter().any(|(path, _)| is_journal(path)), "{in_journal:?}");
    cluster.stop().await;
    compact(cluster);
    let in_files = found(cluster);
    assert!(in_files.iter().any(|(path, _)| !is_journal(path)), "{in_files:?}");
    assert!(marked::move_in(&backup(cluster)).is_some());
}

/// Black's marked move is sealed in turn 1.
async fn sealed(cluster: &Cluster, seal_status: SealStatus) -> Duel {
    let settings = v1::MatchSettings { seal_status: seal_status.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    let mut request = duel.seal_request(Seat::Black, 1, marked::CELL);
    request.r#move = Some(v1::seal_move_request::Move::Open(marked::open()));
    duel.send_seal(Seat::Black, request.clone()).await.unwrap();
    let another = v1::SealMoveRequest { request_id: "another".to_owned(), ..request };
    duel.send_seal(Seat::Black, another).await.expect_err("a seal is final");
    duel
}

async fn a_seal_is_in_no_file_until_its_turn_resolves(seal_status: SealStatus) {
    let mut cluster = cluster().await;
    let duel = sealed(&cluster, seal_status).await;
    assert_in_no_file(&mut cluster).await;

    // What was read back from the files is as secret.
    let duel = duel.reconnected(&cluster).await;
    let seen = prost::Message::encode_to_vec(&duel.seen_by(Seat::White).await);
    assert_eq!(marked::salt_in(&seen), None);
    assert!(!Values::of("whattheshell.v1.Match", &seen).have_cell());

    duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    assert_eq!(duel.seen_by(Seat::White).await.turn, 1);
    assert_found_everywhere(&mut cluster).await;
}

#[tokio::test]
async fn a_visible_seal_is_in_no_file_until_its_turn_resolves() {
    a_seal_is_in_no_file_until_its_turn_resolves(SealStatus::Visible).await;
}

#[tokio::test]
async fn a_hidden_seal_is_in_no_file_until_its_turn_resolves() {
    a_seal_is_in_no_file_until_its_turn_resolves(SealStatus::Hidden).await;
}

async fn a_first_reveal_is_in_no_file(seal_status: SealStatus) {
    let mut cluster = cluster().await;
    let settings = v1::MatchSettings { seal_status: seal_status.into(), ..reveals::settings() };
    let duel = cluster.duel(settings).await;
    let white = v1::OpenMove { cell: cell("A1"), salt: vec![1; 32] };
    reveals::commit(&duel, Seat::Black, &marked::open()).await;
    reveals::commit(&duel, Seat::White, &white).await;
    reveals::reveal(&duel, Seat::Black, &marked::open()).await.unwrap();
    assert_in_no_file(&mut cluster).await;

    let duel = duel.reconnected(&cluster).await;
    reveals::reveal(&duel, Seat::White, &white).await.unwrap();
    assert_eq!(duel.seen_by(Seat::White).await.turn, 1);
    assert_found_everywhere(&mut cluster).await;
}

#[tokio::test]
async fn a_first_reveal_is_in_no_file_until_the_second() {
    a_first_reveal_is_in_no_file(SealStatus::Visible).await;
}

#[tokio::test]
async fn a_first_reveal_of_a_hidden_seal_is_in_no_file_until_the_second() {
    a_first_reveal_is_in_no_file(SealStatus::Hidden).await;
}

#[tokio::test]
async fn a_seal_that_never_resolves_is_in_no_file_afterwards() {
    let mut cluster = cluster().await;
    let duel = sealed(&cluster, SealStatus::Visible).await;
    cluster.ended(&duel.name).await;
    cluster.settled(&duel.name).await;
    assert_in_no_file(&mut cluster).await;
}

// Without this, the search could be blind to a form in which a move leaks.
#[tokio::test]
async fn the_search_finds_a_move_that_is_planted_in_any_form() {
    let cluster = cluster().await;
    let planted = cluster.directory().join("engine").join("planted");
    for (form, bytes) in marked::forms_of_the_move() {
        let mut content = vec![0xa5; 2_000];
        content.splice(1_000..1_000, bytes);
        std::fs::write(&planted, content).unwrap();
        assert_eq!(found(&cluster), [(planted.clone(), form)]);
    }
    std::fs::remove_file(planted).unwrap();
    assert_eq!(found(&cluster), []);
}

/// The lengths of all heads of live matches in a backup: a space's place (one byte), the lengths of key and
/// value (u32 each), key and value make an entry.
fn lengths_of_live_heads(backup: &[u8]) -> Vec<usize> {
    const HEADER_BYTES: usize = 20;
    const LIVE: u8 = 1;
    const END: u8 = 0xff;
    let mut lengths = Vec::new();
    let mut rest = &backup[HEADER_BYTES..];
    while let Some((&space, after)) = rest.split_first().filter(|(space, _)| **space != END) {
        let length = |at: usize| u32::from_be_bytes(after[at..at + 4].try_into().unwrap()) as usize;
        if space == LIVE {
            lengths.push(length(4));
        }
        rest = &after[8 + length(0) + length(4)..];
    }
    lengths
}

#[tokio::test]
async fn what_is_stored_of_a_seal_has_one_length_for_all_cells() {
    let mut cluster = cluster().await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    for cell in Cell::all() {
        let duel = Duel::agree(&ada, &bo, v1::MatchSettings::default()).await;
        duel.join().await;
        duel.seal(Seat::Black, 1, u32::from(cell.number())).await.unwrap();
        cluster.settled(&duel.name).await;
    }
    cluster.stop().await;
    let lengths = lengths_of_live_heads(&backup(&cluster));
    assert_eq!(lengths.len(), 81);
    assert_eq!(lengths.iter().collect::<BTreeSet<_>>().len(), 1, "{lengths:?}");
}
