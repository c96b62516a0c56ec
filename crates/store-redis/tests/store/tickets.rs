//! Pools of tickets on servers that forget, fail over and do not answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use redis_servers::{ClusterServers, Flavor, Options as ServerOptions, Sentinel, Servers as _, Single};
use store::{
    Claim, Clock as _, PoolCursor, PoolPage, Reservation, ReservationStore as _, StoreError, Ticket,
    TicketName, TicketState, TicketStore as _,
};

use crate::place::{self, ONE_REPLICA};
use crate::queue::{self, enqueue, paired, pool, state, wish};
use crate::scripts;

/// More than two pages, and more than two looks at a pool expire.
const MANY: usize = 1_001;

/// Tickets that are measured.
const MEASURED: usize = 1_000;

/// What a waiting ticket with a usual wish takes of a server, bytes.
const TICKET_BYTES_MAX: usize = 600;

/// Times that two nodes claim at once.
const RACES: usize = 20;

/// Entries of a pool that are made up by one script.
const FILLED_TOGETHER: usize = 50_000;

/// Tickets that come while a slot moves.
const TICKETS_WHILE_MOVING: usize = 5;

/// A new primary is there within this time.
const REPLACED_MAX: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_goes_its_way_though_the_scripts_are_flushed_before_every_step() {
    for flavor in Flavor::ALL {
        let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
        let clock = place::clock();
        let store = place::scripted(&place::fresh(&server.url()), &clock).await;
        let flush = async || server.script_flush_all().await.expect("scripts can be flushed");
        let (eu, game) = (pool("eu"), paired("ann", "bob"));
        flush().await;
        let ann = enqueue(&store, &eu, clock.now_ms(), "ann").await;
        let bob = enqueue(&store, &eu, clock.now_ms(), "bob").await;
        flush().await;
        clock.advance_ms(1_000);
        store.renew_ticket(&ann).await.expect("a lease can be renewed");
        flush().await;
        assert_eq!(store.claim(&eu, &[ann.id, bob.id], &game).await, Ok(Claim::Claimed));
        flush().await;
        let seen = store.ticket(&ann).await.expect("a ticket can be read");
        assert_eq!(seen.owed, Some(game.clone()));
        assert_eq!(seen.usual_wait_ms, Some(1_000));
        flush().await;
        store.made(&eu, game.id).await.expect("a match can be made");
        flush().await;
        let left = store.leave_ticket(&bob).await.expect("a ticket can be left");
        assert_eq!(left.ticket.state, TicketState::Matched { match_id: game.id, left: true });
        flush().await;
        let waits = store.requeue(&ann, game.id).await.expect("a ticket can wait again");
        let lease_until = waits.now.plus_ms(Ticket::LEASE_MS);
        assert_eq!(waits.ticket.state, TicketState::Waiting { lease_until, aborted: Some(game.id) });
        assert_eq!(waits.ticket.created.as_ms() + 1_000, waits.now.as_ms());
        flush().await;
        let page = store.pool(&eu, PoolCursor::default()).await.expect("a pool can be read");
        assert_eq!(page.changed.iter().map(|ticket| &ticket.name).collect::<Vec<_>>(), [&bob, &ann]);
    }
}

/// A pair with a ticket of another pair: one of the two nodes gets its own, and of the other's nothing.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_nodes_that_claim_overlapping_pairs_at_once_exactly_one_wins() {
    for flavor in Flavor::ALL {
        let shapes = [place::single(flavor).await.url(), place::cluster(flavor).await.url()];
        for options in shapes.map(|url| place::fresh(&url)) {
            let clock = place::clock();
            let nodes = (place::scripted(&options, &clock).await, place::scripted(&options, &clock).await);
            let eu = pool("eu");
            for _ in 0..RACES {
                let mut tickets = Vec::new();
                for player in ["ann", "bob", "cid"] {
                    tickets.push(enqueue(&nodes.0, &eu, clock.now_ms(), player).await);
                }
                let (ann, bob, cid) = (tickets[0].id, tickets[1].id, tickets[2].id);
                let games = (paired("ann", "bob"), paired("bob", "cid"));
                let (first, second) = ([ann, bob], [bob, cid]);
                let claims =
                    tokio::join!(nodes.0.claim(&eu, &first, &games.0), nodes.1.claim(&eu, &second, &games.1));
                let (won, waiting) = match claims {
                    (Ok(Claim::Claimed), Ok(Claim::Gone(gone))) if gone == [bob] => (games.0.id, 2),
                    (Ok(Claim::Gone(gone)), Ok(Claim::Claimed)) if gone == [bob] => (games.1.id, 0),
                    other => panic!("one of them wins: {other:?}"),
                };
                for (number, name) in tickets.iter().enumerate() {
                    let expected = TicketState::Matched { match_id: won, left: false };
                    assert_eq!(state(&nodes.1, name).await == expected, number != waiting);
                }
                nodes.0.leave_ticket(&tickets[waiting]).await.expect("a ticket can be left");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_tickets_than_a_page_has_are_read_each_once_and_expired_a_part_at_a_time() {
    for flavor in Flavor::ALL {
        let clock = place::clock();
        let options = place::fresh(&place::single(flavor).await.url());
        let store = place::scripted(&options, &clock).await;
        let eu = pool("eu");
        let made = join_all((0..MANY).map(|_| enqueue(&store, &eu, clock.now_ms(), "ann"))).await;
        let (changed, pages) = queue::changes(&store, &eu, PoolCursor::default()).await;
        let sizes: Vec<usize> = pages.iter().map(|page| page.changed.len()).collect();
        assert_eq!(sizes, [PoolPage::TICKETS_MAX, PoolPage::TICKETS_MAX, 1]);
        let read: BTreeSet<&TicketName> = changed.iter().map(|ticket| &ticket.name).collect();
        assert!(read == made.iter().collect());
        assert!(changed.iter().all(Ticket::is_waiting));

        let read_to = pages.last().map(|page| page.next).expect("a page");
        clock.advance_ms(Ticket::LEASE_MS + 1);
        assert_eq!(state(&store, &made[0]).await, TicketState::Expired);
        let mut expired = BTreeSet::new();
        let mut after = read_to;
        for _ in 0..3 {
            let page = store.pool(&eu, after).await.expect("a pool can be read");
            assert!(page.changed.iter().all(|ticket| ticket.state == TicketState::Expired));
            expired.extend(page.changed.into_iter().map(|ticket| ticket.name));
            after = page.next;
        }
        assert!(expired == made.iter().cloned().collect());

        clock.advance_ms(Ticket::RETENTION_MS + 1);
        for _ in 0..3 {
            let page = store.pool(&eu, PoolCursor::default()).await.expect("a pool can be read");
            assert_eq!(page.changed, []);
        }
        let server = place::single(flavor).await.server();
        for list in ["tickets", "changes", "until"] {
            let key = format!("{}:{{q:eu}}:{list}", options.namespace);
            let kept = server.ask(&["EXISTS", &key]).await.expect("it answers");
            assert_eq!(kept.number(), Some(0), "{list}");
        }
    }
}

/// The new primary lacks the last changes and counts their numbers again: whoever had read them would take the new
/// ones for those.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_read_changes_that_a_failover_lost_begins_again() {
    for flavor in Flavor::ALL {
        let servers = Sentinel::start(flavor, &ServerOptions::new()).await;
        let servers = servers.expect("sentinels can be started");
        let clock = place::clock();
        let store = place::scripted(&place::fresh(&servers.url()), &clock).await;
        let eu = pool("eu");
        let kept = enqueue(&store, &eu, clock.now_ms(), "ann").await;
        servers.wait_until_ok(REPLACED_MAX).await.expect("replicas follow");
        servers.copied(REPLACED_MAX).await.expect("replicas have the ticket");
        // They keep what they have, and hear of nothing more.
        let old = servers.primary().await.expect("the sentinels agree");
        old.ask(&["ACL", "SETUSER", "default", "-psync", "-sync"]).await.expect("rights can be taken");
        old.ask(&["CLIENT", "KILL", "TYPE", "replica"]).await.expect("connections can be cut");
        let lost = enqueue(&store, &eu, clock.now_ms(), "bob").await;
        let game = paired("ann", "bob");
        assert_eq!(store.claim(&eu, &[kept.id, lost.id], &game).await, Ok(Claim::Claimed));
        let (_, pages) = queue::changes(&store, &eu, PoolCursor::default()).await;
        let read_to = pages.last().map(|page| page.next).expect("a page");

        old.kill();
        servers.replaced(old, REPLACED_MAX).await.expect("a replica takes over");
        let mut new = Vec::new();
        while new.len() < 5 {
            let name = queue::name(&eu, clock.now_ms());
            crate::game::until("tickets can be created", REPLACED_MAX, async || {
                store.create_ticket(&name, wish("cid")).await.ok()
            })
            .await;
            new.push(name);
        }
        let page = store.pool(&eu, read_to).await.expect("a pool can be read");
        assert!(page.restarted);
        let changed: Vec<_> = page.changed.iter().map(|ticket| ticket.name.clone()).collect();
        assert_eq!(changed, [vec![kept], new].concat());
        assert!(page.changed.iter().all(Ticket::is_waiting));
        let next = store.pool(&eu, page.next).await.expect("a pool can be read");
        assert!(!next.restarted && next.changed.is_empty());
    }
}

/// Time stands still here, so that nothing but the fence makes a read write.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_replica_has_is_not_seen_of_a_pool_a_reservation_or_a_record() {
    use store::{PlayerRecord, RecordStore as _, Speed};
    for flavor in Flavor::ALL {
        // The lag is measured by acknowledgements: with stopped replicas writes are still taken for a while.
        let settings = ServerOptions::new().min_replicas_to_write(1).set("min-replicas-max-lag", "3600");
        let servers = Sentinel::start(flavor, &settings).await.expect("sentinels can be started");
        let options = place::fresh(&servers.url()).with_durability(ONE_REPLICA);
        let clock = place::clock();
        let (store, other) =
            (place::scripted(&options, &clock).await, place::scripted(&options, &clock).await);
        let (eu, ann) = (pool("eu"), "players/ann");
        let ticket = enqueue(&store, &eu, clock.now_ms(), "ann").await;
        let held = Reservation::Ticket(ticket.clone());
        let (game, nothing) = (paired("ann", "bob"), PlayerRecord::default());

        let replicas = servers.replicas().await.expect("the sentinels agree");
        replicas.iter().for_each(|replica| replica.stop().expect("a replica can be stopped"));
        let unanswered = [
            store.claim(&eu, &[ticket.id], &game).await.map(drop),
            store.reserve(ann, None, Some(&held)).await.map(drop),
            store.put_record(ann, None, &nothing, [1; 8]).await.map(drop),
            store.rank(Speed(1), ann, 1, 1).await,
            other.ticket(&ticket).await.map(drop),
            other.renew_ticket(&ticket).await.map(drop),
            other.create_ticket(&ticket, wish("ann")).await.map(drop),
            other.claim(&eu, &[ticket.id], &game).await.map(drop),
            other.claim(&eu, &[ticket.id], &paired("ann", "cid")).await.map(drop),
            other.pool(&eu, PoolCursor::default()).await.map(drop),
            other.requeue(&ticket, paired("ann", "cid").id).await.map(drop),
            other.reservation(ann).await.map(drop),
            other.reserve(ann, None, None).await.map(drop),
            other.record(ann).await.map(drop),
            other.put_record(ann, None, &nothing, [2; 8]).await.map(drop),
            other.leaderboard(Speed(1), 0, 1).await.map(drop),
            other.leaderboard_place(Speed(1), ann).await.map(drop),
        ];
        for (number, answer) in unanswered.iter().enumerate() {
            assert!(matches!(answer, Err(StoreError::Unavailable(_))), "call {number}: {answer:?}");
        }
        replicas.iter().for_each(|replica| replica.cont().expect("a replica can go on"));
    }
}

/// Neither hides the other tickets of its pool.
#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_that_cannot_be_read_leaves_its_pool_served() {
    let clock = place::clock();
    let options = place::fresh(&place::single(Flavor::Redis).await.url());
    let store = place::scripted(&options, &clock).await;
    let server = place::single(Flavor::Redis).await.server();
    let eu = pool("eu");
    let damaged = enqueue(&store, &eu, clock.now_ms(), "ann").await;
    let good = enqueue(&store, &eu, clock.now_ms(), "bob").await;
    let key = |list: &str| format!("{}:{{q:eu}}:{list}", options.namespace);
    let (tickets, owed, owing) = (key("tickets"), key("owed"), key("owing"));
    let field = damaged.to_string().replace("eu.", "");
    for value in [&b""[..], b"\x01", &[1; 24], &[1; 25], &[1; 26], &[9; 25], &[0xff; 400]] {
        let set = [b"HSET", tickets.as_bytes(), field.as_bytes(), value];
        server.ask(&set).await.expect("a field can be set");
        // What comes of it may be anything but a panic.
        let _ = store.ticket(&damaged).await;
        let _ = store.claim(&eu, &[damaged.id], &paired("ann", "cid")).await;
        let page = store.pool(&eu, PoolCursor::default()).await.expect("the others can be read");
        assert!(page.changed.iter().any(|ticket| ticket.name == good && ticket.is_waiting()));
    }
    let no_match = [b"HSET", owed.as_bytes(), &[1; 16], b"no match"];
    server.ask(&no_match).await.expect("a field can be set");
    let entry = [b"ZADD", owing.as_bytes(), b"1", &[1; 16]];
    server.ask(&entry).await.expect("an entry can be added");
    clock.advance_ms(Ticket::LEASE_MS + 1);
    for _ in 0..2 {
        let page = store.pool(&eu, PoolCursor::default()).await.expect("the others can be read");
        assert!(page.changed.iter().any(|ticket| ticket.name == good));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_pool_takes_no_ticket_more_and_says_so() {
    let clock = place::clock();
    let server = Single::start(Flavor::Redis, &ServerOptions::new()).await.expect("a server can be started");
    let options = place::fresh(&server.url());
    let store = place::scripted(&options, &clock).await;
    let eu = pool("eu");
    let waits = enqueue(&store, &eu, clock.now_ms(), "ann").await;
    let tickets = format!("{}:{{q:eu}}:tickets", options.namespace);
    let fill = "for id = ARGV[1] + 1, ARGV[1] + ARGV[2] do redis.call('HSET', KEYS[1], id, '') end";
    // A part at a time: the server answers meanwhile.
    for first in (0..Ticket::POOL_MAX).step_by(FILLED_TOGETHER) {
        let filled = ["EVAL", fill, "1", &tickets, &first.to_string(), &FILLED_TOGETHER.to_string()];
        server.server().ask(&filled).await.expect("a hash can be filled");
    }
    let refused = store.create_ticket(&queue::name(&eu, clock.now_ms()), wish("bob")).await;
    assert!(matches!(refused, Err(StoreError::Full { limit: Ticket::POOL_MAX, .. })), "{refused:?}");
    store.create_ticket(&waits, wish("ann")).await.expect("one that is there is found");
    let left = store.leave_ticket(&queue::name(&eu, clock.now_ms())).await.expect("one can always leave");
    assert_eq!(left.ticket.state, TicketState::Cancelled);
}

/// Its keys go to another server and back, one by one, while its changes are read and tickets come.
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_is_looked_after_while_its_slot_moves() {
    for flavor in Flavor::ALL {
        let cluster = ClusterServers::start(flavor, 3, 0, &ServerOptions::new()).await;
        let cluster = cluster.expect("a cluster can be started");
        let clock = place::clock();
        let options = place::fresh(&cluster.url());
        let store = Arc::new(place::scripted(&options, &clock).await);
        let eu = pool("eu");
        let first = enqueue(&store, &eu, clock.now_ms(), "ann").await;
        let owner = tokio::spawn({
            let (store, eu) = (Arc::clone(&store), eu.clone());
            async move {
                let (mut after, mut read, mut restarts) = (PoolCursor::default(), BTreeSet::new(), 0);
                while read.len() < TICKETS_WHILE_MOVING {
                    let page = store.pool(&eu, after).await.expect("a pool can be read");
                    restarts += usize::from(page.restarted);
                    read.extend(page.changed.into_iter().map(|ticket| ticket.name));
                    after = page.next;
                }
                (read, restarts)
            }
        });
        let key = format!("{}:{{q:eu}}:tickets", options.namespace);
        let slot = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", &key]).await.expect("a slot");
        let slot = u16::try_from(slot.number().expect("a number")).expect("a slot");
        let mut made = BTreeSet::from([first]);
        while made.len() < TICKETS_WHILE_MOVING {
            let from = cluster.primary_of(slot).await.expect("the slot has a primary");
            let to = scripts::other_primary(&cluster, from).await;
            let (name, moved) = tokio::join!(
                enqueue(&store, &eu, clock.now_ms(), "bob"),
                tokio::time::timeout(REPLACED_MAX, cluster.migrate_slot(slot, to)),
            );
            moved.expect("in time").expect("a slot can be moved");
            made.insert(name);
        }
        let (read, restarts) = owner.await.expect("every page is read");
        assert!(read == made);
        assert!(restarts > 0, "another server, another history");
    }
}

/// With the rights that `docs/redis.md` gives.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_the_rights_of_the_handbook_can_look_after_a_pool() {
    for flavor in Flavor::ALL {
        let server = Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
        let rights = "ACL SETUSER wts on >secret ~wts:* &wts:* -@all +@connection +@scripting +@pubsub +@string \
                      +@hash +@list +@sortedset +@stream +@keyspace -@dangerous -@admin +info +time";
        let rights: Vec<&str> = rights.split_ascii_whitespace().collect();
        server.server().ask(&rights).await.expect("rights can be given");
        let url = server.url().replace("redis://", "redis://wts:secret@");
        let clock = place::clock();
        let store = place::scripted(&place::fresh(&url).with_namespace("wts"), &clock).await;
        let eu = pool("eu");
        let (ann, bob) = (
            enqueue(&store, &eu, clock.now_ms(), "ann").await,
            enqueue(&store, &eu, clock.now_ms(), "bob").await,
        );
        let page = store.pool(&eu, PoolCursor::default()).await.expect("a pool can be read");
        assert_eq!(page.changed.len(), 2);
        assert_eq!(store.claim(&eu, &[ann.id, bob.id], &paired("ann", "bob")).await, Ok(Claim::Claimed));
        let held = Reservation::Ticket(ann);
        assert_eq!(store.reserve("players/ann", None, Some(&held)).await, Ok(Some(held)));
    }
}

/// So much does the handbook say that a ticket takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_ticket_takes_no_more_memory_than_is_told() {
    for flavor in Flavor::ALL {
        let clock = place::clock();
        let options = place::fresh(&place::single(flavor).await.url());
        let store = place::scripted(&options, &clock).await;
        let eu = pool("eu");
        for number in 0..MEASURED {
            enqueue(&store, &eu, clock.now_ms(), &format!("player-{number}")).await;
        }
        let mut bytes = 0;
        for list in ["tickets", "changes", "until"] {
            let key = format!("{}:{{q:eu}}:{list}", options.namespace);
            let usage = ["MEMORY", "USAGE", &key, "SAMPLES", "0"];
            let usage = place::single(flavor).await.server().ask(&usage).await.expect("it answers");
            bytes += usize::try_from(usage.number().expect("a number")).expect("a size") / MEASURED;
        }
        assert!(bytes <= TICKET_BYTES_MAX, "{bytes} bytes");
    }
}
