//! Claims: tickets are matched, all or none, and wait again where their match never began.

use std::collections::HashMap;
use std::slice::from_ref;
use std::sync::Arc;

use sealing::MatchId;
use store::{Claim, PoolCursor, PoolPage, Ticket, TicketState};

use crate::queue::{
    claim, end, enqueue, enqueue_many, gone, leave, left, matched, name, names, page, paired, pool, read,
    renew, requeue, sees, stands,
};
use crate::world::World;

/// Rounds of a race of two.
const ROUNDS: usize = 40;

/// Tickets that matchmakers race for.
const TICKETS: usize = 16;

/// Every node sees that, and what is to be made.
pub async fn a_claim_matches_all_its_tickets_and_owes_the_match(world: Arc<World>) {
    let (one, two) = (enqueue(&world, "players/ann").await, enqueue(&world, "players/bob").await);
    let (one, two) = (one.ticket, two.ticket);
    let game = paired(&world, &one.name, &two.name);
    assert_eq!(claim(&world.other, &[&one.name, &two.name], &game).await, Claim::Claimed);
    for ticket in [one, two] {
        sees(&world, &Ticket { state: matched(&game), ..ticket.clone() }).await;
        for node in world.nodes() {
            assert_eq!(read(node, &ticket.name).await.owed, Some(game.clone()));
        }
    }
}

/// Also once its match was made, and once one of them waits again.
pub async fn claiming_again_for_the_same_match_changes_nothing(world: Arc<World>) {
    let names = enqueue_many(&world, 2).await;
    let (one, two) = (&names[0], &names[1]);
    let game = paired(&world, one, two);
    assert_eq!(claim(&world.store, &[one, two], &game).await, Claim::Claimed);
    let place = end(&world).await;
    assert_eq!(claim(&world.other, &[one, two], &game).await, Claim::Claimed);
    world.store.made(&pool(), game.id).await.expect("a match is made");
    assert_eq!(claim(&world.other, &[one, two], &game).await, Claim::Claimed);
    assert_eq!(read(&world.store, one).await.owed, None);
    assert_eq!(page(&world.store, place).await.changed, []);
    let waits = requeue(&world.store, one, &game).await.ticket;
    assert!(waits.is_waiting());
    assert_eq!(claim(&world.other, &[one, two], &game).await, Claim::Claimed);
    sees(&world, &waits).await;
    stands(&world, two, matched(&game)).await;
    assert_eq!(read(&world.store, two).await.owed, None);
    let both = [waits, requeue(&world.store, two, &game).await.ticket];
    assert_eq!(claim(&world.other, &[one, two], &game).await, Claim::Claimed);
    for waits in both {
        sees(&world, &waits).await;
    }
}

/// A ticket that was cancelled, one that was matched with another, and one that never was.
pub async fn a_claim_that_fails_names_what_is_gone_and_changes_nothing(world: Arc<World>) {
    let tickets = enqueue_many(&world, 4).await;
    let [waits, cancelled, taken, other] = [&tickets[0], &tickets[1], &tickets[2], &tickets[3]];
    let never = name(&world).await;
    leave(&world.store, cancelled).await;
    let first = paired(&world, taken, other);
    assert_eq!(claim(&world.store, &[taken, other], &first).await, Claim::Claimed);
    world.store.made(&pool(), first.id).await.expect("a match is made");
    let before = read(&world.store, waits).await.ticket;
    let place = end(&world).await;
    let second = paired(&world, waits, taken);
    gone(claim(&world.other, &[waits, taken], &second).await, &[taken]);
    gone(claim(&world.other, &[cancelled, waits], &second).await, &[cancelled]);
    let all = [&never, waits, cancelled, taken];
    gone(claim(&world.other, &all, &second).await, &[&never, cancelled, taken]);
    sees(&world, &before).await;
    stands(&world, taken, matched(&first)).await;
    assert_eq!(read(&world.store, taken).await.owed, None);
    assert_eq!(page(&world.store, place).await.changed, []);
    assert_eq!(
        claim(&world.store, &[waits], &second).await,
        Claim::Claimed,
        "it is still there to be claimed"
    );
}

/// The one they share is matched once, and who loses gives up the other.
pub async fn of_two_claims_that_share_a_ticket_exactly_one_wins(world: Arc<World>) {
    for _ in 0..ROUNDS {
        let names = enqueue_many(&world, 3).await;
        let games = [paired(&world, &names[0], &names[1]), paired(&world, &names[1], &names[2])];
        let mut racers = Vec::new();
        for racer in 0..2 {
            let (world, game, names) = (Arc::clone(&world), games[racer].clone(), names.clone());
            racers.push(tokio::spawn(async move {
                claim(world.nodes()[racer], &[&names[racer], &names[racer + 1]], &game).await
            }));
        }
        let mut won = Vec::new();
        for (racer, claimed) in racers.into_iter().enumerate() {
            match claimed.await.expect("a racer does not panic") {
                Claim::Claimed => won.push(racer),
                lost => gone(lost, &[&names[1]]),
            }
        }
        let [winner] = won[..] else { panic!("{won:?} have won") };
        stands(&world, &names[1], matched(&games[winner])).await;
        stands(&world, &names[2 * winner], matched(&games[winner])).await;
        assert!(read(&world.store, &names[2 - 2 * winner]).await.ticket.is_waiting());
    }
}

/// However many matchmakers there are, a ticket is in one match, and a match has both of its tickets or none.
pub async fn of_many_claims_at_once_each_ticket_is_in_one_match(world: Arc<World>) {
    let names = Arc::new(enqueue_many(&world, TICKETS).await);
    let mut racers = Vec::new();
    for racer in 0..4 {
        let (world, names) = (Arc::clone(&world), Arc::clone(&names));
        racers.push(tokio::spawn(async move {
            let mut claimed = Vec::new();
            for step in 0..TICKETS {
                // Each begins elsewhere, and pairs tickets at another distance.
                let (one, two) = ((4 * racer + step) % TICKETS, (4 * racer + 2 * step + 1) % TICKETS);
                if one == two {
                    continue;
                }
                let game = paired(&world, &names[one], &names[two]);
                let answer = claim(world.nodes()[racer % 2], &[&names[one], &names[two]], &game).await;
                if answer == Claim::Claimed {
                    claimed.push((game.id, [one, two]));
                }
            }
            claimed
        }));
    }
    let mut match_of: HashMap<usize, MatchId> = HashMap::new();
    for racer in racers {
        for (match_id, pair) in racer.await.expect("a racer does not panic") {
            for ticket in pair {
                assert_eq!(match_of.insert(ticket, match_id), None, "a ticket is in one match");
            }
        }
    }
    for (number, name) in names.iter().enumerate() {
        let state = read(&world.other, name).await.ticket.state;
        let in_match = match state {
            TicketState::Matched { match_id, .. } => Some(match_id),
            _ => None,
        };
        assert_eq!(in_match, match_of.get(&number).copied());
    }
    assert!(!match_of.is_empty(), "the first claim of all wins");
}

/// Cancelled, and then the other one waits on; or matched, and then the player knows it.
pub async fn of_a_leave_and_a_claim_at_once_there_is_one_outcome(world: Arc<World>) {
    for _ in 0..ROUNDS {
        let names = enqueue_many(&world, 2).await;
        let game = paired(&world, &names[0], &names[1]);
        let (leaves, claims) = (Arc::clone(&world), Arc::clone(&world));
        let (leaving, claiming, claimed_game) = (names[0].clone(), names.clone(), game.clone());
        let leaving = tokio::spawn(async move { leave(&leaves.store, &leaving).await.ticket.state });
        let claiming =
            tokio::spawn(
                async move { claim(&claims.other, &[&claiming[0], &claiming[1]], &claimed_game).await },
            );
        let state = leaving.await.expect("it does not panic");
        let claimed = claiming.await.expect("it does not panic");
        stands(&world, &names[0], state).await;
        if state == TicketState::Cancelled {
            gone(claimed, &[&names[0]]);
            assert!(read(&world.store, &names[1]).await.ticket.is_waiting());
        } else {
            assert_eq!((state, claimed), (left(&game), Claim::Claimed));
            stands(&world, &names[1], matched(&game)).await;
        }
    }
}

/// To whoever reads one of its tickets; and making it again is harmless.
pub async fn a_match_is_owed_until_it_is_made(world: Arc<World>) {
    let names = enqueue_many(&world, 2).await;
    let game = paired(&world, &names[0], &names[1]);
    world.store.made(&pool(), game.id).await.expect("a match that nobody claimed is made");
    claim(&world.store, &[&names[0], &names[1]], &game).await;
    leave(&world.store, &names[1]).await;
    world.other.made(&pool(), world.id()).await.expect("another match is made");
    for name in &names {
        assert_eq!(read(&world.other, name).await.owed, Some(game.clone()));
    }
    for node in world.nodes() {
        node.made(&pool(), game.id).await.expect("a match is made");
        for name in &names {
            assert_eq!(read(&world.store, name).await.owed, None);
        }
    }
    stands(&world, &names[0], matched(&game)).await;
}

/// With the age it had, and it can be matched again; once for each match that was aborted.
pub async fn a_ticket_whose_match_was_aborted_waits_again_once(world: Arc<World>) {
    let one = enqueue(&world, "players/ann").await.ticket;
    let two = enqueue(&world, "players/bob").await.ticket;
    let first = paired(&world, &one.name, &two.name);
    claim(&world.store, &[&one.name, &two.name], &first).await;
    let place = end(&world).await;
    let other = requeue(&world.other, &one.name, &paired(&world, &one.name, &two.name)).await;
    assert_eq!(other.ticket.state, matched(&first), "it was not that match");
    let waits = requeue(&world.other, &one.name, &first).await;
    let TicketState::Waiting { lease_until, aborted } = waits.ticket.state else {
        panic!("it waits: {waits:?}")
    };
    assert_eq!((aborted, waits.owed.clone()), (Some(first.id), None));
    assert_eq!((waits.ticket.created, &waits.ticket.wish), (one.created, &one.wish));
    assert!(lease_until >= one.created.plus_ms(Ticket::LEASE_MS));
    assert_eq!(page(&world.store, place).await.changed, from_ref(&waits.ticket));

    let again = requeue(&world.store, &one.name, &first).await;
    assert_eq!(again.ticket, waits.ticket);
    let second = paired(&world, &two.name, &one.name);
    assert_eq!(claim(&world.store, &[&one.name], &second).await, Claim::Claimed);
    for node in world.nodes() {
        assert_eq!(
            requeue(node, &one.name, &first).await.ticket.state,
            matched(&second),
            "that was long ago"
        );
    }
    let waits = requeue(&world.store, &one.name, &second).await.ticket;
    assert!(matches!(waits.state, TicketState::Waiting { aborted, .. } if aborted == Some(second.id)));
    assert_eq!(waits.created, one.created);
}

/// Neither after a match, nor before one.
pub async fn whoever_left_his_ticket_is_not_queued_again(world: Arc<World>) {
    let names = enqueue_many(&world, 2).await;
    let game = paired(&world, &names[0], &names[1]);
    claim(&world.store, &[&names[0], &names[1]], &game).await;
    for node in world.nodes() {
        assert_eq!(leave(node, &names[0]).await.ticket.state, left(&game));
        assert_eq!(requeue(node, &names[0], &game).await.ticket.state, left(&game));
        assert_eq!(renew(node, &names[0]).await.ticket.state, left(&game));
    }
    requeue(&world.store, &names[1], &game).await;
    leave(&world.store, &names[1]).await;
    requeue(&world.store, &names[1], &game).await;
    stands(&world, &names[1], TicketState::Cancelled).await;
}

/// Though nobody has noticed that it lapsed.
pub async fn a_ticket_is_claimed_within_its_lease_only(world: Arc<World>) {
    let first = enqueue_many(&world, 2).await;
    world.leap_ms(1).await;
    let later = enqueue(&world, "players/cid").await.ticket;
    world.leap_ms(Ticket::LEASE_MS).await;
    let game = paired(&world, &first[0], &later.name);
    gone(claim(&world.store, &[&first[0], &later.name], &game).await, &[&first[0]]);
    sees(&world, &later).await;
    assert_eq!(claim(&world.other, &[&later.name], &game).await, Claim::Claimed, "at its last moment");
    gone(claim(&world.other, &[&first[1]], &paired(&world, &first[1], &first[0])).await, &[&first[1]]);
}

/// Until then it is for whoever claimed it to make it.
pub async fn a_match_that_is_owed_for_long_is_told_to_whoever_reads_the_pool(world: Arc<World>) {
    let names = enqueue_many(&world, 4).await;
    let early = paired(&world, &names[0], &names[1]);
    claim(&world.store, &[&names[0], &names[1]], &early).await;
    world.leap_ms(PoolPage::OWED_AFTER_MS - 1).await;
    let late = paired(&world, &names[2], &names[3]);
    claim(&world.store, &[&names[2], &names[3]], &late).await;
    let owed = async || page(&world.other, end(&world).await).await.owed;
    assert_eq!(owed().await, []);
    world.leap_ms(2).await;
    assert_eq!(owed().await, from_ref(&early));
    world.leap_ms(PoolPage::OWED_AFTER_MS).await;
    assert_eq!(owed().await, [early.clone(), late.clone()]);
    world.store.made(&pool(), early.id).await.expect("a match is made");
    assert_eq!(owed().await, [late]);
    world.leap_ms(2 * Ticket::RETENTION_MS).await;
    assert_eq!(owed().await.len(), 1, "however long that takes");
}

/// A page has so many at most, those that are owed the longest.
pub async fn what_is_owed_comes_up_to_a_limit(world: Arc<World>) {
    let names = enqueue_many(&world, PoolPage::OWED_MAX + 1).await;
    let mut games = Vec::new();
    for name in &names {
        let game = paired(&world, name, name);
        claim(&world.store, &[name], &game).await;
        games.push(game);
        world.leap_ms(1).await;
    }
    world.leap_ms(PoolPage::OWED_AFTER_MS).await;
    let owed = page(&world.other, PoolCursor::default()).await.owed;
    assert_eq!(owed, games[..PoolPage::OWED_MAX]);
    world.store.made(&pool(), games[0].id).await.expect("a match is made");
    let owed = page(&world.other, PoolCursor::default()).await.owed;
    assert_eq!(owed, games[1..]);
}

/// From the moment on at which it waits again; asking again gives no other.
pub async fn a_ticket_that_waits_again_has_a_new_lease(world: Arc<World>) {
    let ticket = enqueue(&world, "players/ann").await.ticket;
    let game = paired(&world, &ticket.name, &ticket.name);
    claim(&world.store, &[&ticket.name], &game).await;
    world.leap_ms(Ticket::RETENTION_MS - 1).await;
    let again = requeue(&world.store, &ticket.name, &game).await;
    let lease_until = again.now.plus_ms(Ticket::LEASE_MS);
    let waits = Ticket { state: TicketState::Waiting { lease_until, aborted: Some(game.id) }, ..ticket };
    assert_eq!(again.ticket, waits);
    world.leap_ms(Ticket::LEASE_MS).await;
    assert_eq!(
        requeue(&world.other, &waits.name, &game).await.ticket,
        waits,
        "this lease is not renewed by it"
    );
    page(&world.store, PoolCursor::default()).await;
    sees(&world, &waits).await;
    world.leap_ms(1).await;
    let expired = Ticket { state: TicketState::Expired, ..waits };
    sees(&world, &expired).await;
    assert_eq!(requeue(&world.other, &expired.name, &game).await.ticket, expired);
    assert_eq!(names(&page(&world.store, PoolCursor::default()).await), [expired.name]);
}

/// A running mean of what those had waited who were matched, first to last.
pub async fn a_pool_tells_how_long_was_waited_lately(world: Arc<World>) {
    let usual = async || {
        let waits = enqueue(&world, "players/eve").await;
        assert_eq!(leave(&world.other, &waits.ticket.name).await.usual_wait_ms, waits.usual_wait_ms);
        waits.usual_wait_ms
    };
    assert_eq!(usual().await, None);
    for (wait_ms, mean_ms) in [(8_000, 8_000), (16_000, 9_000), (1_000, 8_000), (8_000, 8_000), (0, 7_000)] {
        let name = enqueue(&world, "players/ann").await.ticket.name;
        world.leap_ms(wait_ms).await;
        claim(&world.store, &[&name], &paired(&world, &name, &name)).await;
        assert_eq!(usual().await, Some(mean_ms));
    }
    // Both tickets of a match count: 7000, and 7125 after the first.
    let names = enqueue_many(&world, 2).await;
    world.leap_ms(8_000).await;
    let game = paired(&world, &names[0], &names[1]);
    claim(&world.store, &[&names[0], &names[1]], &game).await;
    claim(&world.store, &[&names[0], &names[1]], &game).await;
    assert_eq!(usual().await, Some(7_125 + (8_000 - 7_125) / 8));
    // Whoever waits again has waited since his first time.
    let before_ms = usual().await.expect("somebody was matched");
    requeue(&world.store, &names[0], &game).await;
    world.leap_ms(8_000).await;
    claim(&world.store, &[&names[0]], &paired(&world, &names[0], &names[0])).await;
    assert_eq!(usual().await, Some(before_ms + (16_000 - before_ms) / 8));
}
