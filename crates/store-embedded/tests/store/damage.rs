//! A journal that is not as it was written: what a crash leaves is mended, what is damaged is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use referee::Settings;
use rules::Seat;
use store::{Invite, InviteId, InviteStore as _, MatchStore as _, Shard};
use store_embedded::{EmbeddedStore, OpenError, backup, check};
use tempfile::TempDir;

use crate::game;
use crate::place;

/// What ends a batch in the journal.
const TRAILER: &[u8] = b"FJL\x03";

/// What a disk writes as a whole, bytes.
const SECTOR: usize = 512;

async fn invite(store: &EmbeddedStore, number: u8, inviter: &str) {
    let (_, now) = match store.create_invite(new_invite(number, inviter)).await {
        Ok(invite) => store.invite(invite.id).await.expect("it is there"),
        Err(error) => panic!("an invite can be made: {error}"),
    };
    assert_eq!(now.as_ms(), place::START_MS);
}

fn new_invite(number: u8, inviter: &str) -> Invite {
    let now = referee::Stamp::from_ms(place::START_MS);
    Invite {
        id: InviteId::from_bytes([number; 16]),
        inviter: inviter.to_owned(),
        inviter_key: None,
        invitee: Some(game::WHITE.to_owned()),
        secret_hash: None,
        settings: Settings::default(),
        inviter_seat: Some(Seat::Black),
        rematch_of: None,
        created: now,
        expires: now.plus_ms(60_000),
        closing: None,
    }
}

/// The only file of a store's journal.
fn journal(directory: &Path) -> PathBuf {
    let entries = std::fs::read_dir(directory.join("engine")).expect("there is a store");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut journals = paths.filter(|path| path.extension().is_some_and(|extension| extension == "jnl"));
    let only = journals.next().expect("there is a journal");
    assert_eq!(journals.next(), None);
    only
}

/// Where each batch of a journal ends.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let starts = bytes.windows(TRAILER.len()).enumerate().filter(|(_, window)| *window == TRAILER);
    starts.map(|(at, _)| at + TRAILER.len()).collect()
}

/// Changes the journal of a store that is closed.
fn change(directory: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let path = journal(directory);
    let mut bytes = std::fs::read(&path).expect("it can be read");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("it can be written");
}

/// A store as `kill -9` leaves it at this moment, in a directory of its own.
fn killed(directory: &Path) -> TempDir {
    let copy = place::directory();
    copy_all(directory, copy.path());
    copy
}

fn copy_all(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let to = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            std::fs::create_dir(&to).expect("it can be made");
            copy_all(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("it can be copied");
        }
    }
}

/// All files below a directory, with what is in them.
fn content(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(content(&path));
        } else {
            let bytes = std::fs::read(&path).expect("it can be read");
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

/// Neither a start nor a check nor a backup takes the store, and none of them changes it.
#[track_caller]
fn is_refused(directory: &Path) {
    let before = content(directory);
    let errors = [
        place::try_open(directory, &place::clock()).expect_err("it is damaged"),
        check(directory, &place::keyring()).expect_err("it is damaged"),
        match backup(directory, &mut Vec::new()).expect_err("it is damaged") {
            store_embedded::BackupError::Store(error) => error,
            other => panic!("{other}"),
        },
    ];
    for error in errors {
        assert!(matches!(error, OpenError::Damaged(_)), "{error}");
        assert!(error.to_string().contains("`wts store restore` brings a backup back"), "{error}");
    }
    assert!(content(directory) == before, "it is as it was");
}

fn invites(directory: &Path) -> u64 {
    let found = check(directory, &place::keyring()).expect("it can be checked");
    assert_eq!(found.problems, Vec::<String>::new());
    found.invites
}

/// A store with this many invites, closed.
async fn closed(count: u8) -> TempDir {
    let directory = place::directory();
    let store = place::open(directory.path(), &place::clock());
    for number in 1..=count {
        invite(&store, number, game::BLACK).await;
    }
    drop(store);
    directory
}

#[tokio::test]
async fn a_check_and_a_backup_change_nothing() {
    let directory = closed(4).await;
    let before = content(directory.path());
    assert_eq!(invites(directory.path()), 4);
    backup(directory.path(), &mut Vec::new()).expect("a backup can be taken");
    assert!(content(directory.path()) == before);
}

#[tokio::test]
async fn any_changed_byte_of_a_journal_that_was_closed_is_found() {
    let directory = closed(4).await;
    let whole = std::fs::read(journal(directory.path())).expect("it can be read");
    for at in (0..whole.len()).step_by(23) {
        change(directory.path(), |bytes| bytes[at] ^= 0x10);
        is_refused(directory.path());
        change(directory.path(), |bytes| bytes.clone_from(&whole));
    }
    assert_eq!(invites(directory.path()), 4);
}

#[tokio::test]
async fn a_journal_that_was_cut_or_lost_after_a_close_is_found() {
    let directory = closed(4).await;
    let whole = std::fs::read(journal(directory.path())).expect("it can be read");
    for length in [0, 1, whole.len() - 1, ends(&whole)[1]] {
        change(directory.path(), |bytes| bytes.truncate(length));
        is_refused(directory.path());
        change(directory.path(), |bytes| bytes.clone_from(&whole));
    }
    std::fs::remove_file(journal(directory.path())).expect("it can be removed");
    is_refused(directory.path());
}

#[tokio::test]
async fn damage_before_the_last_change_is_found_after_a_crash() {
    let directory = place::directory();
    let store = place::open(directory.path(), &place::clock());
    for number in 1..=4 {
        invite(&store, number, game::BLACK).await;
    }
    let copy = killed(directory.path());
    let whole = std::fs::read(journal(copy.path())).expect("it can be read");
    let ends = ends(&whole);
    let before_last = ends[ends.len() - 3];
    for at in (0..before_last).step_by(23) {
        change(copy.path(), |bytes| bytes[at] ^= 0x10);
        is_refused(copy.path());
        change(copy.path(), |bytes| bytes.clone_from(&whole));
    }
    place::open(copy.path(), &place::clock());
    assert_eq!(invites(copy.path()), 4);
}

#[tokio::test]
async fn whatever_a_crash_leaves_of_the_last_change_is_mended() {
    let directory = place::directory();
    let store = place::open(directory.path(), &place::clock());
    // A record long enough that a part of one value can be missing.
    invite(&store, 1, game::BLACK).await;
    invite(&store, 2, &"a".repeat(3 * SECTOR)).await;
    let copy = killed(directory.path());
    drop(store);
    let whole = std::fs::read(journal(copy.path())).expect("it can be read");
    let ends = ends(&whole);
    let (begin, end) = (ends[ends.len() - 2], ends[ends.len() - 1]);
    let mut left = Vec::new();
    for cut in (begin..end).step_by(101) {
        left.push(whole[..cut].to_vec());
    }
    for hole in (begin..end - 1).step_by(128) {
        let mut bytes = whole.clone();
        let until = (hole + SECTOR).min(end - 1);
        bytes[hole..until].fill(0);
        left.push(bytes);
    }
    for bytes in left {
        let copy = killed(copy.path());
        std::fs::write(journal(copy.path()), &bytes).expect("it can be written");
        assert_eq!(invites(copy.path()), 1, "the check does as a start would");
        let store = place::open(copy.path(), &place::clock());
        invite(&store, 3, game::BLACK).await;
        drop(store);
        assert_eq!(invites(copy.path()), 2);
    }
}

/// Clocks that are written while nothing else happens have no sync of their own: the system may write them
/// in any order, and the change that follows them before them.
#[tokio::test]
async fn torn_clocks_before_the_last_change_are_mended() {
    let (directory, clock) = (place::directory(), place::clock());
    let store = Arc::new(place::open(directory.path(), &clock));
    invite(&store, 1, game::BLACK).await;
    let before = std::fs::read(journal(directory.path())).expect("it can be read").len();
    let mut after = before;
    while after == before {
        // They are written once the last ones are a second old.
        clock.advance_ms(100);
        store.touch(Shard(0)).await.expect("it answers");
        tokio::task::yield_now().await;
        after = std::fs::read(journal(directory.path())).expect("it can be read").len();
    }
    invite_later(&store, 2).await;
    let copy = killed(directory.path());
    drop(store);
    change(copy.path(), |bytes| bytes[before..after].fill(0));
    place::open(copy.path(), &place::clock());
    assert_eq!(invites(copy.path()), 1);
}

async fn invite_later(store: &EmbeddedStore, number: u8) {
    store.create_invite(new_invite(number, game::BLACK)).await.expect("an invite can be made");
}
