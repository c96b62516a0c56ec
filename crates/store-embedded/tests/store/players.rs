//! What the next process finds of players: what holds them, and what they have achieved.

use referee::{Mode, Stamp};
use store::{
    Access, AccessCursor, AccessStore as _, Ban, Held, PlayerRecord, PlayerStore as _, RecordStore as _,
    Reservation, ReservationStore as _, Speed, Standing, Version,
};
use store_embedded::{EmbeddedStore, ExportedRank, check, export};

use crate::{game, place, queue};

pub(crate) const SPEED: Speed = Speed(2);

pub(crate) fn record() -> PlayerRecord {
    let standing = Standing {
        mode: Mode::Casual,
        speed: SPEED,
        rating: None,
        wins: 5,
        losses: 4,
        draws: 3,
        updated: Stamp::from_ms(place::START_MS),
    };
    PlayerRecord {
        standings: vec![standing],
        counted: vec![game::id(7)],
        recent: queue::wish().recent.clone(),
    }
}

/// Black is held by a match, white by a ticket; black has a record and is second of two.
pub(crate) async fn fill(store: &EmbeddedStore) {
    let (held, waits) = (Reservation::Match(game::id(7)), Reservation::Ticket(queue::name(1)));
    for (player, by) in [(game::BLACK, held), (game::WHITE, waits)] {
        assert_eq!(store.reserve(player, None, Some(&by)).await, Ok(Some(by)));
    }
    assert_eq!(store.put_record(game::BLACK, None, &record(), [3; 8]).await, Ok(true));
    for (player, points_micro) in [(game::BLACK, 1_500_000_000), (game::WHITE, 1_600_000_000)] {
        store.rank(SPEED, player, points_micro, 9).await.expect("a player can be ranked");
    }
}

/// Checks that all of it is there.
pub(crate) async fn stands(store: &EmbeddedStore, since_ms: u64) {
    let (held, waits) = (Reservation::Match(game::id(7)), Reservation::Ticket(queue::name(1)));
    for (player, by) in [(game::BLACK, held), (game::WHITE, waits)] {
        assert_eq!(store.reservation(player).await, Ok(Some(Held { by, for_ms: since_ms })));
    }
    let version = Version::first([3; 8]);
    assert_eq!(store.record(game::BLACK).await, Ok((record(), Some(version))));
    let board = store.leaderboard(SPEED, 0, 9).await.expect("a board can be read");
    let board: Vec<(u64, &str)> =
        board.iter().map(|line| (line.points_micro, line.player.as_str())).collect();
    assert_eq!(board, [(1_600_000_000, game::WHITE), (1_500_000_000, game::BLACK)]);
    assert_eq!(store.leaderboard_place(SPEED, game::BLACK).await, Ok(Some(1)));
}

fn restricted() -> [(&'static str, Access); 2] {
    let now = Stamp::from_ms(place::START_MS);
    let ban = Ban { from: now, until: None, reason: "spam".to_owned() };
    let banned = Access { ban: Some(ban), done: vec![[1; 16]], changed: now, ..Access::default() };
    let revoked = Access { tokens_from: Some(now), changed: now, ..Access::default() };
    [(game::BLACK, banned), (game::WHITE, revoked)]
}

/// Black is banned for good, and white's tokens are revoked.
pub(crate) async fn ban(store: &EmbeddedStore) {
    for (player, access) in restricted() {
        assert_eq!(store.put_access(player, None, &access).await, Ok(Some(access)));
    }
}

/// Checks that it is so.
pub(crate) async fn bans_stand(store: &EmbeddedStore) {
    for (player, access) in restricted() {
        assert_eq!(store.access(player).await, Ok(Some(access)));
    }
}

#[tokio::test]
async fn a_ban_is_there_in_the_next_process_and_what_is_over_is_not() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    ban(&store).await;
    let read = store.access_changes(AccessCursor::default()).await.expect("changes can be read");
    drop(store);
    let store = place::open(directory.path(), &clock);
    bans_stand(&store).await;
    let on = store.access_changes(read.next).await.expect("changes can be read");
    assert_eq!((on.changed, on.restarted), (Vec::new(), false));
    clock.advance_ms(Access::RETENTION_MS + 1);
    let left = store.access_changes(AccessCursor::default()).await.expect("changes can be read");
    assert_eq!(left.changed, kept_for_good());
    drop(store);
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!((found.restricted, found.problems), (1, Vec::new()));
    // The numbers of changes go on, also of one that was forgotten.
    let store = place::open(directory.path(), &clock);
    let on = store.access_changes(read.next).await.expect("changes can be read");
    assert_eq!((on.changed, on.restarted, on.next), (Vec::new(), false, read.next));
    drop(store);
    let export = export(directory.path(), &place::keyring()).expect("it can be exported");
    let kept: Vec<_> = export.accesses().map(|access| access.expect("it can be read")).collect();
    assert_eq!(kept, kept_for_good());
}

/// What is kept for good.
fn kept_for_good() -> [(String, Access); 1] {
    let [(player, access), _] = restricted();
    [(player.to_owned(), access)]
}

#[tokio::test]
async fn a_player_whose_data_are_removed_is_nowhere_in_the_next_process() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    let rests = game::finished(&store, game::id(1), 1).await;
    assert!(rests.head.seat_of(game::BLACK).is_some());
    fill(&store).await;
    store.remove_record(game::BLACK).await.expect("it can be removed");
    store.unrank(SPEED, game::BLACK).await.expect("he can be taken off");
    store.forget_matches_of(game::BLACK).await.expect("it can be forgotten");
    drop(store);
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!((found.records, found.ranked, found.unlisted, found.problems), (0, 1, 1, Vec::new()));
    let store = place::open(directory.path(), &clock);
    assert_eq!(store.record(game::BLACK).await, Ok((PlayerRecord::default(), None)));
    assert_eq!(store.leaderboard_place(SPEED, game::BLACK).await, Ok(None));
    assert_eq!(store.matches_of(game::BLACK, None, None, 9).await, Ok(Vec::new()));
    assert_eq!(store.matches_of(game::WHITE, None, None, 9).await.map(|list| list.len()), Ok(1));
}

#[tokio::test]
async fn what_is_kept_of_players_is_there_in_the_next_process_and_goes_on() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    fill(&store).await;
    stands(&store, 0).await;
    drop(store);
    clock.advance_ms(5_000);
    let store = place::open(directory.path(), &clock);
    stands(&store, 5_000).await;
    store.rank(SPEED, game::BLACK, 2_000_000_000, 8).await.expect("a player can be ranked");
    stands(&store, 5_000).await;
    let version = Some(Version::first([3; 8]));
    assert_eq!(store.put_record(game::BLACK, None, &record(), [4; 8]).await, Ok(false));
    assert_eq!(store.put_record(game::BLACK, version, &record(), [4; 8]).await, Ok(true));
    let by = Reservation::Match(game::id(7));
    assert_eq!(store.reserve(game::BLACK, Some(&by), None).await, Ok(None));
    drop(store);
    let store = place::open(directory.path(), &clock);
    assert_eq!(store.reservation(game::BLACK).await, Ok(None));
    drop(store);
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!((found.reservations, found.records, found.ranked, found.problems), (1, 1, 2, vec![]));
}

#[tokio::test]
async fn another_store_can_take_over_what_is_kept_of_players_but_not_who_waits() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    fill(&store).await;
    queue::enqueue(&store, 1).await;
    drop(store);
    let export = export(directory.path(), &place::keyring()).expect("it can be exported");
    let held: Vec<_> = export.held().map(|held| held.expect("it can be read")).collect();
    assert_eq!(held, [(game::BLACK.to_owned(), game::id(7))]);
    let records: Vec<_> = export.records().map(|record| record.expect("it can be read")).collect();
    assert_eq!(records, [(game::BLACK.to_owned(), record())]);
    let ranked: Vec<_> = export.ranked().map(|line| line.expect("it can be read")).collect();
    let line = |player: &str, points_micro| {
        let player = player.to_owned();
        ExportedRank { speed: SPEED, player, points_micro, matches: 9 }
    };
    assert_eq!(ranked, [line(game::BLACK, 1_500_000_000), line(game::WHITE, 1_600_000_000)]);
}
