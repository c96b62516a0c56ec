//! Players who wait in pools.

use std::sync::Arc;

use referee::{NewMatch, Settings, TimeControl};
use rules::PerSeat;
use sealing::Party;
use store::{
    BotFallback, Met, PoolCursor, PoolName, PoolPage, SeenTicket, Ticket, TicketName, TicketState,
    TicketStore as _, Wish,
};
use store_redis::RedisStore;

use crate::game;

pub(crate) fn pool(name: &str) -> PoolName {
    PoolName::new(name).expect("a pool's name")
}

/// A name that was made at this moment, ms.
pub(crate) fn name(pool: &PoolName, made_ms: u64) -> TicketName {
    let drawn: [u8; 10] = rand::random();
    let digits = drawn.iter().fold(format!("{made_ms:012x}"), |digits, byte| format!("{digits}{byte:02x}"));
    format!("{pool}.{digits}").parse().expect("a ticket's name")
}

pub(crate) fn party(player: &str) -> Party {
    Party { player: format!("players/{player}"), public_key: None }
}

/// What a player usually asks for: two time controls, four people he has met lately, a bot in the end.
pub(crate) fn wish(player: &str) -> Arc<Wish> {
    let met = |number: u32| Met { player: format!("players/opponent-{number}"), black_surplus: 1 };
    Arc::new(Wish {
        party: party(player),
        time_controls: vec![
            TimeControl::PerTurn { turn_ms: 30_000 },
            TimeControl::Bank { initial_ms: 180_000, increment_ms: 2_000 },
        ],
        rating_milli: 1_500_000,
        deviation_points: 80,
        excluded: vec![],
        recent: (0..4).map(met).collect(),
        bot_fallback: Some(BotFallback { after_ms: 60_000, level: 3 }),
    })
}

/// A match of two players who waited.
pub(crate) fn paired(black: &str, white: &str) -> NewMatch {
    NewMatch {
        id: game::id(),
        settings: Settings::default(),
        parties: PerSeat { black: party(black), white: party(white) },
        rematch_of: None,
        origin: None,
    }
}

/// Makes somebody wait.
pub(crate) async fn enqueue(store: &RedisStore, pool: &PoolName, made_ms: u64, player: &str) -> TicketName {
    let name = name(pool, made_ms);
    let seen = store.create_ticket(&name, wish(player)).await.expect("a ticket can be created");
    assert!(seen.ticket.is_waiting());
    name
}

pub(crate) async fn state(store: &RedisStore, name: &TicketName) -> TicketState {
    let seen: SeenTicket = store.ticket(name).await.expect("a ticket can be read");
    seen.ticket.state
}

/// Reads all changes after a place, page by page.
pub(crate) async fn changes(
    store: &RedisStore,
    pool: &PoolName,
    mut after: PoolCursor,
) -> (Vec<Ticket>, Vec<PoolPage>) {
    let (mut changed, mut pages) = (Vec::new(), Vec::new());
    loop {
        let page = store.pool(pool, after).await.expect("a pool can be read");
        changed.extend(page.changed.iter().cloned());
        after = page.next;
        let more = page.more;
        pages.push(page);
        if !more {
            return (changed, pages);
        }
    }
}
