//! Players' records: what was achieved is counted once, and never lost.

use std::sync::Arc;

use referee::{Mode, PinnedRating, Stamp};
use store::{Met, PlayerRecord, Speed, Standing, Store, Version};

use crate::world::World;

const ANN: &str = "players/ann";

/// Tasks that count at once, and what each of them counts.
const RACERS: usize = 8;
const EACH: u64 = 5;

fn standing(mode: Mode, speed: u8, wins: u64) -> Standing {
    let rating = PinnedRating {
        points_micro: 1_712_345_678,
        deviation_micro: 61_000_001,
        volatility_nano: 59_999_999,
    };
    Standing {
        mode,
        speed: Speed(speed),
        rating: (mode == Mode::Ranked).then_some(rating),
        wins,
        losses: 2,
        draws: 3,
        updated: Stamp::from_ms(1_700_000_000_123),
    }
}

/// A record as long as one can be.
fn full(world: &World) -> PlayerRecord {
    let modes = [Mode::Casual, Mode::Ranked];
    let standings = modes.into_iter().flat_map(|mode| (1..=3).map(move |speed| standing(mode, speed, 1)));
    let met = |number| Met { player: format!("players/{number:064}"), black_surplus: -3 };
    PlayerRecord {
        standings: standings.collect(),
        counted: (0..PlayerRecord::COUNTED_MAX).map(|_| world.id()).collect(),
        recent: (0..PlayerRecord::RECENT_MAX).map(met).collect(),
    }
}

/// A record of a player who has won so often.
fn won(wins: u64) -> PlayerRecord {
    PlayerRecord { standings: vec![standing(Mode::Ranked, 2, wins)], ..PlayerRecord::default() }
}

async fn read(node: &Arc<dyn Store>, player: &str) -> (PlayerRecord, Option<Version>) {
    node.record(player).await.expect("a record can be read")
}

async fn put(world: &World, node: &Arc<dyn Store>, expected: Option<Version>, record: &PlayerRecord) -> bool {
    node.put_record(ANN, expected, record, world.nonce()).await.expect("putting a record is answered")
}

/// It is empty, and has no version.
pub async fn a_player_who_has_achieved_nothing_has_an_empty_record(world: Arc<World>) {
    for node in world.nodes() {
        assert_eq!(read(node, ANN).await, (PlayerRecord::default(), None));
    }
    assert!(put(&world, &world.store, None, &won(1)).await);
    for player in ["players/an", "players/anna", "players/bob"] {
        assert_eq!(read(&world.other, player).await, (PlayerRecord::default(), None), "{player}");
    }
}

/// The longest there can be, too.
pub async fn a_record_is_read_as_it_was_put(world: Arc<World>) {
    let mut version = None;
    for record in [full(&world), PlayerRecord::default(), won(7)] {
        assert!(put(&world, &world.store, version, &record).await);
        let (stored, next) = read(&world.store, ANN).await;
        assert_eq!(stored, record);
        assert_eq!(read(&world.other, ANN).await, (stored, next));
        assert!(next.is_some() && next != version, "each has a version of its own");
        version = next;
    }
}

/// One that was read before another was put, and one with the same counter and other random bytes.
pub async fn a_record_is_put_in_the_place_of_the_version_it_was_read_at_only(world: Arc<World>) {
    assert!(put(&world, &world.store, None, &won(1)).await);
    let (_, first) = read(&world.store, ANN).await;
    let first = first.expect("it has a version");
    assert!(put(&world, &world.other, Some(first), &won(2)).await);
    let stored = read(&world.store, ANN).await;
    let second = stored.1.expect("it has a version");
    let same_counter = Version { nonce: first.nonce, ..second };
    let same_nonce = Version { counter: first.counter, ..second };
    for stale in [None, Some(first), Some(same_counter), Some(same_nonce)] {
        for node in world.nodes() {
            assert!(!put(&world, node, stale, &won(9)).await, "{stale:?}");
            assert_eq!(read(node, ANN).await, stored);
        }
    }
    assert!(
        !world.store.put_record("players/bob", Some(second), &won(9), [7; 8]).await.expect("it is answered")
    );
    assert!(put(&world, &world.store, Some(second), &won(3)).await);
}

/// Who comes second reads again.
pub async fn of_many_who_count_at_once_nobody_is_lost(world: Arc<World>) {
    let mut racers = Vec::new();
    for racer in 0..RACERS {
        let world = Arc::clone(&world);
        racers.push(tokio::spawn(async move {
            let node = world.nodes()[racer % 2];
            for _ in 0..EACH {
                loop {
                    let (record, version) = read(node, ANN).await;
                    let wins = record.standings.first().map_or(0, |standing| standing.wins);
                    if put(&world, node, version, &won(wins + 1)).await {
                        break;
                    }
                }
            }
        }));
    }
    for racer in racers {
        racer.await.expect("a racer does not panic");
    }
    for node in world.nodes() {
        assert_eq!(read(node, ANN).await.0, won(RACERS as u64 * EACH));
    }
}

/// However long nobody asks.
pub async fn a_record_is_never_forgotten(world: Arc<World>) {
    assert!(put(&world, &world.store, None, &won(5)).await);
    let stored = read(&world.store, ANN).await;
    world.leap_ms(10 * 365 * 24 * 60 * 60 * 1_000).await;
    assert_eq!(read(&world.other, ANN).await, stored);
}

/// As that of a new player; and a change that was judged on it is judged again.
pub async fn a_record_that_was_removed_begins_anew(world: Arc<World>) {
    assert!(put(&world, &world.store, None, &won(5)).await);
    let (_, version) = read(&world.store, ANN).await;
    for _ in 0..2 {
        world.other.remove_record(ANN).await.expect("a record can be removed");
        assert_eq!(read(&world.store, ANN).await, (PlayerRecord::default(), None));
    }
    assert!(!put(&world, &world.store, version, &won(6)).await);
    assert!(put(&world, &world.store, None, &won(1)).await);
    assert_eq!(read(&world.other, ANN).await.0, won(1));
}
