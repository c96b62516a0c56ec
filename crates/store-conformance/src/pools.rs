//! Pools: whoever reads on is told of every change.

use std::collections::{BTreeSet, HashMap};
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use matchmaker::TicketId;
use store::{Claim, PoolCursor, PoolName, PoolPage, StoreError, Ticket, TicketName, TicketState};

use crate::queue::{
    claim, end, enqueue, enqueue_many, leave, matched, name, names, page, paired, pool, read, renew, requeue,
    wish,
};
use crate::world::World;

/// Players who come and go while somebody reads, and tickets of each.
const PLAYERS: usize = 4;
const TICKETS_EACH: usize = 25;

/// A ticket that has changed twice stands where its last change is.
pub async fn a_page_shows_each_ticket_once_in_the_order_of_the_last_changes(world: Arc<World>) {
    let tickets = enqueue_many(&world, 3).await;
    let [one, two, three] = [&tickets[0], &tickets[1], &tickets[2]].map(TicketName::clone);
    let first = page(&world.other, PoolCursor::default()).await;
    assert_eq!(names(&first), tickets);
    assert!(!first.more && !first.restarted);
    for ticket in &first.changed {
        assert_eq!(ticket, &read(&world.store, &ticket.name).await.ticket);
    }
    assert_eq!(page(&world.store, first.next).await.changed, [], "nothing has changed since");

    let game = paired(&world, &two, &one);
    assert_eq!(claim(&world.store, &[&two, &one], &game).await, Claim::Claimed);
    let second = page(&world.store, first.next).await;
    assert_eq!(names(&second), [two.clone(), one.clone()]);
    assert!(second.changed.iter().all(|ticket| ticket.state == matched(&game)));
    requeue(&world.store, &two, &game).await;
    leave(&world.store, &three).await;
    leave(&world.store, &two).await;
    let third = page(&world.other, second.next).await;
    assert_eq!(names(&third), [three.clone(), two.clone()]);
    assert!(third.changed.iter().all(|ticket| ticket.state == TicketState::Cancelled));
    assert_eq!(names(&page(&world.store, PoolCursor::default()).await), [one, three, two]);
    assert_eq!(
        names(&page(&world.store, first.next).await),
        names(&page(&world.other, PoolCursor::default()).await)
    );
}

/// Whatever was asked for.
pub async fn what_changes_nothing_is_no_change(world: Arc<World>) {
    let tickets = enqueue_many(&world, 3).await;
    let game = paired(&world, &tickets[1], &tickets[2]);
    claim(&world.store, &[&tickets[1], &tickets[2]], &game).await;
    leave(&world.store, &tickets[2]).await;
    let place = end(&world).await;
    for name in &tickets {
        renew(&world.store, name).await;
        world.store.create_ticket(name, wish("players/eve")).await.expect("creating again is answered");
    }
    leave(&world.store, &tickets[2]).await;
    requeue(&world.store, &tickets[0], &game).await;
    requeue(&world.store, &tickets[2], &game).await;
    claim(&world.store, &[&tickets[1], &tickets[2]], &game).await;
    claim(&world.store, &[&tickets[0], &tickets[1]], &paired(&world, &tickets[0], &tickets[1])).await;
    world.store.made(&pool(), game.id).await.expect("a match is made");
    assert_eq!(world.store.ticket(&name(&world).await).await, Err(StoreError::NotFound));
    assert_eq!(page(&world.other, place).await.changed, []);
}

/// A full one says that there is more.
pub async fn pages_of_a_pool_show_every_ticket_once(world: Arc<World>) {
    let tickets = enqueue_many(&world, PoolPage::TICKETS_MAX + 1).await;
    let first = page(&world.store, PoolCursor::default()).await;
    assert_eq!(names(&first), tickets[..PoolPage::TICKETS_MAX]);
    assert!(first.more);
    // What changes meanwhile comes after all the others.
    leave(&world.store, &tickets[0]).await;
    let second = page(&world.store, first.next).await;
    assert_eq!(names(&second), [tickets[PoolPage::TICKETS_MAX].clone(), tickets[0].clone()]);
    assert!(!second.more);
    let all = page(&world.other, PoolCursor::default()).await;
    assert_eq!(names(&all), tickets[1..]);
    assert_eq!(names(&page(&world.other, all.next).await), [tickets[0].clone()]);
}

/// What he has pieced together is what is there.
pub async fn a_reader_of_a_pool_misses_nothing_while_players_come_and_go(world: Arc<World>) {
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (world, done) = (Arc::clone(&world), Arc::clone(&done));
        tokio::spawn(async move {
            let (mut known, mut after) = (HashMap::new(), PoolCursor::default());
            loop {
                let was_done = done.load(Ordering::Acquire);
                let page = page(&world.other, after).await;
                assert!(!page.restarted, "a place that was given is kept");
                after = page.next;
                known.extend(page.changed.into_iter().map(|ticket| (ticket.name.clone(), ticket)));
                if was_done && !page.more {
                    return known;
                }
                tokio::task::yield_now().await;
            }
        })
    };
    let mut players = Vec::new();
    for player in 0..PLAYERS {
        let world = Arc::clone(&world);
        players.push(tokio::spawn(async move {
            let mut tickets = Vec::new();
            for number in 0..TICKETS_EACH {
                let name = enqueue(&world, &format!("players/p{player}")).await.ticket.name;
                let game = paired(&world, &name, &name);
                if number % 2 == 0 {
                    claim(world.nodes()[player % 2], &[&name], &game).await;
                }
                if number % 3 == 0 {
                    leave(world.nodes()[number % 2], &name).await;
                }
                if number % 5 == 0 {
                    requeue(&world.store, &name, &game).await;
                }
                tickets.push(name);
            }
            tickets
        }));
    }
    let mut expected: HashMap<TicketName, Ticket> = HashMap::new();
    for player in players {
        for name in player.await.expect("a player does not panic") {
            let ticket = read(&world.store, &name).await.ticket;
            expected.insert(name, ticket);
        }
    }
    done.store(true, Ordering::Release);
    assert_eq!(reader.await.expect("the reader does not panic"), expected);
}

/// He has read what is lost, and begins again.
pub async fn a_reader_who_is_ahead_of_a_pool_is_told_to_begin_again(world: Arc<World>) {
    let tickets = enqueue_many(&world, 2).await;
    let end = end(&world).await;
    let ahead = page(&world.other, PoolCursor(end.0 + 1)).await;
    assert!(ahead.restarted);
    assert_eq!(names(&ahead), tickets);
    let on = page(&world.other, ahead.next).await;
    assert!(!on.restarted && on.changed.is_empty());
}

/// It has nothing, and the first who comes is told.
pub async fn a_pool_that_nobody_has_waited_in_is_empty(world: Arc<World>) {
    let empty = page(&world.store, PoolCursor::default()).await;
    assert_eq!(
        (&empty.changed[..], empty.more, empty.restarted, &empty.owed[..]),
        (&[][..], false, false, &[][..])
    );
    let ticket = enqueue(&world, "players/ann").await.ticket;
    assert_eq!(page(&world.other, empty.next).await.changed, [ticket]);
    let never = PoolName::new("never").expect("a pool's name");
    let claimed =
        world.store.claim(&never, &[TicketId::from_bytes([1; 16])], &paired_with_nobody(&world)).await;
    assert_eq!(claimed, Ok(Claim::Gone(vec![TicketId::from_bytes([1; 16])])));
    world.store.made(&never, world.id()).await.expect("making is answered");
}

fn paired_with_nobody(world: &World) -> referee::NewMatch {
    let name = TicketName { pool: pool(), id: TicketId::from_bytes([1; 16]) };
    paired(world, &name, &name)
}

/// Also those whose names begin alike, and tickets with the same id.
pub async fn pools_are_apart(world: Arc<World>) {
    let own = enqueue(&world, "players/ann").await.ticket;
    let mut others = Vec::new();
    for pool in ["eu", "eu.ranked2", "eu.ranke", "EU.ranked"] {
        let pool = PoolName::new(pool).expect("a pool's name");
        let name = TicketName { pool: pool.clone(), id: own.name.id };
        assert_eq!(world.store.ticket(&name).await, Err(StoreError::NotFound));
        let created = world.store.create_ticket(&name, wish("players/bob")).await;
        let ticket = created.expect("a ticket can be created").ticket;
        let shown = world.other.pool(&pool, PoolCursor::default()).await.expect("a pool can be read");
        assert_eq!(shown.changed, from_ref(&ticket));
        others.push(ticket);
    }
    let game = paired(&world, &own.name, &own.name);
    assert_eq!(claim(&world.store, &[&own.name], &game).await, Claim::Claimed);
    let seen: BTreeSet<TicketName> = others.iter().map(|ticket| ticket.name.clone()).collect();
    assert_eq!(seen.len(), others.len());
    for ticket in others {
        let read = read(&world.other, &ticket.name).await;
        assert_eq!((read.ticket, read.owed, read.usual_wait_ms), (ticket, None, None));
    }
}
