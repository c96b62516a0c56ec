//! Backups, and what a check says of a store.

use std::path::{Path, PathBuf};

use rules::Seat;
use store::{PoolCursor, TicketStore as _};
use store_embedded::{BackupError, Checked, OpenError, backup, check, restore};

use crate::{game, place, players, queue};

/// Two live matches, one of them unresolved, and one that is over. Three tickets, two of them matched, and what is
/// kept of players.
async fn fill(path: &Path) {
    let store = place::open(path, &place::clock());
    game::played(&store, game::id(1), 3).await;
    game::act(&store, game::id(1), game::seal(Seat::Black, 4)).await;
    game::start(&store, game::id(2)).await;
    game::finished(&store, game::id(3), 20).await;
    players::fill(&store).await;
    for number in 1..=3 {
        queue::enqueue(&store, number).await;
    }
    queue::claim(&store, &queue::paired(9, 1, 2), &[1, 2]).await;
}

fn checked(path: &Path) -> Checked {
    check(path, &place::keyring()).expect("a store can be checked")
}

#[tokio::test]
async fn a_check_reads_everything_and_finds_nothing_wrong() {
    let directory = place::directory();
    fill(directory.path()).await;
    let found = checked(directory.path());
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!((found.live, found.finished, found.turns, found.listed), (2, 1, 23, 6));
    assert_eq!((found.tickets, found.owed, found.reservations), (3, 1, 2));
    assert_eq!((found.records, found.ranked), (1, 2));
}

#[tokio::test]
async fn a_backup_brings_everything_back() {
    let (directory, other) = (place::directory(), place::directory());
    fill(directory.path()).await;
    let mut bytes = Vec::new();
    let entries = backup(directory.path(), &mut bytes).expect("a backup can be taken");
    assert_eq!(restore(other.path(), &mut &bytes[..]).expect("it can be brought back"), entries);
    assert_eq!(checked(other.path()), checked(directory.path()));
    let (clock, id) = (place::clock(), game::id(1));
    let (one, two) = (place::open(directory.path(), &clock), place::open(other.path(), &clock));
    assert_eq!(game::load(&one, id).await, game::load(&two, id).await);
    game::act(&two, id, game::seal(Seat::White, 4)).await;
    assert_eq!(game::turns(&two, id).await, game::all_turns(4));
    let (first, pool) = (PoolCursor::default(), queue::pool());
    assert_eq!(two.pool(&pool, first).await, one.pool(&pool, first).await);
    assert_eq!(two.ticket(&queue::name(1)).await, one.ticket(&queue::name(1)).await);
    players::stands(&two, 0).await;
}

#[tokio::test]
async fn a_backup_of_a_store_in_use_is_of_one_moment() {
    let (directory, other, clock) = (place::directory(), place::directory(), place::clock());
    let store = game::shared(place::open(directory.path(), &clock));
    for number in 1..=8 {
        game::start(&store, game::id(number)).await;
    }
    let playing = {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move {
            for turn in 1..=30 {
                for number in 1..=8 {
                    game::act(&store, game::id(number), game::seal(Seat::Black, turn)).await;
                    game::act(&store, game::id(number), game::seal(Seat::White, turn)).await;
                }
            }
        })
    };
    let mut copies = Vec::new();
    while !playing.is_finished() {
        let mut bytes = Vec::new();
        store.backup(&mut bytes).expect("a backup can be taken");
        copies.push(bytes);
        tokio::task::yield_now().await;
    }
    playing.await.expect("the players do not panic");
    for bytes in copies.iter().step_by(copies.len().div_ceil(8)) {
        let path = other.path().join(format!("{}", bytes.len()));
        if path.exists() {
            continue;
        }
        restore(&path, &mut &bytes[..]).expect("it can be brought back");
        assert_eq!(checked(&path).problems, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_damaged_backup_leaves_nothing_behind() {
    let directory = place::directory();
    fill(directory.path()).await;
    let mut bytes = Vec::new();
    backup(directory.path(), &mut bytes).expect("a backup can be taken");
    let other = place::directory();
    let path = other.path().join("store");
    for cut in [0, 5, 20, 21, 200, bytes.len() - 1] {
        let error = restore(&path, &mut &bytes[..cut]).expect_err("it is not whole");
        assert!(matches!(error, BackupError::Unfinished { .. }), "{cut}: {error}");
    }
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        restore(&path, &mut &damaged[..]).expect_err("a changed byte is found");
    }
    restore(&path, &mut &bytes[..]).expect("the directory is still free");
    let error = restore(&path, &mut &bytes[..]).expect_err("now it is not");
    assert!(matches!(error, BackupError::Store(OpenError::Occupied { .. })), "{error}");
}

#[tokio::test]
async fn no_file_and_no_backup_shows_an_unresolved_move() {
    let directory = place::directory();
    let store = place::open(directory.path(), &place::clock());
    game::start(&store, game::id(1)).await;
    game::act(&store, game::id(1), game::seal(Seat::Black, 1)).await;
    drop(store);
    let mut bytes = Vec::new();
    backup(directory.path(), &mut bytes).expect("a backup can be taken");
    let shows = |bytes: &[u8]| bytes.windows(game::SALT.len()).any(|window| window == game::SALT);
    assert!(!shows(&bytes));
    for file in files(directory.path()) {
        assert!(!shows(&std::fs::read(&file).expect("a file can be read")), "{}", file.display());
    }
    let store = place::open(directory.path(), &place::clock());
    game::act(&store, game::id(1), game::seal(Seat::White, 1)).await;
    drop(store);
    let mut bytes = Vec::new();
    backup(directory.path(), &mut bytes).expect("a backup can be taken");
    assert!(shows(&bytes), "a resolved one is public");
}

#[tokio::test]
async fn a_store_of_a_newer_format_is_refused_by_name() {
    let directory = place::directory();
    fill(directory.path()).await;
    std::fs::write(directory.path().join("format"), "4\n").expect("a file can be written");
    let error = place::try_open(directory.path(), &place::clock()).expect_err("it is newer");
    assert!(matches!(error, OpenError::Newer { found: 4, known: 3, .. }), "{error}");
    assert!(error.to_string().contains("use the newer program"), "{error}");
    std::fs::write(directory.path().join("format"), "3\n").expect("a file can be written");
    place::open(directory.path(), &place::clock());
}

#[tokio::test]
async fn a_store_of_an_older_format_is_of_the_newest_once_it_was_opened() {
    let directory = place::directory();
    fill(directory.path()).await;
    let format = directory.path().join("format");
    let says = |format: &Path| std::fs::read_to_string(format).expect("it can be read");
    assert_eq!(says(&format), "3\n", "a new one is");
    std::fs::write(&format, "2\n").expect("a file can be written");
    assert_eq!(checked(directory.path()).problems, Vec::<String>::new());
    backup(directory.path(), &mut Vec::new()).expect("a backup can be taken");
    meddle(directory.path(), "live", |live| {
        live.insert(game::id(4).as_bytes(), b"no head").expect("it can be written");
    });
    place::try_open(directory.path(), &place::clock()).expect_err("a match is damaged");
    assert_eq!(says(&format), "2\n", "whoever does not write leaves it");
    meddle(directory.path(), "live", |live| live.remove(game::id(4).as_bytes()).expect("it can be written"));
    place::open(directory.path(), &place::clock());
    assert_eq!(says(&format), "3\n");
}

#[tokio::test]
async fn a_directory_is_opened_by_one_process_at_a_time() {
    let (directory, clock) = (place::directory(), place::clock());
    let store = place::open(directory.path(), &clock);
    let error = place::try_open(directory.path(), &clock).expect_err("it is open");
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(matches!(check(directory.path(), &place::keyring()), Err(OpenError::InUse { .. })));
    drop(store);
    place::open(directory.path(), &clock);
}

#[test]
fn a_check_makes_no_store() {
    let directory = place::directory();
    let checked = check(directory.path(), &place::keyring());
    assert!(matches!(checked, Err(OpenError::Missing { .. })), "{checked:?}");
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
}

/// Changes what the engine holds, behind the store's back.
fn meddle(path: &Path, space: &str, meddle: impl FnOnce(&fjall::Keyspace)) {
    let database = fjall::Database::builder(path.join("engine")).open().expect("the engine can be opened");
    meddle(&database.keyspace(space, fjall::KeyspaceCreateOptions::default).expect("it has this space"));
    database.persist(fjall::PersistMode::Buffer).expect("it can be written");
}

#[tokio::test]
async fn a_damaged_head_is_named_by_the_start_and_by_a_check() {
    let directory = place::directory();
    fill(directory.path()).await;
    meddle(directory.path(), "live", |live| {
        live.insert(game::id(2).as_bytes(), b"no head").expect("it can be written");
    });
    let name = game::id(2).to_string();
    let error = place::try_open(directory.path(), &place::clock()).expect_err("a match is damaged");
    assert!(matches!(error, OpenError::Damaged(_)) && error.to_string().contains(&name), "{error}");
    let problems = checked(directory.path()).problems;
    assert!(problems.iter().any(|problem| problem.contains(&name)), "{problems:?}");
}

/// What of each kind is damaged, and how a start and a check name it.
#[tokio::test]
async fn damaged_tickets_and_records_of_players_are_named() {
    let ticket = [&b"eu\0\x01"[..], queue::name(3).id.as_bytes()].concat();
    let owed = [&b"eu\0\x02"[..], game::id(9).as_bytes()].concat();
    let line = [&[players::SPEED.0], game::BLACK.as_bytes()].concat();
    let player = game::BLACK.as_bytes().to_vec();
    for (space, key, named, opens) in [
        ("pools", ticket, "an entry of a pool", false),
        ("pools", owed, "an entry of a pool", false),
        ("pools", b"eu\0\x03".to_vec(), "an entry of a pool", false),
        ("boards", line, "a line of a leaderboard", false),
        ("reservations", player.clone(), "the reservation of players/ann", true),
        ("records", player, "the record of players/ann", true),
    ] {
        let directory = place::directory();
        fill(directory.path()).await;
        meddle(directory.path(), space, |kept| kept.insert(key, b"no").expect("it can be written"));
        let found = checked(directory.path());
        let [problem] = &found.problems[..] else { panic!("{space}: {:?}", found.problems) };
        assert!(problem.starts_with(named), "{problem}");
        // What is not taken into memory is met when it is asked for.
        assert_eq!(place::try_open(directory.path(), &place::clock()).is_ok(), opens, "{space}");
    }
}

/// The count of a pool's changes is behind: its tickets would change without a reader being told.
#[tokio::test]
async fn a_ticket_that_has_changed_after_its_pool_is_found() {
    let directory = place::directory();
    fill(directory.path()).await;
    meddle(directory.path(), "pools", |pools| {
        pools.insert(b"eu\0\0", 4_u64.to_be_bytes()).expect("it can be written");
    });
    let expected = format!("ticket {}: its pool knows nothing of its last change", queue::name(2));
    assert_eq!(checked(directory.path()).problems, [expected]);
}

#[tokio::test]
async fn a_history_that_does_not_lead_to_its_head_is_found() {
    let directory = place::directory();
    fill(directory.path()).await;
    let key = |turn: u32| [&game::id(1).as_bytes()[..], &turn.to_be_bytes()].concat();
    meddle(directory.path(), "turns", |turns| {
        let second = turns.get(key(2)).expect("it can be read").expect("it is there");
        turns.remove(key(2)).expect("it can be removed");
        turns
            .insert([&game::id(9).as_bytes()[..], &[0, 0, 0, 1]].concat(), second)
            .expect("it can be written");
    });
    let found = checked(directory.path());
    let expected = [
        format!("match {}: turn 2 is missing", game::id(1)),
        format!("match {}: there are turns of it and no head", game::id(9)),
    ];
    assert_eq!(found.problems, expected);
}

/// Every file below a directory.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).expect("a directory can be read") {
        let path = entry.expect("it has entries").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
