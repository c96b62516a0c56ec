//! The tickets in the order in which they choose.

use thiserror::Error;

use crate::ticket::Sketch;
use crate::{Policy, Ticket, TimeControls};

/// The most tickets of one pairing. A pool that holds more is not one that pairs every second; and places in
/// it have 32 bits, which keeps what the search reads in a processor's cache.
pub const TICKETS_MAX: usize = 1_000_000;

/// More tickets than one pairing takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{count} tickets; a pairing takes at most {TICKETS_MAX}")]
pub struct TooManyTickets {
    /// How many there were.
    pub count: usize,
}

/// A ticket that takes part, with what the search needs of it in half a cache line.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) sketch: Sketch,
    /// Where the ticket stands in the input.
    place: u32,
    /// How many are older.
    pub(crate) rank: u32,
    pub(crate) points: i16,
    /// From 0 to [`Policy::POINTS_MAX`].
    pub(crate) window_points: i16,
    pub(crate) time_controls: TimeControls,
    pub(crate) is_past_bound: bool,
}

/// A place in [`Queue::waiters`].
pub(crate) type Spot = u32;

/// Everybody once.
pub(crate) struct Queue<'a> {
    tickets: &'a [Ticket],
    /// From the lowest rating up, of equal ones the oldest first: whoever chooses finds the others near him in
    /// memory, too, which in a long queue is most of what his search costs.
    pub(crate) waiters: Vec<Waiter>,
    /// All spots, oldest first.
    pub(crate) by_age: Vec<Spot>,
    /// Tickets of players who have an older one, each with that one.
    pub(crate) second: Vec<(&'a Ticket, &'a Ticket)>,
}

impl<'a> Queue<'a> {
    pub(crate) fn new(tickets: &'a [Ticket], now_ms: u64, policy: &Policy) -> Result<Self, TooManyTickets> {
        if tickets.len() > TICKETS_MAX {
            return Err(TooManyTickets { count: tickets.len() });
        }
        let (waiters, mut by_age) = read(tickets, now_ms, policy);
        let second = take_second_tickets(tickets, &waiters, &mut by_age);
        let waiters = by_rating(&waiters, &by_age);
        let mut spots = vec![0; waiters.len()];
        for (spot, waiter) in (0..).zip(&waiters) {
            spots[waiter.rank as usize] = spot;
        }
        Ok(Self { tickets, waiters, by_age: spots, second })
    }

    pub(crate) fn waiter(&self, spot: Spot) -> &Waiter {
        &self.waiters[spot as usize]
    }

    pub(crate) fn ticket(&self, waiter: &Waiter) -> &'a Ticket {
        &self.tickets[waiter.place as usize]
    }
}

/// All tickets in the order of the input, and their places, oldest first; the rest of a ticket decides between
/// those of one moment.
fn read(tickets: &[Ticket], now_ms: u64, policy: &Policy) -> (Vec<Waiter>, Vec<u32>) {
    // Tickets are large, and in a long queue reading them all once costs more than sorting them.
    let read = (0..).zip(tickets).map(|(place, ticket)| {
        let waiter = Waiter {
            sketch: ticket.sketch(),
            place,
            rank: 0,
            points: ticket.points(),
            // `Policy::POINTS_MAX` fits.
            window_points: i16::try_from(policy.window_points(ticket, now_ms)).unwrap_or(i16::MAX),
            time_controls: ticket.time_controls(),
            is_past_bound: policy.is_past_bound(ticket, now_ms),
        };
        (waiter, (ticket.created_ms(), ticket.id().start(), place))
    });
    let (waiters, mut keys): (Vec<Waiter>, Vec<(u64, u64, u32)>) = read.unzip();
    keys.sort_unstable_by(|a, b| {
        let tickets = || tickets[a.2 as usize].cmp(&tickets[b.2 as usize]);
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(tickets)
    });
    (waiters, keys.into_iter().map(|(_, _, place)| place).collect())
}

/// Takes all tickets but a player's oldest out of `by_age`, and names that one with each.
fn take_second_tickets<'a>(
    tickets: &'a [Ticket],
    waiters: &[Waiter],
    by_age: &mut Vec<u32>,
) -> Vec<(&'a Ticket, &'a Ticket)> {
    // Sorting by a hash of the name brings a player's tickets together. Names are read only where hashes are
    // the same.
    let mut hashes: Vec<(u32, u32)> =
        waiters.iter().map(|waiter| (waiter.sketch.player_hash, waiter.place)).collect();
    hashes.sort_unstable();
    let mut second = Vec::new();
    for same in hashes.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        let mut same: Vec<&Ticket> = same.iter().map(|(_, place)| &tickets[*place as usize]).collect();
        same.sort_unstable_by_key(|ticket| (ticket.player(), *ticket));
        for of_one in same.chunk_by(|a, b| a.player() == b.player()) {
            second.extend(of_one[1..].iter().map(|ticket| (*ticket, of_one[0])));
        }
    }
    if !second.is_empty() {
        second.sort_unstable();
        by_age.retain(|place| {
            let ticket = &tickets[*place as usize];
            second.binary_search_by_key(&ticket, |(second, _)| second).is_err()
        });
    }
    second
}

/// Those in `by_age`, from the lowest rating up, of equal ones the oldest first.
fn by_rating(waiters: &[Waiter], by_age: &[u32]) -> Vec<Waiter> {
    let ranked = (0..).zip(by_age).map(|(rank, place)| (waiters[*place as usize].points, rank, *place));
    let mut keys: Vec<(i16, u32, u32)> = ranked.collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, rank, place)| Waiter { rank, ..waiters[place as usize] }).collect()
}
