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

/// A ticket that takes part, with what the search needs of it in half a cache line.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) sketch: Sketch,
    /// Where the ticket stands in the input.
    place: u32,
    /// Where it stands by rating.
    pub(crate) spot: Spot,
    pub(crate) points: i16,
    /// From 0 to [`Policy::POINTS_MAX`].
    pub(crate) window_points: i16,
    pub(crate) time_controls: TimeControls,
    pub(crate) is_past_bound: bool,
}

/// What a search has to know of a ticket to pass it by: eight bytes, so that what is near is in one cache line.
#[derive(Clone, Copy, Default)]
pub(crate) struct Standing {
    pub(crate) rank: Rank,
    pub(crate) points: i16,
    pub(crate) window_points: i16,
}

/// A place in [`Queue::waiters`]: how many are older.
pub(crate) type Rank = u32;

/// A place in [`Queue::by_rating`].
pub(crate) type Spot = u32;

/// Everybody once.
pub(crate) struct Queue<'a> {
    tickets: &'a [Ticket],
    /// Oldest first.
    pub(crate) waiters: Vec<Waiter>,
    /// From the lowest rating up, of equal ones the oldest first.
    pub(crate) by_rating: Vec<Standing>,
    /// The lowest rating, points.
    lowest: i16,
    /// For every rating from the lowest on, where it ends in `by_rating`.
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
                place,
                spot: 0,
                points: ticket.points(),
                // `Policy::POINTS_MAX` fits.
                window_points: i16::try_from(policy.window_points(ticket, now_ms)).unwrap_or(i16::MAX),
                time_controls: ticket.time_controls(),
                is_past_bound: policy.is_past_bound(ticket, now_ms),
            };
            (waiter, age_key(ticket, now_ms, place))
        });
        let (waiters, age_keys): (Vec<Waiter>, Vec<u64>) = read.unzip();
        let mut by_age = by_age(tickets, age_keys);
        let second = take_second_tickets(tickets, &waiters, &mut by_age);
        let waiters = by_age.iter().map(|place| waiters[*place as usize]).collect();
        let mut queue = Self { tickets, waiters, by_rating: Vec::new(), lowest: 0, ends: Vec::new(), second };
        queue.sort_by_rating();
        Ok(queue)
    }

    /// Counts the waiters into the order of their ratings: there are so few ratings that this is less work than
    /// sorting.
    fn sort_by_rating(&mut self) {
        let points = || self.waiters.iter().map(|waiter| waiter.points);
        self.lowest = points().min().unwrap_or(0);
        let highest = points().max().unwrap_or(0);
        self.ends = vec![0; usize::from(highest.abs_diff(self.lowest)) + 1];
        for waiter in &self.waiters {
            self.ends[usize::from(waiter.points.abs_diff(self.lowest))] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            start += mem::replace(end, start);
        }
        self.by_rating = vec![Standing::default(); self.waiters.len()];
        for (rank, waiter) in (0..).zip(&mut self.waiters) {
            let end = &mut self.ends[usize::from(waiter.points.abs_diff(self.lowest))];
            waiter.spot = *end;
            let Waiter { points, window_points, .. } = *waiter;
            self.by_rating[*end as usize] = Standing { rank, points, window_points };
            *end += 1;
        }
    }

    pub(crate) fn waiter(&self, rank: Rank) -> &Waiter {
        &self.waiters[rank as usize]
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
    waiters: &[Waiter],
    by_age: &mut Vec<u32>,
) -> Vec<(&'a Ticket, &'a Ticket)> {
    // Sorting by a hash of the name brings a player's tickets together. Names are read only where hashes are
    // the same.
    let hashes = waiters
        .iter()
        .map(|waiter| u64::from(waiter.sketch.player_hash) << u32::BITS | u64::from(waiter.place));
    let mut hashes: Vec<u64> = hashes.collect();
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
