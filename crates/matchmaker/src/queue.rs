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

/// A ticket that takes part, with what the search needs of it in half a cache line: a ticket itself lies
/// anywhere in the memory, and its names elsewhere again.
pub(crate) struct Waiter<'a> {
    pub(crate) ticket: &'a Ticket,
    pub(crate) sketch: Sketch,
    pub(crate) points: i32,
    pub(crate) window_points: i32,
    pub(crate) time_controls: TimeControls,
    pub(crate) is_past_bound: bool,
}

/// A place in [`Queue::waiters`].
pub(crate) type Rank = u32;

/// Everybody once.
pub(crate) struct Queue<'a> {
    /// Oldest first.
    pub(crate) waiters: Vec<Waiter<'a>>,
    /// Tickets of players who have an older one, each with that one.
    pub(crate) second: Vec<(&'a Ticket, &'a Ticket)>,
}

impl<'a> Queue<'a> {
    pub(crate) fn new(tickets: &'a [Ticket], now_ms: u64, policy: &Policy) -> Result<Self, TooManyTickets> {
        if tickets.len() > TICKETS_MAX {
            return Err(TooManyTickets { count: tickets.len() });
        }
        let mut queue = Self { waiters: by_age(tickets, now_ms, policy), second: Vec::new() };
        let first = first_tickets(&queue.waiters);
        if first.iter().any(Option::is_some) {
            let mut first = first.into_iter();
            queue.waiters.retain(|waiter| match first.next().flatten() {
                Some(first) => {
                    queue.second.push((waiter.ticket, first));
                    false
                }
                None => true,
            });
        }
        Ok(queue)
    }

    pub(crate) fn waiter(&self, rank: Rank) -> &Waiter<'a> {
        &self.waiters[rank as usize]
    }

    /// All ranks, oldest first.
    pub(crate) fn ranks(&self) -> std::ops::Range<Rank> {
        // `TICKETS_MAX` fits.
        0..Rank::try_from(self.waiters.len()).unwrap_or(Rank::MAX)
    }
}

/// Oldest first; the rest of a ticket decides between those of one moment.
fn by_age<'a>(tickets: &'a [Ticket], now_ms: u64, policy: &Policy) -> Vec<Waiter<'a>> {
    // Tickets are read once, in the order in which they lie.
    let mut keyed: Vec<_> = tickets
        .iter()
        .map(|ticket| {
            let waiter = Waiter {
                ticket,
                sketch: ticket.sketch(),
                points: ticket.rating_points(),
                window_points: policy.window_points(ticket, now_ms).cast_signed(),
                time_controls: ticket.time_controls(),
                is_past_bound: policy.is_past_bound(ticket, now_ms),
            };
            (ticket.created_ms(), ticket.id(), waiter)
        })
        .collect();
    keyed.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2.ticket.cmp(b.2.ticket)));
    keyed.into_iter().map(|(_, _, waiter)| waiter).collect()
}

/// For each ticket the first one of the same player, unless it is that itself.
fn first_tickets<'a>(by_age: &[Waiter<'a>]) -> Vec<Option<&'a Ticket>> {
    // Sorting by a hash of the name brings a player's tickets together, and reads names only where hashes are
    // the same.
    let player = |rank: usize| by_age[rank].ticket.player();
    let mut keyed: Vec<(u64, usize)> =
        by_age.iter().enumerate().map(|(rank, waiter)| (waiter.sketch.player_hash, rank)).collect();
    keyed.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| player(a.1).cmp(player(b.1))).then(a.1.cmp(&b.1))
    });
    let mut first = vec![None; by_age.len()];
    let mut group: Option<(u64, usize)> = None;
    for (hash, rank) in keyed {
        match group {
            Some((of, oldest)) if of == hash && player(oldest) == player(rank) => {
                first[rank] = Some(by_age[oldest].ticket);
            }
            _ => group = Some((hash, rank)),
        }
    }
    first
}
