//! Players who wait in a pool.

use std::sync::Arc;

use referee::{NewMatch, Origin, PinnedRating, Settings, TicketRef, TimeControl};
use rules::PerSeat;
use sealing::Party;
use store::{
    BotFallback, Claim, Met, PoolCursor, PoolName, PoolPage, Ticket, TicketName, TicketState,
    TicketStore as _, Wish,
};
use store_embedded::EmbeddedStore;

use crate::{game, place};

pub(crate) fn pool() -> PoolName {
    PoolName::new("eu").expect("a pool's name")
}

/// A ticket whose id was made when the tests' time begins.
pub(crate) fn name(number: u8) -> TicketName {
    format!("eu.{:012x}{:020x}", place::START_MS, number).parse().expect("a ticket's name")
}

fn party(player: &str) -> Party {
    Party { player: player.to_owned(), public_key: None }
}

/// All that a player can ask for.
pub(crate) fn wish() -> Arc<Wish> {
    Arc::new(Wish {
        party: party(game::BLACK),
        time_controls: vec![TimeControl::Bank { initial_ms: 180_000, increment_ms: 2_000 }],
        rating_milli: 1_487_213,
        deviation_points: 93,
        excluded: vec!["players/eve".to_owned()],
        recent: vec![Met { player: game::WHITE.to_owned(), black_surplus: -2 }],
        bot_fallback: Some(BotFallback { after_ms: 60_000, level: 3 }),
    })
}

/// A match with this id for two tickets.
pub(crate) fn paired(id: u8, black: u8, white: u8) -> NewMatch {
    let ticket = |number| Some(TicketRef(name(number).to_string().into()));
    let rating = PinnedRating {
        points_micro: 1_487_213_044,
        deviation_micro: 93_000_000,
        volatility_nano: 60_000_000,
    };
    NewMatch {
        id: game::id(id),
        settings: Settings::default(),
        parties: PerSeat { black: party(game::BLACK), white: party(game::WHITE) },
        rematch_of: None,
        origin: Some(Origin {
            tickets: PerSeat { black: ticket(black), white: ticket(white) },
            ratings: Some(PerSeat { black: rating, white: rating }),
        }),
    }
}

pub(crate) async fn enqueue(store: &EmbeddedStore, number: u8) -> Ticket {
    store.create_ticket(&name(number), wish()).await.expect("a ticket can be created").ticket
}

pub(crate) async fn claim(store: &EmbeddedStore, game: &NewMatch, tickets: &[u8]) {
    let ids: Vec<_> = tickets.iter().map(|number| name(*number).id).collect();
    assert_eq!(store.claim(&pool(), &ids, game).await, Ok(Claim::Claimed));
}

pub(crate) async fn state(store: &EmbeddedStore, number: u8) -> TicketState {
    store.ticket(&name(number)).await.expect("a ticket can be read").ticket.state
}

pub(crate) async fn page(store: &EmbeddedStore, after: PoolCursor) -> PoolPage {
    store.pool(&pool(), after).await.expect("a pool can be read")
}
