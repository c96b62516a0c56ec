//! The tickets in the order in which they choose.

use std::mem;

use thiserror::Error;

use crate::ticket::Sketch;
use crate::{Policy, Ticket, TimeControls};

/// The most tickets of one pairing. A pool that holds more is not one that pairs every second; and a place in it
/// has 20 bits, so that it fits into one number with what decides over a ticket's age.
pub const TICKETS_MAX: usize = 1_000_000;

/// More tickets than one pairing takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{count} tickets; a pairing takes at most {TICKETS_MAX}")]
pub struct TooManyTickets {
    /// How many there were.
    pub count: usize,
}

/// Bits of an [`age_key`] for a place in the input and for an id; the rest is for a moment, ms.
const PLACE_BITS: u32 = 20;
const ID_BITS: u32 = 20;
const MOMENT_MAX: u64 = u64::MAX >> (ID_BITS + PLACE_BITS);
const _: () = assert!(TICKETS_MAX <= 1 << PLACE_BITS);

/// A ticket that takes part, with all that the search needs of it: so little that what is near is in few cache
/// lines.
#[derive(Clone, Copy, Default)]
pub(crate) struct Waiter {
    pub(crate) sketch: Sketch,
    pub(crate) rank: Rank,
    /// Where the ticket stands in the input.
    place: u32,
    pub(crate) points: i16,
    /// From 0 to [`Policy::POINTS_MAX`].
    pub(crate) window_points: i16,
    pub(crate) time_controls: TimeControls,
    pub(crate) is_past_bound: bool,
}

/// How many are older.
pub(crate) type Rank = u32;

/// A place in [`Queue::waiters`].
pub(crate) type Spot = u32;

/// Everybody once.
pub(crate) struct Queue<'a> {
    tickets: &'a [Ticket],
    /// From the lowest rating up, of equal ones the oldest first.
    pub(crate) waiters: Vec<Waiter>,
    /// Oldest first.
    pub(crate) by_age: Vec<Spot>,
    /// The lowest rating, points.
    lowest: i16,
    /// For every rating from the lowest on, where it ends in `waiters`.
    ends: Vec<Spot>,
    /// Tickets of players who have an older one, each with that one.
    pub(crate) second: Vec<(&'a Ticket, &'a Ticket)>,
}

impl<'a> Queue<'a> {
    pub(crate) fn new(tickets: &'a [Ticket], now_ms: u64, policy: &Policy) -> Result<Self, TooManyTickets> {
        if tickets.len() > TICKETS_MAX {
            return Err(TooManyTickets { count: tickets.len() });
        }
        // Tickets are large, and in a long queue reading them all once costs more than sorting them.
        let read = (0..).zip(tickets).map(|(place, ticket)| {
            let waiter = Waiter {
                sketch: ticket.sketch(),
                rank: 0,
                place,
                points: ticket.points(),
                // `Policy::POINTS_MAX` fits.
                window_points: i16::try_from(policy.window_points(ticket, now_ms)).unwrap_or(i16::MAX),
                time_controls: ticket.time_controls(),
                is_past_bound: policy.is_past_bound(ticket, now_ms),
            };
            let hash = u64::from(ticket.player_hash()) << u32::BITS | u64::from(place);
            (waiter, (age_key(ticket, now_ms, place), hash))
        });
        let (waiters, (age_keys, hashes)): (Vec<Waiter>, (Vec<u64>, Vec<u64>)) = read.unzip();
        let mut by_age = by_age(tickets, age_keys);
        let second = take_second_tickets(tickets, hashes, &mut by_age);
        Ok(Self::by_rating(tickets, &waiters, by_age, second))
    }

    /// Counts the waiters into the order of their ratings: there are so few ratings that this is less work than
    /// sorting. `by_age` has the places of those who take part.
    fn by_rating(
        tickets: &'a [Ticket],
        read: &[Waiter],
        mut by_age: Vec<u32>,
        second: Vec<(&'a Ticket, &'a Ticket)>,
    ) -> Self {
        let points = || read.iter().map(|waiter| waiter.points);
        let lowest = points().min().unwrap_or(0);
        let highest = points().max().unwrap_or(0);
        let mut ends = vec![0; usize::from(highest.abs_diff(lowest)) + 1];
        for points in points() {
            ends[usize::from(points.abs_diff(lowest))] += 1;
        }
        for (second, _) in &second {
            ends[usize::from(second.points().abs_diff(lowest))] -= 1;
        }
        let mut start = 0;
        for end in &mut ends {
            start += mem::replace(end, start);
        }
        let mut waiters = vec![Waiter::default(); by_age.len()];
        for (rank, place) in (0..).zip(&mut by_age) {
            let waiter = read[*place as usize];
            let end = &mut ends[usize::from(waiter.points.abs_diff(lowest))];
            waiters[*end as usize] = Waiter { rank, ..waiter };
            *place = *end;
            *end += 1;
        }
        Self { tickets, waiters, by_age, lowest, ends, second }
    }

    pub(crate) fn waiter(&self, spot: Spot) -> &Waiter {
        &self.waiters[spot as usize]
    }

    pub(crate) fn ticket(&self, waiter: &Waiter) -> &'a Ticket {
        &self.tickets[waiter.place as usize]
    }

    /// The first spot of those with a rating of `points`, which somebody has.
    pub(crate) fn first_spot_of(&self, points: i16) -> Spot {
        let below = points.abs_diff(self.lowest).checked_sub(1);
        below.map_or(0, |below| self.ends[usize::from(below)])
    }
}

/// What nearly always decides which of two tickets is older, and the ticket's place, in one number.
fn age_key(ticket: &Ticket, now_ms: u64, place: u32) -> u64 {
    // Those from a clock that is ahead are of one moment here, and so are those older than four hours.
    let moment = match now_ms.checked_sub(ticket.created_ms()) {
        None => MOMENT_MAX,
        Some(waited_ms) => (MOMENT_MAX - 1).saturating_sub(waited_ms),
    };
    let is_exact = 0 < moment && moment < MOMENT_MAX;
    let id_bits = if is_exact { ticket.id().start() >> (u64::BITS - ID_BITS) } else { 0 };
    (moment << ID_BITS | id_bits) << PLACE_BITS | u64::from(place)
}

/// The places of all tickets, oldest first.
fn by_age(tickets: &[Ticket], mut keys: Vec<u64>) -> Vec<u32> {
    let place = |key: &u64| *key as u32 & ((1 << PLACE_BITS) - 1);
    keys.sort_unstable();
    for same in keys.chunk_by_mut(|a, b| a >> PLACE_BITS == b >> PLACE_BITS).filter(|same| same.len() > 1) {
        same.sort_unstable_by_key(|key| &tickets[place(key) as usize]);
    }
    keys.iter().map(place).collect()
}

/// Takes all tickets but a player's oldest out of `by_age`, and names that one with each.
fn take_second_tickets<'a>(
    tickets: &'a [Ticket],
    mut hashes: Vec<u64>,
    by_age: &mut Vec<u32>,
) -> Vec<(&'a Ticket, &'a Ticket)> {
    // Sorting by a hash of the name brings a player's tickets together. Names are read only where hashes are
    // the same.
    hashes.sort_unstable();
    let mut second = Vec::new();
    for same in hashes.chunk_by(|a, b| a >> u32::BITS == b >> u32::BITS).filter(|same| same.len() > 1) {
        let mut same: Vec<&Ticket> = same.iter().map(|hash| &tickets[*hash as u32 as usize]).collect();
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
