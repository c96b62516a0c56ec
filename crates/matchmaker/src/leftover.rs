//! Why those who are left still wait.

use crate::lane::Found;
use crate::queue::{Queue, Rank, Waiter};
use crate::{Policy, TimeControlPlace, Waiting, Why};

/// What a ticket has found among those who are left.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Somebody would play one of its time controls.
    anybody: bool,
    /// The nearest who may meet it at all.
    nearest: Option<Found>,
}

/// The reasons of all who are not paired.
pub(crate) fn explain<'a>(queue: &Queue<'a>, is_paired: &[bool], policy: &Policy) -> Vec<Waiting<'a>> {
    let left = queue.by_rating.iter().map(|standing| standing.rank).filter(|rank| !is_paired[*rank as usize]);
    let left: Vec<Rank> = left.collect();
    let mut seen = vec![Seen::default(); left.len()];
    for time_control in TimeControlPlace::all() {
        let is_member = |rank: Rank| queue.waiter(rank).time_controls.contains(time_control);
        let members = left.iter().copied().enumerate().filter(|(_, rank)| is_member(*rank));
        let members: Vec<(usize, Rank)> = members.collect();
        for (nth, (place, rank)) in members.iter().enumerate() {
            let (below, above) = (members[..nth].iter().rev(), members[nth + 1..].iter());
            let below = nearest(queue, *rank, below.map(|(_, other)| *other));
            let above = nearest(queue, *rank, above.map(|(_, other)| *other));
            let seen = &mut seen[*place];
            seen.anybody |= members.len() > 1;
            seen.nearest = seen.nearest.into_iter().chain(below).chain(above).min();
        }
    }
    let left = left.into_iter().map(|rank| queue.waiter(rank));
    let explained = left.zip(seen).map(|(waiter, seen)| Waiting {
        ticket: queue.ticket(waiter),
        window_points: waiter.window_points.unsigned_abs().into(),
        why: why(queue, waiter, seen, policy),
    });
    explained.collect()
}

/// The first of `others`, who are further and further away, that may meet `rank` at all. Those of one rating
/// count as equally near, so that the direction they are read in does not matter.
fn nearest(queue: &Queue<'_>, rank: Rank, others: impl Iterator<Item = Rank>) -> Option<Found> {
    let waiter = queue.waiter(rank);
    let others = others.map(|rank| (rank, queue.waiter(rank)));
    let mut may_meet = others.filter(|(_, other)| !excludes(queue, waiter, other));
    let (rank, other) = may_meet.next()?;
    Some(Found { gap_points: waiter.points.abs_diff(other.points), rank })
}

fn excludes(queue: &Queue<'_>, a: &Waiter, b: &Waiter) -> bool {
    let (ticket_a, ticket_b) = (queue.ticket(a), queue.ticket(b));
    a.sketch.may_list(b.sketch)
        && (ticket_a.relation_to(ticket_b).is_excluded || ticket_b.relation_to(ticket_a).is_excluded)
}

fn why<'a>(queue: &Queue<'a>, waiter: &Waiter, seen: Seen, policy: &Policy) -> Why<'a> {
    let Some(Found { gap_points, rank }) = seen.nearest else {
        return if seen.anybody { Why::AllExcluded } else { Why::NobodyElse };
    };
    let other = queue.waiter(rank);
    let nearest = queue.ticket(other);
    let opens_ms = policy.opens_ms(queue.ticket(waiter), nearest);
    let window_points = waiter.window_points.min(other.window_points).unsigned_abs();
    if gap_points <= window_points {
        Why::MetLately { nearest, opens_ms }
    } else {
        Why::Apart { nearest, gap_points: gap_points.into(), opens_ms }
    }
}
