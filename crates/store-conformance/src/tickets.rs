//! Tickets: players who begin to wait, wait on, and leave.

use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::Arc;

use store::{PoolCursor, StoreError, Ticket, TicketState};

use crate::queue::{
    claim, end, enqueue, leave, matched, name, name_made, names, now, page, paired, read, renew, sees,
    stands, wish,
};
use crate::world::World;

/// Players who race each other, and rounds of a race of two.
const RACERS: usize = 8;
const ROUNDS: usize = 40;

/// Long enough for whatever a promise does where the clock cannot be scripted, ms.
const MARGIN_MS: u64 = 60_000;

/// What he asks for is kept as it is; his age and his lease begin.
pub async fn a_new_ticket_waits_with_all_that_its_player_asks_for(world: Arc<World>) {
    let name = name(&world).await;
    let wish = wish("players/ann");
    let seen = world.store.create_ticket(&name, Arc::clone(&wish)).await.expect("a ticket can be created");
    let lease_until = seen.ticket.created.plus_ms(Ticket::LEASE_MS);
    let state = TicketState::Waiting { lease_until, aborted: None };
    let expected = Ticket { name: name.clone(), wish: Some(wish), created: seen.ticket.created, state };
    assert_eq!(seen.ticket, expected);
    assert!(seen.ticket.created >= name.made() && seen.now >= seen.ticket.created);
    assert_eq!((seen.owed, seen.usual_wait_ms), (None, None));
    sees(&world, &expected).await;
}

/// Whatever it asks for, and whatever became of the first one.
pub async fn creating_a_ticket_again_changes_nothing_and_answers_what_is_stored(world: Arc<World>) {
    let (one, two) = (enqueue(&world, "players/ann").await, enqueue(&world, "players/bob").await);
    let again = async |name| {
        let again = world.other.create_ticket(name, wish("players/eve")).await;
        again.expect("creating again is answered").ticket
    };
    assert_eq!(again(&one.ticket.name).await, one.ticket);
    sees(&world, &one.ticket).await;
    let game = paired(&world, &one.ticket.name, &two.ticket.name);
    claim(&world.store, &[&one.ticket.name], &game).await;
    let cancelled = leave(&world.store, &two.ticket.name).await.ticket;
    let place = end(&world).await;
    assert_eq!(again(&one.ticket.name).await, Ticket { state: matched(&game), ..one.ticket.clone() });
    assert_eq!(again(&two.ticket.name).await, cancelled);
    assert_eq!(page(&world.store, place).await.changed, []);
}

/// One of them was first.
pub async fn of_many_who_create_a_ticket_at_once_all_get_the_same(world: Arc<World>) {
    let name = name(&world).await;
    let mut racers = Vec::new();
    for racer in 0..RACERS {
        let (world, name) = (Arc::clone(&world), name.clone());
        racers.push(tokio::spawn(async move {
            let wish = wish(&format!("players/p{racer}"));
            let seen = world.nodes()[racer % 2].create_ticket(&name, wish).await;
            seen.expect("a creation is answered").ticket
        }));
    }
    let mut told = Vec::new();
    for racer in racers {
        told.push(racer.await.expect("a racer does not panic"));
    }
    let stored = read(&world.store, &name).await.ticket;
    assert!(told.iter().all(|ticket| *ticket == stored), "{told:?}");
    assert_eq!(page(&world.other, PoolCursor::default()).await.changed, [stored]);
}

/// Nor renewed, nor queued again; and asking makes none.
pub async fn a_ticket_that_was_never_created_is_not_found(world: Arc<World>) {
    let name = name(&world).await;
    // Before anybody waits in its pool, and after.
    for _ in 0..2 {
        assert_eq!(world.store.ticket(&name).await, Err(StoreError::NotFound));
        assert_eq!(world.store.renew_ticket(&name).await, Err(StoreError::NotFound));
        assert_eq!(world.store.requeue(&name, world.id()).await, Err(StoreError::NotFound));
        assert_eq!(world.other.ticket(&name).await, Err(StoreError::NotFound));
        enqueue(&world, "players/ann").await;
    }
}

/// Whatever is asked for afterwards.
pub async fn a_ticket_that_was_left_never_waits_again(world: Arc<World>) {
    let waits = enqueue(&world, "players/ann").await.ticket;
    let cancelled = Ticket { state: TicketState::Cancelled, ..waits.clone() };
    assert_eq!(leave(&world.other, &waits.name).await.ticket, cancelled);
    let place = end(&world).await;
    assert_eq!(leave(&world.store, &waits.name).await.ticket, cancelled);
    assert_eq!(renew(&world.other, &waits.name).await.ticket, cancelled);
    let requeued = world.other.requeue(&waits.name, world.id()).await.expect("a requeue is answered");
    assert_eq!(requeued.ticket, cancelled);
    let created = world.store.create_ticket(&waits.name, wish("players/ann")).await;
    assert_eq!(created.expect("creating again is answered").ticket, cancelled);
    sees(&world, &cancelled).await;
    assert_eq!(page(&world.store, place).await.changed, []);
}

/// So that no creation that is still on its way makes a ghost.
pub async fn a_ticket_that_is_left_before_it_comes_is_cancelled_when_it_comes(world: Arc<World>) {
    let name = name(&world).await;
    let left = leave(&world.store, &name).await.ticket;
    assert_eq!((&left.name, &left.wish, left.state), (&name, &None, TicketState::Cancelled));
    for node in world.nodes() {
        let created = node.create_ticket(&name, wish("players/ann")).await;
        assert_eq!(created.expect("a creation is answered").ticket, left);
    }
    sees(&world, &left).await;
}

/// Whichever comes first, nobody waits in the end.
pub async fn of_a_leave_and_a_creation_at_once_nothing_waits(world: Arc<World>) {
    for _ in 0..ROUNDS {
        let name = name(&world).await;
        let (leaves, creates) = (Arc::clone(&world), Arc::clone(&world));
        let (left, created) = (name.clone(), name.clone());
        let left = tokio::spawn(async move { leave(&leaves.store, &left).await.ticket.state });
        let created =
            tokio::spawn(async move { creates.other.create_ticket(&created, wish("players/ann")).await });
        assert_eq!(left.await.expect("it does not panic"), TicketState::Cancelled);
        created.await.expect("it does not panic").expect("a creation is answered");
        stands(&world, &name, TicketState::Cancelled).await;
    }
}

/// It may have been there, and ended, and been forgotten. Leaving it is answered all the same.
pub async fn a_creation_that_comes_too_late_is_refused(world: Arc<World>) {
    let now = now(&world).await.as_ms();
    let made = |ms| name_made(&world, referee::Stamp::from_ms(ms));
    let (late, early) = (made(now - Ticket::RETENTION_MS - 1), made(now - Ticket::RETENTION_MS + MARGIN_MS));
    for node in world.nodes() {
        assert_eq!(node.create_ticket(&late, wish("players/ann")).await, Err(StoreError::NotFound));
        assert_eq!(node.ticket(&late).await, Err(StoreError::NotFound));
        assert_eq!(leave(node, &late).await.ticket.state, TicketState::Cancelled);
        assert_eq!(node.create_ticket(&late, wish("players/ann")).await, Err(StoreError::NotFound));
    }
    let created = world.store.create_ticket(&early, wish("players/ann")).await;
    assert!(created.expect("it is not too late").ticket.is_waiting());
}

/// The last moment is part of the time for it.
pub async fn a_ticket_can_be_created_until_its_last_moment_and_never_after(world: Arc<World>) {
    let (first, second) = (name(&world).await, name(&world).await);
    world.leap_ms(Ticket::RETENTION_MS).await;
    let created = world.store.create_ticket(&first, wish("players/ann")).await;
    assert!(created.expect("it is not too late").ticket.is_waiting());
    world.leap_ms(1).await;
    let created = world.store.create_ticket(&second, wish("players/ann")).await;
    assert_eq!(created, Err(StoreError::NotFound));
}

/// The last moment is part of the lease; afterwards it is expired though nobody has looked, and stays so.
pub async fn a_ticket_waits_to_the_last_moment_of_its_lease_and_never_after(world: Arc<World>) {
    let waits = enqueue(&world, "players/ann").await.ticket;
    world.leap_ms(Ticket::LEASE_MS).await;
    sees(&world, &waits).await;
    world.leap_ms(1).await;
    let expired = Ticket { state: TicketState::Expired, ..waits.clone() };
    sees(&world, &expired).await;
    assert_eq!(renew(&world.store, &waits.name).await.ticket, expired);
    assert_eq!(leave(&world.other, &waits.name).await.ticket, expired);
    let created = world.other.create_ticket(&waits.name, wish("players/ann")).await;
    assert_eq!(created.expect("creating again is answered").ticket, expired);
    sees(&world, &expired).await;
}

/// As old as before, and nobody who reads the pool is told.
pub async fn a_renewed_ticket_waits_on(world: Arc<World>) {
    let ticket = enqueue(&world, "players/ann").await.ticket;
    let place = end(&world).await;
    for round in 1..=5 {
        world.leap_ms(Ticket::LEASE_MS - 1).await;
        let renewed = renew(world.nodes()[round % 2], &ticket.name).await;
        let lease_until = renewed.now.plus_ms(Ticket::LEASE_MS);
        let state = TicketState::Waiting { lease_until, aborted: None };
        assert_eq!(renewed.ticket, Ticket { state, ..ticket.clone() });
        sees(&world, &renewed.ticket).await;
        assert_eq!(page(&world.other, place).await.changed, []);
    }
}

/// As a change like any other.
pub async fn whoever_reads_the_pool_is_told_of_lapsed_leases(world: Arc<World>) {
    let (lapses, stays) = (enqueue(&world, "players/ann").await, enqueue(&world, "players/bob").await);
    let (lapses, stays) = (lapses.ticket, stays.ticket);
    let place = end(&world).await;
    world.leap_ms(Ticket::LEASE_MS).await;
    renew(&world.store, &stays.name).await;
    assert_eq!(page(&world.other, place).await.changed, []);
    world.leap_ms(1).await;
    let expired = Ticket { state: TicketState::Expired, ..lapses };
    let told = page(&world.other, place).await;
    assert_eq!(told.changed, from_ref(&expired));
    assert_eq!(page(&world.store, told.next).await.changed, [], "each change comes once");
    let all = page(&world.store, PoolCursor::default()).await;
    assert_eq!(names(&all), [stays.name, expired.name], "it has changed last");
}

/// However it ended, and then neither it nor another of its name.
pub async fn a_ticket_that_has_ended_is_kept_for_its_retention_and_never_comes_back(world: Arc<World>) {
    let mut tickets = Vec::new();
    for player in ["players/ann", "players/bob", "players/cid"] {
        tickets.push(enqueue(&world, player).await.ticket.name);
    }
    let tombstone = name(&world).await;
    world.leap_ms(Ticket::LEASE_MS + 1).await;
    let lasting = enqueue(&world, "players/dan").await.ticket.name;
    let game = paired(&world, &lasting, &lasting);
    claim(&world.store, &[&lasting], &game).await;
    leave(&world.store, &tombstone).await;
    page(&world.store, PoolCursor::default()).await;
    tickets.extend([lasting.clone(), tombstone]);
    world.leap_ms(Ticket::RETENTION_MS).await;
    let kept = page(&world.other, PoolCursor::default()).await;
    let as_set = |names: &[_]| names.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(as_set(&names(&kept)), as_set(&tickets));
    stands(&world, &tickets[0], TicketState::Expired).await;
    stands(&world, &lasting, matched(&game)).await;
    world.leap_ms(1).await;
    for _ in 0..2 {
        for name in &tickets {
            assert_eq!(world.other.ticket(name).await, Err(StoreError::NotFound));
            let created = world.store.create_ticket(name, wish("players/ann")).await;
            assert_eq!(created, Err(StoreError::NotFound));
        }
        assert_eq!(page(&world.store, PoolCursor::default()).await.changed, []);
    }
    assert_eq!(page(&world.store, kept.next).await.changed, [], "to be forgotten is no change");
}
