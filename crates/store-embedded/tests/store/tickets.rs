//! What the next process finds of those who waited, and what is seen meanwhile.

use std::pin::pin;
use std::task::{Context, Waker};

use store::{PoolCursor, RecordStore as _, Speed, StoreError, Ticket, TicketState, TicketStore as _};
use store_embedded::{Checked, check};

use crate::queue::{claim, enqueue, name, page, paired, pool, state, wish};
use crate::{game, place};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

#[tokio::test]
async fn whoever_waited_waits_on_with_a_new_lease() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    let ticket = enqueue(&store, 1).await;
    let place = page(&store, PoolCursor::default()).await.next;
    clock.advance_ms(Ticket::LEASE_MS);
    store.renew_ticket(&name(1)).await.expect("a renewal is answered");
    drop(store);
    // Nobody could renew it, however long that takes.
    clock.advance_ms(DAY_MS);

    let store = place::open(directory.path(), &clock);
    let seen = store.ticket(&name(1)).await.expect("it is there");
    let lease_until = seen.now.plus_ms(Ticket::LEASE_MS);
    assert_eq!(seen.ticket, Ticket { state: TicketState::Waiting { lease_until, aborted: None }, ..ticket });
    let on = page(&store, place).await;
    assert_eq!((on.changed, on.restarted), (vec![], false), "a place is kept");
    clock.advance_ms(Ticket::LEASE_MS + 1);
    assert_eq!(page(&store, place).await.changed.len(), 1);
    assert_eq!(state(&store, 1).await, TicketState::Expired);
}

#[tokio::test]
async fn whatever_became_of_a_ticket_is_known_in_the_next_process() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    for number in 1..=8 {
        enqueue(&store, number).await;
    }
    clock.advance_ms(8_000);
    let (owed, made, aborted) = (paired(1, 1, 2), paired(2, 3, 4), paired(3, 5, 6));
    for (game, tickets) in [(&owed, [1, 2]), (&made, [3, 4]), (&aborted, [5, 6])] {
        claim(&store, game, &tickets).await;
    }
    store.made(&pool(), made.id).await.expect("a match is made");
    store.requeue(&name(5), aborted.id).await.expect("a requeue is answered");
    for number in [2, 7, 9] {
        store.leave_ticket(&name(number)).await.expect("leaving is answered");
    }
    clock.advance_ms(Ticket::LEASE_MS - 8_000 + 1);
    let before = page(&store, PoolCursor::default()).await;
    drop(store);

    let store = place::open(directory.path(), &clock);
    let matched = |game: &referee::NewMatch, left| TicketState::Matched { match_id: game.id, left };
    let lease_until = before.now.plus_ms(Ticket::LEASE_MS);
    let states = [
        (1, matched(&owed, false)),
        (2, matched(&owed, true)),
        (3, matched(&made, false)),
        (4, matched(&made, false)),
        (5, TicketState::Waiting { lease_until, aborted: Some(aborted.id) }),
        (6, matched(&aborted, false)),
        (7, TicketState::Cancelled),
        (8, TicketState::Expired),
        (9, TicketState::Cancelled),
    ];
    for (number, expected) in states {
        let seen = store.ticket(&name(number)).await.expect("it is there");
        assert_eq!(seen.ticket.state, expected, "ticket {number}");
        assert_eq!(seen.usual_wait_ms, Some(8_000));
        let is_owed = [1, 2].contains(&number).then_some(&owed);
        let is_owed = is_owed.or([6].contains(&number).then_some(&aborted));
        assert_eq!(seen.owed.as_ref(), is_owed);
        let came = number != 9;
        assert_eq!(seen.ticket.wish, came.then(wish));
        let created = store.create_ticket(&name(number), wish()).await.expect("it is there");
        assert_eq!(created.ticket.state, expected);
    }
    let after = page(&store, PoolCursor::default()).await;
    assert_eq!(after.owed, [owed.clone(), aborted.clone()]);
    let order =
        |page: &store::PoolPage| -> Vec<_> { page.changed.iter().map(|it| it.name.clone()).collect() };
    assert_eq!((order(&after), after.next), (order(&before), before.next));
    assert_eq!(page(&store, before.next).await.changed, []);

    drop(store);
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!((found.tickets, found.owed, found.problems), (9, 2, vec![]));
    let store = place::open(directory.path(), &clock);
    for game in [owed, aborted] {
        store.made(&pool(), game.id).await.expect("a match is made");
    }
    clock.advance_ms(Ticket::LEASE_MS + 1);
    page(&store, PoolCursor::default()).await;
    clock.advance_ms(Ticket::RETENTION_MS + 1);
    let last = page(&store, before.next).await;
    assert_eq!((last.changed, last.restarted), (vec![], false));
    drop(store);
    let found = check(directory.path(), &place::keyring()).expect("it can be checked");
    assert_eq!(found, Checked::default(), "nothing of them is left");
    let store = place::open(directory.path(), &clock);
    assert!(!page(&store, last.next).await.restarted, "the count of changes is");
}

#[tokio::test]
async fn nothing_is_seen_before_it_is_written_and_a_caller_who_is_gone_blocks_nobody() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    // On this runtime nothing is written before this task waits.
    let mut context = Context::from_waker(Waker::noop());
    let created = name(1);
    assert!(pin!(store.create_ticket(&created, wish())).as_mut().poll(&mut context).is_pending());
    assert!(pin!(store.rank(Speed(1), game::BLACK, 5, 1)).as_mut().poll(&mut context).is_pending());
    assert_eq!(store.ticket(&name(1)).await, Err(StoreError::NotFound));
    assert_eq!(store.leaderboard(Speed(1), 0, 1).await, Ok(vec![]));
    let seen = page(&store, PoolCursor::default()).await;
    assert_eq!((seen.changed, seen.next), (vec![], PoolCursor::default()));
    // Both callers are gone. Whoever comes next is after them.
    enqueue(&store, 2).await;
    store.rank(Speed(1), game::BLACK, 3, 0).await.expect("a player can be ranked");
    let names: Vec<_> = page(&store, seen.next).await.changed.into_iter().map(|ticket| ticket.name).collect();
    assert_eq!(names, [name(1), name(2)]);
    let board = store.leaderboard(Speed(1), 0, 2).await.expect("a board can be read");
    assert_eq!(board.iter().map(|line| line.points_micro).collect::<Vec<_>>(), [5]);
}

#[tokio::test]
async fn changes_that_wait_are_written_together_in_their_order_but_not_those_whose_caller_is_gone() {
    let (clock, directory) = (place::clock(), place::directory());
    let store = place::open(directory.path(), &clock);
    let names = [1, 2, 3].map(name);
    let [mut first, mut second, mut left] = [
        Box::pin(store.create_ticket(&names[0], wish())),
        Box::pin(store.create_ticket(&names[1], wish())),
        Box::pin(store.leave_ticket(&names[1])),
    ];
    let mut gone = Box::pin(store.create_ticket(&names[2], wish()));
    let mut context = Context::from_waker(Waker::noop());
    for change in [&mut first, &mut second, &mut left, &mut gone] {
        assert!(change.as_mut().poll(&mut context).is_pending());
    }
    drop(gone);
    let (first, second, left) = tokio::join!(first, second, left);
    assert!(first.expect("a ticket can be created").ticket.is_waiting());
    assert!(second.expect("a ticket can be created").ticket.is_waiting(), "that was before he left");
    assert_eq!(left.expect("leaving is answered").ticket.state, TicketState::Cancelled);
    assert_eq!(store.ticket(&names[2]).await, Err(StoreError::NotFound));
    let names: Vec<_> =
        page(&store, PoolCursor::default()).await.changed.into_iter().map(|ticket| ticket.name).collect();
    assert_eq!(names, [name(1), name(2)]);
}
