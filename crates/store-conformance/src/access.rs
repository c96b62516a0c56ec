//! Who may not play: changed by compare-and-set, read as a list of changes, and forgotten once it restricts nobody.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee::Stamp;
use store::{Access, AccessCursor, AccessPage, Ban, Store};

use crate::world::World;

const ANN: &str = "players/ann";
const BOB: &str = "players/bob";

/// Nodes' tasks that race each other, and what each of them changes.
const RACERS: usize = 8;
const EACH: usize = 4;

/// The end of a ban, whatever a scripted clock says.
const FAR_MS: u64 = 9_000_000_000_000;

async fn now(world: &World) -> Stamp {
    world.store.access_changes(AccessCursor::default()).await.expect("changes can be read").now
}

/// A ban that holds for good, and all else that can be kept beside it.
async fn banned(world: &World, reason: &str) -> Access {
    let now = now(world).await;
    Access {
        ban: Some(Ban { from: now, until: None, reason: reason.to_owned() }),
        tokens_from: Some(now.plus_ms(5_000)),
        done: vec![[1; 16]; Access::DONE_MAX],
        changed: now,
    }
}

async fn put(
    node: &Arc<dyn Store>,
    player: &str,
    expected: Option<&Access>,
    next: &Access,
) -> Option<Access> {
    node.put_access(player, expected, next).await.expect("a change of access is answered")
}

async fn kept(world: &World, player: &str) -> Option<Access> {
    let mut kept = Vec::new();
    for node in world.nodes() {
        kept.push(node.access(player).await.expect("access can be read"));
    }
    assert_eq!(kept[0], kept[1], "every node sees the same");
    kept.swap_remove(0)
}

async fn page(node: &Arc<dyn Store>, after: AccessCursor) -> AccessPage {
    node.access_changes(after).await.expect("changes can be read")
}

/// The names on all pages after a cursor, in order, and the last cursor.
async fn read_on(node: &Arc<dyn Store>, mut after: AccessCursor) -> (Vec<(String, Access)>, AccessCursor) {
    let mut changed = Vec::new();
    loop {
        let page = page(node, after).await;
        assert!(page.changed.len() <= AccessPage::PLAYERS_MAX && !page.restarted);
        changed.extend(page.changed);
        after = page.next;
        if !page.more {
            return (changed, after);
        }
    }
}

fn names(changed: &[(String, Access)]) -> Vec<&str> {
    changed.iter().map(|(player, _)| player.as_str()).collect()
}

/// And nobody's access has changed.
pub async fn nothing_is_kept_of_a_player_whom_nobody_restricts(world: Arc<World>) {
    assert_eq!(kept(&world, ANN).await, None);
    let page = page(&world.other, AccessCursor::default()).await;
    assert_eq!((page.changed, page.more, page.restarted), (Vec::new(), false, false));
}

/// With all that it holds; and the same again is answered as the first time.
pub async fn access_is_put_in_the_place_of_the_expected_only(world: Arc<World>) {
    let longest = "é".repeat(Ban::REASON_BYTES_MAX / 2);
    let (first, free) =
        (banned(&world, &longest).await, Access { changed: now(&world).await, ..Access::default() });
    assert_eq!(put(&world.store, ANN, Some(&free), &first).await, None, "nothing was there");
    assert_eq!(kept(&world, ANN).await, None);
    for _ in 0..2 {
        assert_eq!(put(&world.store, ANN, None, &first).await, Some(first.clone()));
    }
    assert_eq!(kept(&world, ANN).await, Some(first.clone()));
    assert_eq!(put(&world.other, ANN, None, &free).await, Some(first.clone()));
    assert_eq!(put(&world.other, ANN, Some(&free), &free).await, Some(first.clone()));
    assert_eq!(kept(&world, ANN).await, Some(first.clone()));
    for _ in 0..2 {
        assert_eq!(put(&world.other, ANN, Some(&first), &free).await, Some(free.clone()));
    }
    assert_eq!(kept(&world, ANN).await, Some(free));
    assert_eq!(kept(&world, BOB).await, None);
}

/// Each counts on what was there.
pub async fn of_many_who_change_access_at_once_nobody_is_lost(world: Arc<World>) {
    let mut racers = Vec::new();
    for racer in 0..RACERS {
        let world = Arc::clone(&world);
        racers.push(tokio::spawn(async move {
            for _ in 0..EACH {
                let mut there = world.nodes()[racer % 2].access(ANN).await.expect("access can be read");
                loop {
                    let count = there.as_ref().and_then(|access| access.tokens_from).map_or(0, Stamp::as_ms);
                    // Unlike any other racer's, so that nobody takes another's for his own.
                    let next = Access {
                        tokens_from: Some(Stamp::from_ms(count + 1)),
                        done: vec![[racer as u8; 16]],
                        changed: Stamp::from_ms(FAR_MS),
                        ..Access::default()
                    };
                    let now = put(world.nodes()[racer % 2], ANN, there.as_ref(), &next).await;
                    if now.as_ref() == Some(&next) {
                        break;
                    }
                    there = now;
                }
            }
        }));
    }
    for racer in racers {
        racer.await.expect("a racer does not panic");
    }
    let count = kept(&world, ANN).await.and_then(|access| access.tokens_from);
    assert_eq!(count, Some(Stamp::from_ms((RACERS * EACH) as u64)));
}

/// As he is now; and a reader who comes back sees what has changed since.
pub async fn a_page_of_access_shows_each_player_once_in_the_order_of_the_last_changes(world: Arc<World>) {
    let (ban, free) =
        (banned(&world, "spam").await, Access { changed: now(&world).await, ..Access::default() });
    for player in [ANN, BOB] {
        put(&world.store, player, None, &ban).await;
    }
    let (changed, cursor) = read_on(&world.other, AccessCursor::default()).await;
    assert_eq!(changed, [(ANN.to_owned(), ban.clone()), (BOB.to_owned(), ban.clone())]);
    assert_eq!(read_on(&world.store, cursor).await, (Vec::new(), cursor));
    put(&world.other, ANN, Some(&ban), &free).await;
    // What changes nothing is no change.
    put(&world.other, BOB, None, &free).await;
    put(&world.other, BOB, Some(&free), &ban).await;
    let (changed, later) = read_on(&world.store, cursor).await;
    assert_eq!(changed, [(ANN.to_owned(), free)]);
    assert!(later > cursor);
    let (changed, _) = read_on(&world.store, AccessCursor::default()).await;
    assert_eq!(names(&changed), [BOB, ANN]);
}

/// Also where there are many more than fit on one.
pub async fn pages_of_access_show_every_player_once(world: Arc<World>) {
    let ban = banned(&world, "").await;
    let players: Vec<String> =
        (0..=AccessPage::PLAYERS_MAX).map(|number| format!("players/p{number}")).collect();
    let mut puts = Vec::new();
    for player in players.clone() {
        let (world, ban) = (Arc::clone(&world), ban.clone());
        puts.push(tokio::spawn(async move { put(&world.store, &player, None, &ban).await }));
    }
    for stored in puts {
        assert_eq!(stored.await.expect("a put does not panic"), Some(ban.clone()));
    }
    let (changed, cursor) = read_on(&world.other, AccessCursor::default()).await;
    let mut shown = names(&changed);
    shown.sort_unstable();
    let mut all: Vec<&str> = players.iter().map(String::as_str).collect();
    all.sort_unstable();
    assert_eq!(shown, all);
    assert_eq!(read_on(&world.store, cursor).await, (Vec::new(), cursor));
}

/// Whatever he was shown last of a player is what is kept of him in the end.
pub async fn a_reader_of_access_misses_nothing_while_it_changes(world: Arc<World>) {
    let mut racers = Vec::new();
    for racer in 0..RACERS {
        let world = Arc::clone(&world);
        racers.push(tokio::spawn(async move {
            let player = format!("players/p{racer}");
            let mut there = None;
            for count in 1..=EACH as u64 {
                let (tokens_from, changed) = (Some(Stamp::from_ms(count)), Stamp::from_ms(FAR_MS));
                let next = Access { tokens_from, changed, ..Access::default() };
                there = put(world.nodes()[racer % 2], &player, there.as_ref(), &next).await;
            }
            (player, there)
        }));
    }
    let (mut list, mut cursor) = (BTreeMap::new(), AccessCursor::default());
    let mut read = async |node| {
        let (changed, next) = read_on(node, cursor).await;
        cursor = next;
        changed.into_iter().for_each(|(player, access)| drop(list.insert(player, Some(access))));
        list.clone()
    };
    while !racers.iter().all(|racer| racer.is_finished()) {
        read(&world.other).await;
        // A store in memory answers at once, and on one thread nobody else would get to work.
        tokio::task::yield_now().await;
    }
    let list = read(&world.other).await;
    for racer in racers {
        let (player, there) = racer.await.expect("a racer does not panic");
        assert_eq!(list.get(&player), Some(&there), "{player}");
    }
}

/// As after a failover that lost what he had read.
pub async fn a_reader_who_is_ahead_of_the_access_list_is_told_to_begin_again(world: Arc<World>) {
    let ban = banned(&world, "spam").await;
    put(&world.store, ANN, None, &ban).await;
    let (_, cursor) = read_on(&world.other, AccessCursor::default()).await;
    let page = page(&world.other, AccessCursor(cursor.0 + 1)).await;
    assert!(page.restarted);
    assert_eq!(names(&page.changed), [ANN]);
    assert_eq!(page.next, cursor);
}

/// A ban that ends is kept so long after its end, all else after it was written.
pub async fn a_ban_for_good_is_never_forgotten_and_all_else_after_its_retention(world: Arc<World>) {
    const BAN_MS: u64 = 60_000;
    let for_good = banned(&world, "spam").await;
    let now = now(&world).await;
    let ban = Ban { from: now, until: Some(now.plus_ms(BAN_MS)), reason: String::new() };
    let ends = Access { ban: Some(ban), changed: now, ..Access::default() };
    let revoked = Access { tokens_from: Some(now), changed: now, ..Access::default() };
    for (player, access) in [(ANN, &for_good), (BOB, &ends), ("players/cid", &revoked)] {
        put(&world.store, player, None, access).await;
    }
    world.leap_ms(Access::RETENTION_MS).await;
    assert_eq!(kept(&world, "players/cid").await, Some(revoked));
    world.leap_ms(1).await;
    assert_eq!(kept(&world, "players/cid").await, None);
    world.leap_ms(BAN_MS - 1).await;
    assert_eq!(kept(&world, BOB).await, Some(ends));
    world.leap_ms(1).await;
    assert_eq!(kept(&world, BOB).await, None);
    world.leap_ms(1_000 * Access::RETENTION_MS).await;
    let (changed, cursor) = read_on(&world.other, AccessCursor::default()).await;
    assert_eq!(changed, [(ANN.to_owned(), for_good.clone())]);
    // He can be restricted again, and a reader hears of it.
    let later = Access { changed: page(&world.store, cursor).await.now, ..Access::default() };
    assert_eq!(put(&world.other, BOB, None, &later).await, Some(later.clone()));
    assert_eq!(read_on(&world.store, cursor).await.0, [(BOB.to_owned(), later)]);
}
