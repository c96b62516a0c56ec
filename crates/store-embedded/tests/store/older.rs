//! Whatever a release wrote, every later one reads.
//!
//! `golden/` has a backup for each state of the records, taken by a build of its time from the store that
//! [`fill`] makes. None of them is ever written anew. After a change of a record, take another one beside
//! them: name it in [`NEWEST`] and run this with `UPDATE_EXPECT=1`.

use std::path::{Path, PathBuf};

use referee::{Match, RequestId, Settings, Stamp};
use rules::Seat;
use sealing::EndReason;
use store::{
    Closing, Invite, InviteEnd, InviteId, InviteStore as _, MatchStore as _, PlayerStore as _, RequestKey,
    RequestRecord, RequestStore as _, Ticket, TicketState, TicketStore as _,
};
use store_embedded::{EmbeddedStore, backup, check, restore};

use crate::{game, place, players, queue};

/// The file of the records as they are written today.
const NEWEST: &str = "format-3";

/// The file of a time without tickets, and without what is kept of players.
const WITHOUT_TICKETS: &str = "format-1";

/// The file of a time without bans.
const WITHOUT_BANS: &str = "format-2";

/// Matches of the store, by what is the case with them.
const WAITING: u8 = 1;
const SEALED: u8 = 2;
const AT_REST: u8 = 3;
const JUST_OVER: u8 = 4;
/// Where there are tickets.
const PAIRED: u8 = 5;

/// Tickets of the store, by what became of them.
const WAITS: u8 = 21;
const WAITS_AGAIN: u8 = 22;
const MATCHED: u8 = 23;
const LEFT: u8 = 24;
const CANCELLED: u8 = 25;
const NEVER_CAME: u8 = 26;

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
    players::fill(store).await;
    players::ban(store).await;
    fill_pool(store).await;
    let id = game::id(PAIRED);
    let now = store.now(id).await.expect("the time can be asked");
    let paired = Match::create(queue::paired(PAIRED, MATCHED, LEFT), now);
    store.create(paired, [1; 8]).await.expect("a match can be created");
}

async fn fill_pool(store: &EmbeddedStore) {
    for number in [WAITS, WAITS_AGAIN, MATCHED, LEFT, CANCELLED] {
        queue::enqueue(store, number).await;
    }
    let aborted = queue::paired(JUST_OVER, WAITS_AGAIN, WAITS_AGAIN);
    queue::claim(store, &aborted, &[WAITS_AGAIN]).await;
    store.made(&queue::pool(), aborted.id).await.expect("a match is made");
    store.requeue(&queue::name(WAITS_AGAIN), aborted.id).await.expect("a requeue is answered");
    queue::claim(store, &queue::paired(PAIRED, MATCHED, LEFT), &[MATCHED, LEFT]).await;
    for number in [LEFT, CANCELLED, NEVER_CAME] {
        store.leave_ticket(&queue::name(number)).await.expect("leaving is answered");
    }
}

async fn tickets_stand(store: &EmbeddedStore) {
    let seen = store.ticket(&queue::name(MATCHED)).await.expect("it is there");
    assert_eq!(seen.owed, Some(queue::paired(PAIRED, MATCHED, LEFT)));
    assert_eq!((seen.ticket.wish, seen.usual_wait_ms), (Some(queue::wish()), Some(0)));
    let lease_until = seen.now.plus_ms(Ticket::LEASE_MS);
    for (number, state) in [
        (WAITS, TicketState::Waiting { lease_until, aborted: None }),
        (WAITS_AGAIN, TicketState::Waiting { lease_until, aborted: Some(game::id(JUST_OVER)) }),
        (MATCHED, TicketState::Matched { match_id: game::id(PAIRED), left: false }),
        (LEFT, TicketState::Matched { match_id: game::id(PAIRED), left: true }),
        (CANCELLED, TicketState::Cancelled),
        (NEVER_CAME, TicketState::Cancelled),
    ] {
        assert_eq!(queue::state(store, number).await, state, "ticket {number}");
    }
    let paired = game::load(store, game::id(PAIRED)).await.head;
    assert_eq!(paired.origin, queue::paired(PAIRED, MATCHED, LEFT).origin.map(Into::into));
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
        let path = entry.expect("it can be listed").path();
        let bytes = std::fs::read(&path).expect("it can be read");
        let has_bans = ![WITHOUT_TICKETS, WITHOUT_BANS].map(golden).contains(&path);
        goes_on(&bytes, path != golden(WITHOUT_TICKETS), has_bans).await;
        tried += 1;
    }
    assert!(tried > 0);
}

async fn goes_on(bytes: &[u8], has_tickets: bool, has_bans: bool) {
    let directory = place::directory();
    restore(directory.path(), &mut &bytes[..]).expect("it can be brought back");
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!(found.problems, Vec::<String>::new());
    let turns = u64::from(SEALED_TURNS + RESTING_TURNS + 1);
    let paired = u64::from(has_tickets);
    assert_eq!((found.live, found.finished, found.turns), (3 + paired, 1, turns));
    assert_eq!((found.listed, found.invites, found.requests), (6, 4, 1));
    assert_eq!((found.tickets, found.owed), (6 * paired, paired));
    assert_eq!((found.reservations, found.records, found.ranked), (2 * paired, paired, 2 * paired));
    assert_eq!((found.restricted, found.unlisted), (2 * u64::from(has_bans), 0));

    let store = place::open(directory.path(), &place::clock());
    if has_bans {
        players::bans_stand(&store).await;
    } else {
        players::ban(&store).await;
    }
    if has_tickets {
        tickets_stand(&store).await;
        players::stands(&store, 0).await;
        game::settle(&store, game::id(PAIRED)).await;
    } else {
        fill_pool(&store).await;
        players::fill(&store).await;
    }
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
    assert_eq!(game::lists(&store).await.len() as u64, 8 + 2 * paired);
    invites_and_requests_stand(&store).await;
    drop(store);
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!((found.problems, found.live, found.finished), (Vec::new(), 2 + paired, 2));
    assert_eq!((found.tickets, found.reservations), (6, 2));
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
