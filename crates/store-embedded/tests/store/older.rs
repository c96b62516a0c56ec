//! Whatever a release wrote, every later one reads.
//!
//! `golden/` has a backup for each state of the records, taken by a build of its time from the store that
//! [`fill`] makes. None of them is ever written anew. After a change of a record, take another one beside
//! them: name it in [`NEWEST`] and run this with `UPDATE_EXPECT=1`.

use std::path::{Path, PathBuf};

use referee::{RequestId, Settings, Stamp};
use rules::Seat;
use sealing::EndReason;
use store::{
    Closing, Invite, InviteEnd, InviteId, InviteStore as _, PlayerStore as _, RequestKey, RequestRecord,
    RequestStore as _,
};
use store_embedded::{EmbeddedStore, backup, check, restore};

use crate::game;
use crate::place;

/// The file of the records as they are written today.
const NEWEST: &str = "format-1";

/// Matches of the store, by what is the case with them.
const WAITING: u8 = 1;
const SEALED: u8 = 2;
const AT_REST: u8 = 3;
const JUST_OVER: u8 = 4;

/// Turns that the match with a sealed move has resolved, and the one at rest.
const SEALED_TURNS: u32 = 12;
const RESTING_TURNS: u32 = 20;

/// Invites of the store, by what became of them.
const OPEN: u8 = 11;
const WITH_SECRET: u8 = 12;
const ACCEPTED: u8 = 13;
const DECLINED: u8 = 14;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/golden").join(format!("{name}.backup"))
}

fn invite(number: u8) -> Invite {
    let created = Stamp::from_ms(place::START_MS);
    let open = number == WITH_SECRET;
    Invite {
        id: InviteId::from_bytes([number; 16]),
        inviter: game::BLACK.to_owned(),
        inviter_key: None,
        invitee: (!open).then(|| game::WHITE.to_owned()),
        secret_hash: open.then_some([5; 32]),
        settings: Settings::default(),
        inviter_seat: Some(Seat::White),
        rematch_of: (number == OPEN).then(|| game::id(AT_REST)),
        created,
        expires: created.plus_ms(60_000),
        closing: None,
    }
}

fn closing(number: u8) -> Closing {
    let end = match number {
        ACCEPTED => InviteEnd::Accepted { match_id: game::id(SEALED) },
        _ => InviteEnd::Declined,
    };
    let request_id = RequestId::new("close").expect("a request id");
    Closing { end, by: game::WHITE.to_owned(), request_id, public_key: None }
}

fn request() -> (RequestKey, RequestRecord) {
    let key = RequestKey { actor: game::BLACK.to_owned(), request_id: "create".to_owned() };
    (key, RequestRecord { mac: [6; 32], created_id: [OPEN; 16] })
}

/// Every kind of record.
async fn fill(store: &EmbeddedStore) {
    game::create(store, game::id(WAITING)).await;
    game::played(store, game::id(SEALED), SEALED_TURNS).await;
    game::act(store, game::id(SEALED), game::seal(Seat::Black, SEALED_TURNS + 1)).await;
    game::finished(store, game::id(AT_REST), RESTING_TURNS).await;
    game::played(store, game::id(JUST_OVER), 1).await;
    game::act(store, game::id(JUST_OVER), game::resign(Seat::White)).await;
    for number in [OPEN, WITH_SECRET, ACCEPTED, DECLINED] {
        store.create_invite(invite(number)).await.expect("an invite can be made");
    }
    for number in [ACCEPTED, DECLINED] {
        let id = InviteId::from_bytes([number; 16]);
        store.close_invite(id, closing(number)).await.expect("an invite can be closed");
    }
    let (key, record) = request();
    store.remember(key, record).await.expect("a request can be remembered");
}

/// Takes the newest backup, if it is to be taken and there is none.
async fn take_newest() {
    let path = golden(NEWEST);
    if path.exists() {
        return;
    }
    assert!(std::env::var_os("UPDATE_EXPECT").is_some(), "{} is missing", path.display());
    let directory = place::directory();
    let store = place::open(directory.path(), &place::clock());
    fill(&store).await;
    drop(store);
    let mut bytes = Vec::new();
    backup(directory.path(), &mut bytes).expect("a backup can be taken");
    std::fs::write(path, bytes).expect("it can be written");
}

#[tokio::test]
async fn a_backup_of_every_earlier_state_is_restored_checked_and_played_on() {
    take_newest().await;
    let folder = golden(NEWEST);
    let folder = folder.parent().expect("a folder");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).expect("there are backups") {
        let bytes = std::fs::read(entry.expect("it can be listed").path()).expect("it can be read");
        goes_on(&bytes).await;
        tried += 1;
    }
    assert!(tried > 0);
}

async fn goes_on(bytes: &[u8]) {
    let directory = place::directory();
    restore(directory.path(), &mut &bytes[..]).expect("it can be brought back");
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!(found.problems, Vec::<String>::new());
    let turns = u64::from(SEALED_TURNS + RESTING_TURNS + 1);
    assert_eq!((found.live, found.finished, found.turns), (3, 1, turns));
    assert_eq!((found.listed, found.invites, found.requests), (6, 4, 1));

    let store = place::open(directory.path(), &place::clock());
    assert_eq!(game::due(&store).await.len(), 2, "what follows from a creation and an end is to be done");
    game::settle(&store, game::id(WAITING)).await;
    let sealed = game::id(SEALED);
    game::act(&store, sealed, game::seal(Seat::White, SEALED_TURNS + 1)).await;
    assert_eq!(game::turns(&store, sealed).await, game::all_turns(SEALED_TURNS + 1));
    for (number, turns) in [(AT_REST, RESTING_TURNS), (JUST_OVER, 1)] {
        let rests = game::settle(&store, game::id(number)).await;
        assert_eq!(rests.head.finish().map(|finish| finish.reason), Some(EndReason::Resignation));
        assert_eq!(game::turns(&store, rests.head.id).await, game::all_turns(turns));
    }
    assert_eq!(game::lists(&store).await.len(), 8);
    invites_and_requests_stand(&store).await;
    drop(store);
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!((found.problems, found.live, found.finished), (Vec::new(), 2, 2));
}

async fn invites_and_requests_stand(store: &EmbeddedStore) {
    for number in [OPEN, WITH_SECRET] {
        let (stored, _) = store.invite(InviteId::from_bytes([number; 16])).await.expect("it is there");
        assert_eq!(stored, invite(number));
    }
    for number in [ACCEPTED, DECLINED] {
        let (stored, _) = store.invite(InviteId::from_bytes([number; 16])).await.expect("it is there");
        assert_eq!(stored, Invite { closing: Some(closing(number)), ..invite(number) });
    }
    let open = store.open_invites_of(game::BLACK, 9).await.expect("they can be read");
    assert_eq!(open.len(), 2);
    let (key, record) = request();
    let other = RequestRecord { mac: [7; 32], created_id: [7; 16] };
    assert_eq!(store.remember(key, other).await, Ok(record));
}
