//! Oldest first, each takes the nearest who accepts him.

use crate::lane::{Found, Lanes};
use crate::leftover;
use crate::queue::{Queue, TooManyTickets, Waiter};
use crate::ticket::Relation;
use crate::{Pair, Pairing, Policy, Terms, Ticket, Waiting, Why};

/// Pairs `tickets` as of `now_ms`, a stamp of the clock that made their times.
///
/// Two may be paired if they are different players, share a time control, neither excludes the other, and
/// either each accepts the other (the gap of their ratings is inside both windows, and whoever met the other
/// lately has waited [`rematch_after_ms`](crate::PolicyNumbers::rematch_after_ms)) or one is past the bound.
/// That holds for both or for neither, so that one pass is enough: the oldest takes the nearest of all it may
/// be paired with, and who finds nobody then will not be found by a later one either.
///
/// A ticket's search costs a few steps near its rating, however many there are. Each exclusion and recent
/// opponent costs at most one more look, as a pair is looked at once. So the whole is two sorts and work in
/// proportion to the tickets, their time controls and their lists.
///
/// # Errors
/// There are more than [`TICKETS_MAX`](crate::TICKETS_MAX) tickets.
pub fn pair<'a>(tickets: &'a [Ticket], now_ms: u64, policy: &Policy) -> Result<Pairing<'a>, TooManyTickets> {
    let queue = Queue::new(tickets, now_ms, policy)?;
    let mut lanes = Lanes::new(&queue);
    let (mut pairs, mut left) = (Vec::with_capacity(queue.waiters.len() / 2), Vec::new());
    for chooser in queue.by_age.iter().copied() {
        if !lanes.has(chooser) {
            continue;
        }
        lanes.remove(chooser);
        let older = queue.waiter(chooser);
        let may_meet = |younger: &Waiter| may_meet(&queue, older, younger, now_ms, policy);
        let best = lanes.best(&queue, chooser, may_meet);
        if let Some(Found { spot, .. }) = best
            && let Some(pair) = explain(&queue, older, queue.waiter(spot), now_ms, policy)
        {
            lanes.remove(spot);
            pairs.push(pair);
        } else {
            left.push(chooser);
        }
    }
    let mut waiting = leftover::explain(&queue, left, policy);
    waiting.extend(queue.second.iter().map(|(ticket, first)| Waiting {
        ticket,
        window_points: policy.window_points(ticket, now_ms),
        why: Why::SecondTicket { first },
    }));
    waiting.sort_unstable_by_key(|waiting| (waiting.ticket.created_ms(), waiting.ticket));
    Ok(Pairing { pairs, waiting })
}

/// Whether their lists let them meet.
fn may_meet(queue: &Queue<'_>, older: &Waiter, younger: &Waiter, now_ms: u64, policy: &Policy) -> bool {
    if !older.sketch.may_list(younger.sketch) {
        return true;
    }
    let (a, b) = (queue.ticket(older), queue.ticket(younger));
    let (a_of_b, b_of_a) = (a.relation_to(b), b.relation_to(a));
    if a_of_b.is_excluded || b_of_a.is_excluded {
        return false;
    }
    older.is_past_bound || (accepts(a, a_of_b, now_ms, policy) && accepts(b, b_of_a, now_ms, policy))
}

/// Whether `ticket` does not mind that its player met the other one, if he did.
const fn accepts(ticket: &Ticket, other: Relation, now_ms: u64, policy: &Policy) -> bool {
    !other.was_met || policy.accepts_rematch(ticket, now_ms)
}

/// Nothing if they have no time control in common.
fn explain<'a>(
    queue: &Queue<'a>,
    older: &Waiter,
    younger: &Waiter,
    now_ms: u64,
    policy: &Policy,
) -> Option<Pair<'a>> {
    let (a, b) = (queue.ticket(older), queue.ticket(younger));
    let gap_points = u32::from(older.points.abs_diff(younger.points));
    let older_window_points = u32::from(older.window_points.unsigned_abs());
    let younger_window_points = u32::from(younger.window_points.unsigned_abs());
    let is_inside = gap_points <= older_window_points.min(younger_window_points);
    let may_list = older.sketch.may_list(younger.sketch);
    let relations = may_list.then(|| (a.relation_to(b), b.relation_to(a)));
    let (a_of_b, b_of_a) = relations.unwrap_or_default();
    let both_accept = accepts(a, a_of_b, now_ms, policy) && accepts(b, b_of_a, now_ms, policy);
    let terms = if !is_inside || !both_accept {
        Terms::PastBound
    } else if a_of_b.was_met || b_of_a.was_met {
        Terms::Rematch
    } else {
        Terms::BothWindows
    };
    Some(Pair {
        older: a,
        younger: b,
        time_control: older.time_controls.common(younger.time_controls).first()?,
        gap_points,
        older_window_points,
        younger_window_points,
        terms,
    })
}
