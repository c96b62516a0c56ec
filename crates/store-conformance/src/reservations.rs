//! Reservations: one thing holds a player at a time.

use std::sync::Arc;

use store::{Entry, Held, PlayerRecord, RequestKey, RequestRecord, Reservation, Store};

use crate::queue;
use crate::world::World;

const ANN: &str = "players/ann";

/// Nodes' tasks that race each other.
const RACERS: usize = 8;

async fn held_by(world: &World, player: &str) -> Option<Reservation> {
    let mut held = Vec::new();
    for node in world.nodes() {
        let by = node.reservation(player).await.expect("a reservation can be read");
        held.push(by.map(|held| held.by));
    }
    assert_eq!(held[0], held[1], "every node sees the same");
    held.swap_remove(0)
}

async fn reserve(
    node: &Arc<dyn Store>,
    expected: Option<&Reservation>,
    next: Option<&Reservation>,
) -> Option<Reservation> {
    node.reserve(ANN, expected, next).await.expect("a reservation is answered")
}

async fn by_ticket(world: &World) -> Reservation {
    Reservation::Ticket(queue::name(world).await)
}

/// And what is not there is replaced by nobody.
pub async fn a_player_is_held_by_what_was_put_in_the_place_of_the_expected(world: Arc<World>) {
    let (ticket, other) = (by_ticket(&world).await, by_ticket(&world).await);
    let game = Reservation::Match(world.id());
    assert_eq!(held_by(&world, ANN).await, None);
    assert_eq!(reserve(&world.store, Some(&other), Some(&ticket)).await, None, "nothing held him");
    assert_eq!(held_by(&world, ANN).await, None);
    assert_eq!(reserve(&world.store, None, Some(&ticket)).await, Some(ticket.clone()));
    for wrong in [None, Some(&other), Some(&game)] {
        assert_eq!(
            reserve(&world.other, wrong, Some(&Reservation::Match(world.id()))).await,
            Some(ticket.clone())
        );
        assert_eq!(reserve(&world.other, wrong, None).await, Some(ticket.clone()));
        assert_eq!(held_by(&world, ANN).await, Some(ticket.clone()));
    }
    assert_eq!(reserve(&world.other, Some(&ticket), Some(&game)).await, Some(game.clone()));
    assert_eq!(held_by(&world, ANN).await, Some(game.clone()));
    assert_eq!(reserve(&world.store, Some(&ticket), None).await, Some(game.clone()));
    assert_eq!(reserve(&world.store, Some(&game), None).await, None);
    assert_eq!(held_by(&world, ANN).await, None);
}

/// As for one whose first call was lost.
pub async fn reserving_again_is_answered_as_the_first_time(world: Arc<World>) {
    let (ticket, game) = (by_ticket(&world).await, Reservation::Match(world.id()));
    for _ in 0..2 {
        assert_eq!(reserve(&world.other, None, Some(&ticket)).await, Some(ticket.clone()));
    }
    for _ in 0..2 {
        assert_eq!(reserve(&world.store, Some(&ticket), Some(&game)).await, Some(game.clone()));
    }
    for _ in 0..2 {
        assert_eq!(reserve(&world.store, Some(&game), None).await, None);
    }
}

/// All of them are told which.
pub async fn of_many_who_reserve_a_player_at_once_exactly_one_wins(world: Arc<World>) {
    for _ in 0..RACERS {
        let held = held_by(&world, ANN).await;
        let mut racers = Vec::new();
        for racer in 0..RACERS {
            let (world, held) = (Arc::clone(&world), held.clone());
            racers.push(tokio::spawn(async move {
                let next = Reservation::Match(world.id());
                let told = reserve(world.nodes()[racer % 2], held.as_ref(), Some(&next)).await;
                (told.clone(), told == Some(next))
            }));
        }
        let (mut told, mut winners) = (Vec::new(), 0);
        for racer in racers {
            let (by, won) = racer.await.expect("a racer does not panic");
            told.push(by);
            winners += usize::from(won);
        }
        assert_eq!(winners, 1);
        let held = held_by(&world, ANN).await;
        assert!(held.is_some() && told.iter().all(|by| *by == held), "{told:?}");
    }
}

/// On whatever node; and he who reads then sees it.
pub async fn whoever_watches_a_player_is_told_what_holds_him(world: Arc<World>) {
    let mut held = None;
    for next in [Some(by_ticket(&world).await), Some(Reservation::Match(world.id())), None] {
        let mut watchers = Vec::new();
        for node in world.nodes() {
            watchers.push((node, node.watch_player(ANN).await.expect("a player can be watched")));
        }
        assert_eq!(reserve(&world.store, held.as_ref(), next.as_ref()).await, next);
        for (node, hints) in &mut watchers {
            hints.changed().await.expect("the store is there");
            let seen = node.reservation(ANN).await.expect("a reservation can be read");
            assert_eq!(seen.map(|held| held.by), next);
        }
        held = next;
    }
}

/// Also those whose names begin alike.
pub async fn reservations_of_different_players_are_apart(world: Arc<World>) {
    let ticket = by_ticket(&world).await;
    reserve(&world.store, None, Some(&ticket)).await;
    for player in ["players/an", "players/anna", "players/bob"] {
        assert_eq!(held_by(&world, player).await, None, "{player}");
    }
    let game = Reservation::Match(world.id());
    let other = world.store.reserve("players/bob", None, Some(&game)).await;
    assert_eq!(other, Ok(Some(game)));
    assert_eq!(held_by(&world, ANN).await, Some(ticket));
}

/// From when it was put there; the same again is no news, and another one begins anew.
pub async fn a_reservation_tells_for_how_long_it_has_been_there(world: Arc<World>) {
    let (ticket, game) = (by_ticket(&world).await, Reservation::Match(world.id()));
    let held = async |by: &Reservation, for_ms| {
        for node in world.nodes() {
            let expected = Held { by: by.clone(), for_ms };
            assert_eq!(node.reservation(ANN).await, Ok(Some(expected)));
        }
    };
    reserve(&world.store, None, Some(&ticket)).await;
    held(&ticket, 0).await;
    world.leap_ms(7_000).await;
    reserve(&world.other, None, Some(&ticket)).await;
    reserve(&world.other, Some(&ticket), Some(&ticket)).await;
    reserve(&world.other, Some(&game), None).await;
    held(&ticket, 7_000).await;
    reserve(&world.other, Some(&ticket), Some(&game)).await;
    world.leap_ms(30 * 24 * 60 * 60 * 1_000).await;
    held(&game, 30 * 24 * 60 * 60 * 1_000).await;
}

/// A new request lets what it names hold its player, unless something else does; one that was remembered before
/// changes nothing.
pub async fn whoever_enters_is_remembered_and_held_unless_he_is(world: Arc<World>) {
    let (ticket, game) = (by_ticket(&world).await, Reservation::Match(world.id()));
    let request = |id: u8| RequestRecord { mac: [id; 32], created_id: [id; 16] };
    let enter = async |node: &Arc<dyn Store>, request_id: &str, record, next: &Reservation| {
        let key = RequestKey { actor: ANN.to_owned(), request_id: request_id.to_owned() };
        node.enter(key, record, next).await.expect("a player can enter")
    };
    let first = enter(&world.store, "one", request(1), &ticket).await;
    let expected =
        Entry { remembered: request(1), held_by: Some(ticket.clone()), record: PlayerRecord::default() };
    assert_eq!(first, expected);
    assert_eq!(held_by(&world, ANN).await, Some(ticket.clone()));
    assert_eq!(enter(&world.other, "one", request(1), &game).await, expected, "again");
    assert_eq!(enter(&world.other, "one", request(2), &game).await, expected, "another under its id");
    let second = enter(&world.other, "two", request(2), &game).await;
    assert_eq!((second.remembered, second.held_by), (request(2), Some(ticket.clone())), "he is held");
    assert_eq!(reserve(&world.store, Some(&ticket), None).await, None);
    let record = PlayerRecord { counted: vec![world.id()], ..PlayerRecord::default() };
    assert_eq!(world.store.put_record(ANN, None, &record, [7; 8]).await, Ok(true));
    let repeated = enter(&world.store, "two", request(3), &game).await;
    assert_eq!(
        (repeated.remembered, repeated.held_by),
        (request(2), None),
        "what is remembered holds nobody"
    );
    assert_eq!(repeated.record, record);
    let third = enter(&world.other, "three", request(3), &game).await;
    assert_eq!((third.held_by, third.record), (Some(game.clone()), record));
    assert_eq!(held_by(&world, ANN).await, Some(game));
}
