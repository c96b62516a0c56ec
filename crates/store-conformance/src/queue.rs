//! Players who wait, and what is found for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use matchmaker::TicketId;
use referee::{NewMatch, Origin, PinnedRating, Settings, Stamp, TicketRef, TimeControl};
use rules::PerSeat;
use sealing::{Party, PublicKey};
use store::{
    BotFallback, Claim, Met, PoolCursor, PoolName, PoolPage, SeenTicket, Store, Ticket, TicketName,
    TicketState, Wish,
};

use crate::world::World;

/// The pool that players wait in here.
pub(crate) fn pool() -> PoolName {
    PoolName::new("eu.ranked").expect("a pool's name")
}

/// What is read of it after a cursor.
pub(crate) async fn page(node: &Arc<dyn Store>, after: PoolCursor) -> PoolPage {
    node.pool(&pool(), after).await.expect("a pool can be read")
}

/// Where its changes end now.
pub(crate) async fn end(world: &World) -> PoolCursor {
    let mut after = PoolCursor::default();
    loop {
        let page = page(&world.store, after).await;
        after = page.next;
        if !page.more {
            return after;
        }
    }
}

/// The names of the tickets on a page.
pub(crate) fn names(page: &PoolPage) -> Vec<TicketName> {
    page.changed.iter().map(|ticket| ticket.name.clone()).collect()
}

/// The pool's time.
pub(crate) async fn now(world: &World) -> Stamp {
    page(&world.store, PoolCursor::default()).await.now
}

/// A name that no one else has, made at this moment.
pub(crate) fn name_made(world: &World, made: Stamp) -> TicketName {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&(made.as_ms() << 16).to_be_bytes());
    id[8..].copy_from_slice(&world.nonce());
    TicketName { pool: pool(), id: TicketId::from_bytes(id) }
}

/// A name that no one else has, made now.
pub(crate) async fn name(world: &World) -> TicketName {
    name_made(world, now(world).await)
}

/// All that a player can ask for.
pub(crate) fn wish(player: &str) -> Arc<Wish> {
    let met = |player: &str, black_surplus| Met { player: player.to_owned(), black_surplus };
    Arc::new(Wish {
        party: Party { player: player.to_owned(), public_key: Some(PublicKey::from_bytes([9; 32])) },
        time_controls: vec![
            TimeControl::PerTurn { turn_ms: 30_000 },
            TimeControl::Bank { initial_ms: 180_000, increment_ms: 2_000 },
        ],
        rating_milli: 1_487_213,
        deviation_points: 93,
        excluded: vec!["players/eve".to_owned()],
        recent: vec![met("players/bob", -2), met("players/cid", 1)],
        bot_fallback: Some(BotFallback { after_ms: 60_000, level: 3 }),
    })
}

/// A new ticket, which waits.
pub(crate) async fn enqueue(world: &World, player: &str) -> SeenTicket {
    let name = name(world).await;
    world.store.create_ticket(&name, wish(player)).await.expect("a ticket can be created")
}

/// So many new tickets.
pub(crate) async fn enqueue_many(world: &World, count: usize) -> Vec<TicketName> {
    let (made, mut names) = (now(world).await, Vec::new());
    for number in 0..count {
        let name = name_made(world, made);
        let created = world.store.create_ticket(&name, wish(&format!("players/p{number}"))).await;
        names.push(created.expect("a ticket can be created").ticket.name);
    }
    names
}

/// A new match for two tickets.
pub(crate) fn paired(world: &World, black: &TicketName, white: &TicketName) -> NewMatch {
    let party = |player: &str| Party { player: player.to_owned(), public_key: None };
    let ticket = |name: &TicketName| Some(TicketRef(name.to_string().into()));
    let rating = |points_micro| PinnedRating {
        points_micro,
        deviation_micro: 93_000_000,
        volatility_nano: 60_000_000,
    };
    NewMatch {
        id: world.id(),
        settings: Settings::default(),
        parties: PerSeat { black: party("players/ann"), white: party("players/bob") },
        rematch_of: None,
        origin: Some(Origin {
            tickets: PerSeat { black: ticket(black), white: ticket(white) },
            ratings: Some(PerSeat { black: rating(1_487_213_044), white: rating(1_512_000_001) }),
        }),
    }
}

/// Claims tickets for a match.
pub(crate) async fn claim(node: &Arc<dyn Store>, tickets: &[&TicketName], game: &NewMatch) -> Claim {
    let ids: Vec<TicketId> = tickets.iter().map(|name| name.id).collect();
    node.claim(&pool(), &ids, game).await.expect("a claim is answered")
}

/// Checks that a claim found exactly these tickets not to wait.
#[track_caller]
pub(crate) fn gone(claim: Claim, expected: &[&TicketName]) {
    let Claim::Gone(found) = claim else { panic!("the tickets are claimed") };
    let ids = |ids: Vec<TicketId>| ids.into_iter().collect::<BTreeSet<TicketId>>();
    assert_eq!(ids(found), ids(expected.iter().map(|name| name.id).collect()));
}

pub(crate) async fn read(node: &Arc<dyn Store>, name: &TicketName) -> SeenTicket {
    node.ticket(name).await.expect("a ticket can be read")
}

pub(crate) async fn leave(node: &Arc<dyn Store>, name: &TicketName) -> SeenTicket {
    node.leave_ticket(name).await.expect("leaving is answered")
}

pub(crate) async fn renew(node: &Arc<dyn Store>, name: &TicketName) -> SeenTicket {
    node.renew_ticket(name).await.expect("a renewal is answered")
}

pub(crate) async fn requeue(node: &Arc<dyn Store>, name: &TicketName, aborted: &NewMatch) -> SeenTicket {
    node.requeue(name, aborted.id).await.expect("a requeue is answered")
}

/// Checks that both nodes see exactly this ticket.
pub(crate) async fn sees(world: &World, ticket: &Ticket) {
    for node in world.nodes() {
        assert_eq!(&read(node, &ticket.name).await.ticket, ticket);
    }
}

/// Checks that both nodes see a ticket in this state.
pub(crate) async fn stands(world: &World, name: &TicketName, state: TicketState) {
    for node in world.nodes() {
        assert_eq!(read(node, name).await.ticket.state, state);
    }
}

/// A ticket that is matched, and whose player has not left it.
pub(crate) const fn matched(game: &NewMatch) -> TicketState {
    TicketState::Matched { match_id: game.id, left: false }
}

/// A matched ticket that its player has left.
pub(crate) const fn left(game: &NewMatch) -> TicketState {
    TicketState::Matched { match_id: game.id, left: true }
}
