//! Why those who are left still wait.

use crate::lane::{Found, Lanes};
use crate::queue::{Queue, Rank, Waiter};
use crate::{Policy, Waiting, Why};

/// What a ticket has found among those who are left.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Somebody would play one of its time controls.
    anybody: bool,
    /// The nearest who may meet it at all.
    nearest: Option<Found>,
}

/// The reasons of all who are not paired.
pub(crate) fn explain<'a>(
    queue: &Queue<'a>,
    lanes: &Lanes,
    is_paired: &[bool],
    policy: &Policy,
) -> Vec<Waiting<'a>> {
    let mut seen = vec![Seen::default(); queue.waiters.len()];
    for members in lanes.members() {
        let left: Vec<Rank> = members.iter().copied().filter(|rank| !is_paired[*rank as usize]).collect();
        for (place, rank) in left.iter().enumerate() {
            let seen = &mut seen[*rank as usize];
            seen.anybody |= left.len() > 1;
            let below = nearest(queue, *rank, left[..place].iter().rev());
            let above = nearest(queue, *rank, left[place + 1..].iter());
            seen.nearest = seen.nearest.into_iter().chain(below).chain(above).min();
        }
    }
    let left = queue.ranks().zip(seen).filter(|(rank, _)| !is_paired[*rank as usize]);
    left.map(|(rank, seen)| Waiting {
        ticket: queue.waiter(rank).ticket,
        window_points: queue.waiter(rank).window_points.unsigned_abs(),
        why: why(queue, rank, seen, policy),
    })
    .collect()
}

/// The first of `others`, who are further and further away, that may meet `rank` at all. Those of one rating
/// count as equally near, so that the direction they are read in does not matter.
fn nearest<'r>(queue: &Queue<'_>, rank: Rank, others: impl Iterator<Item = &'r Rank>) -> Option<Found> {
    let waiter = queue.waiter(rank);
    let others = others.map(|other| (*other, queue.waiter(*other)));
    let mut may_meet = others.filter(|(_, other)| !excludes(waiter, other));
    may_meet.next().map(|(rank, other)| Found { gap_points: waiter.points.abs_diff(other.points), rank })
}

fn excludes(a: &Waiter<'_>, b: &Waiter<'_>) -> bool {
    a.sketch.may_list(b.sketch)
        && (a.ticket.excludes(b.ticket.player()) || b.ticket.excludes(a.ticket.player()))
}

fn why<'a>(queue: &Queue<'a>, rank: Rank, seen: Seen, policy: &Policy) -> Why<'a> {
    let waiter = queue.waiter(rank);
    let Some(Found { gap_points, rank: other }) = seen.nearest else {
        return if seen.anybody { Why::AllExcluded } else { Why::NobodyElse };
    };
    let other = queue.waiter(other);
    let nearest = other.ticket;
    let opens_ms = policy.opens_ms(waiter.ticket, nearest);
    let window_points = waiter.window_points.min(other.window_points).unsigned_abs();
    if gap_points <= window_points {
        Why::MetLately { nearest, opens_ms }
    } else {
        Why::Apart { nearest, gap_points, opens_ms }
    }
}
