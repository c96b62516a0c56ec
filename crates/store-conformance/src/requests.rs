//! Requests that create something are remembered.

use std::sync::Arc;

use store::{RequestKey, RequestRecord};

use crate::world::World;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Tasks that race each other.
const RACERS: u8 = 8;

fn key(actor: &str, request_id: &str) -> RequestKey {
    RequestKey { actor: actor.to_owned(), request_id: request_id.to_owned() }
}

fn record(byte: u8) -> RequestRecord {
    RequestRecord { mac: [byte; 32], created_id: [byte; 16] }
}

/// Whatever comes later under its name.
pub async fn the_first_record_of_a_request_stands(world: Arc<World>) {
    for (byte, node) in [(1, &world.store), (2, &world.other), (1, &world.store), (3, &world.store)] {
        let remembered = node.remember(key("players/ann", "r"), record(byte)).await;
        assert_eq!(remembered, Ok(record(1)));
    }
}

/// No actor meets another's request, however the two names run together.
pub async fn requests_are_told_apart_by_actor_and_id(world: Arc<World>) {
    let keys = [key("players/ann", "r"), key("players/ann", "r1"), key("players/annr", "1"), key("", "r")];
    for (byte, key) in (1..).zip(&keys) {
        assert_eq!(world.store.remember(key.clone(), record(byte)).await, Ok(record(byte)));
    }
    for (byte, key) in (1..).zip(&keys) {
        assert_eq!(world.other.remember(key.clone(), record(9)).await, Ok(record(byte)));
    }
}

/// All of them are told the same.
pub async fn of_many_records_of_a_request_at_once_exactly_one_stands(world: Arc<World>) {
    let mut racers = Vec::new();
    for racer in 0..RACERS {
        let world = Arc::clone(&world);
        racers.push(tokio::spawn(async move {
            let node = world.nodes()[usize::from(racer % 2)];
            node.remember(key("players/ann", "r"), record(racer)).await.expect("a request is remembered")
        }));
    }
    let mut told = Vec::new();
    for racer in racers {
        told.push(racer.await.expect("a racer does not panic"));
    }
    assert!(told.iter().all(|remembered| *remembered == told[0]), "{told:?}");
}

/// From the first time on.
pub async fn a_request_is_remembered_for_a_day(world: Arc<World>) {
    world.store.remember(key("players/ann", "r"), record(1)).await.expect("a request is remembered");
    world.leap_ms(DAY_MS - 1).await;
    world.store.remember(key("players/ann", "other"), record(2)).await.expect("a request is remembered");
    assert_eq!(world.store.remember(key("players/ann", "r"), record(3)).await, Ok(record(1)));
}
