//! Players' lists of matches.

use std::sync::Arc;

use referee::Stamp;
use store::{Indexed, PageKey, Store};

use crate::world::World;

const ANN: &str = "players/ann";

/// A live match created at this time.
fn live(world: &World, created_ms: u64) -> Indexed {
    Indexed { match_id: world.id(), finished: false, created: Stamp::from_ms(created_ms) }
}

fn finished(entry: Indexed) -> Indexed {
    Indexed { finished: true, ..entry }
}

async fn index(node: &Arc<dyn Store>, entry: Indexed) {
    node.index_match(ANN, entry).await.expect("a match can be indexed");
}

async fn list(node: &Arc<dyn Store>, only_finished: Option<bool>) -> Vec<Indexed> {
    node.matches_of(ANN, only_finished, None, usize::MAX).await.expect("a list can be read")
}

/// In whatever order they came.
pub async fn a_players_matches_are_listed_newest_first(world: Arc<World>) {
    let entries = [3_000, 1_000, 4_000, 2_000].map(|created_ms| live(&world, created_ms));
    for entry in entries {
        index(&world.store, entry).await;
    }
    let expected = [entries[2], entries[0], entries[3], entries[1]];
    for node in world.nodes() {
        assert_eq!(list(node, None).await, expected);
    }
}

/// Whatever the page's size, though many were created at the same moment.
pub async fn pages_of_a_list_show_every_match_once(world: Arc<World>) {
    for created_ms in [1_000, 2_000, 2_000, 2_000, 2_000, 3_000, 3_000] {
        index(&world.store, live(&world, created_ms)).await;
    }
    let all = list(&world.other, None).await;
    assert_eq!(all.len(), 7);
    for limit in [1, 2, 3, 7, 8] {
        let (mut paged, mut after) = (Vec::new(), None);
        // One page more than there can be, so that a list that goes in circles is seen.
        for _ in 0..=all.len() {
            let page = world.other.matches_of(ANN, None, after, limit).await.expect("a list can be read");
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(PageKey { created: last.created, match_id: last.match_id });
            paged.extend(page);
        }
        assert_eq!(paged, all, "pages of {limit}");
    }
}

/// All, only live ones, or only finished ones, on every page.
pub async fn a_list_shows_only_what_is_asked_for(world: Arc<World>) {
    let entries = [5_000, 4_000, 3_000, 2_000].map(|created_ms| live(&world, created_ms));
    for entry in entries {
        index(&world.store, entry).await;
    }
    let [_, second, _, fourth] = entries.map(finished);
    index(&world.store, second).await;
    index(&world.store, fourth).await;
    assert_eq!(list(&world.other, None).await, [entries[0], second, entries[2], fourth]);
    assert_eq!(list(&world.other, Some(false)).await, [entries[0], entries[2]]);
    assert_eq!(list(&world.other, Some(true)).await, [second, fourth]);
    let after = Some(PageKey { created: second.created, match_id: second.match_id });
    let page = world.other.matches_of(ANN, Some(true), after, 1).await.expect("a list can be read");
    assert_eq!(page, [fourth]);
}

/// A follow-up that is done twice, or late, does no harm.
pub async fn a_finished_match_never_becomes_a_live_one_again(world: Arc<World>) {
    let entry = live(&world, 1_000);
    for again in [entry, finished(entry), entry, finished(entry), entry] {
        index(&world.store, again).await;
    }
    assert_eq!(list(&world.other, None).await, [finished(entry)]);
    assert_eq!(list(&world.other, Some(false)).await, []);
}

/// Two matches, each created and finished, in every order of the four.
pub async fn the_order_of_indexing_does_not_matter(world: Arc<World>) {
    let (old, new) = (live(&world, 1_000), live(&world, 2_000));
    let calls = [old, new, finished(old), finished(new)];
    for order in 0..256_usize {
        let order = [order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 & 3];
        let player = format!("players/order-{}{}{}{}", order[0], order[1], order[2], order[3]);
        for call in order {
            world.store.index_match(&player, calls[call]).await.expect("a match can be indexed");
        }
        let list = world.other.matches_of(&player, None, None, usize::MAX).await;
        let called = |entry: &Indexed| order.iter().any(|call| calls[*call] == *entry);
        let last_state = |entry: Indexed| {
            let ended = called(&finished(entry));
            (ended || called(&entry)).then_some(Indexed { finished: ended, ..entry })
        };
        let expected: Vec<Indexed> = [new, old].into_iter().filter_map(last_state).collect();
        assert_eq!(list.as_ref(), Ok(&expected), "{order:?}");
    }
}

/// A player who has none has an empty list.
pub async fn lists_of_different_players_are_apart(world: Arc<World>) {
    let entry = live(&world, 1_000);
    index(&world.store, entry).await;
    for player in ["players/bob", "players/an", "players/anna"] {
        assert_eq!(world.other.matches_of(player, None, None, 10).await, Ok(Vec::new()), "{player}");
    }
    world.store.index_match("players/bob", finished(entry)).await.expect("a match can be indexed");
    assert_eq!(list(&world.other, None).await, [entry]);
}

/// Those of others stay, and whoever watches the player is told.
pub async fn a_list_that_was_forgotten_is_empty_and_begins_anew(world: Arc<World>) {
    let (over, goes_on) = (finished(live(&world, 1_000)), live(&world, 2_000));
    for entry in [over, goes_on] {
        index(&world.store, entry).await;
        for player in ["players/an", "players/anna", "players/bob"] {
            world.store.index_match(player, entry).await.expect("a match can be indexed");
        }
    }
    let mut hints = world.store.watch_player(ANN).await.expect("a player can be watched");
    for _ in 0..2 {
        world.other.forget_matches_of(ANN).await.expect("a list can be forgotten");
        assert_eq!(list(&world.store, None).await, []);
    }
    hints.changed().await.expect("the store is there");
    for player in ["players/an", "players/anna", "players/bob"] {
        let list = world.other.matches_of(player, None, None, 10).await;
        assert_eq!(list, Ok(vec![goes_on, over]), "{player}");
    }
    index(&world.store, finished(goes_on)).await;
    assert_eq!(list(&world.other, None).await, [finished(goes_on)]);
}
