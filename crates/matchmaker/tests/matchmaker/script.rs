//! Tickets in a few words.

use matchmaker::{Pairing, Policy, PolicyNumbers, Ticket, TicketContent, TicketId, TimeControlPlace, pair};

/// A policy that is easy to reckon with: 100 points, 10 more each second, at most 300; recent opponents
/// after 10 s; the bound at 40 s. Deviations do not count.
pub(crate) const PLAIN: PolicyNumbers = PolicyNumbers {
    window_start_points: 100,
    window_growth_points_per_s: 10,
    window_max_points: 300,
    deviation_percent: 0,
    rematch_after_ms: 10_000,
    bound_ms: 40_000,
};

/// The ticket of a player who began to wait at `created_ms` and would play the pool's first time control.
pub(crate) fn waits(player: &str, created_ms: u64, rating_points: i32) -> TicketContent {
    let mut id = [0; 16];
    id.iter_mut().zip(player.bytes()).for_each(|(byte, of)| *byte = of);
    TicketContent {
        id: TicketId::from_bytes(id),
        player: player.to_owned(),
        created_ms,
        time_controls: [place(0)].into_iter().collect(),
        rating_points,
        deviation_points: 50,
        exclusions: Vec::new(),
        recent_opponents: Vec::new(),
    }
}

pub(crate) fn place(number: u8) -> TimeControlPlace {
    TimeControlPlace::new(number).expect("a place of a pool")
}

pub(crate) fn excluding(mut ticket: TicketContent, player: &str) -> TicketContent {
    ticket.exclusions.push(player.to_owned());
    ticket
}

pub(crate) fn having_met(mut ticket: TicketContent, player: &str) -> TicketContent {
    ticket.recent_opponents.push(player.to_owned());
    ticket
}

pub(crate) fn playing(mut ticket: TicketContent, places: &[u8]) -> TicketContent {
    ticket.time_controls = places.iter().map(|number| place(*number)).collect();
    ticket
}

pub(crate) fn tickets<const N: usize>(contents: [TicketContent; N]) -> Vec<Ticket> {
    contents.into_iter().map(|content| Ticket::new(content).expect("a legal ticket")).collect()
}

pub(crate) fn paired(tickets: &[Ticket], now_ms: u64) -> Pairing<'_> {
    pair(tickets, now_ms, &Policy::new(PLAIN).expect("a policy")).expect("few tickets")
}

/// Pairs by [`PLAIN`], and compares who plays whom: `older-younger`, in the order of the pairs.
pub(crate) fn check<const N: usize>(contents: [TicketContent; N], now_ms: u64, expected: &[&str]) {
    let tickets = tickets(contents);
    let names = |pairing: Pairing<'_>| -> Vec<String> {
        let pairs = pairing.pairs.iter();
        pairs.map(|pair| format!("{}-{}", pair.older.player(), pair.younger.player())).collect()
    };
    assert_eq!(names(paired(&tickets, now_ms)), expected);
}
