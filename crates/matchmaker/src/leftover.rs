//! Why those who are left still wait.

use crate::lane::Found;
use crate::queue::{Queue, Spot, Waiter};
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
pub(crate) fn explain<'a>(queue: &Queue<'a>, mut left: Vec<Spot>, policy: &Policy) -> Vec<Waiting<'a>> {
    left.sort_unstable();
    let mut seen = vec![Seen::default(); left.len()];
    for time_control in TimeControlPlace::all() {
        let is_member = |spot: Spot| queue.waiter(spot).time_controls.contains(time_control);
        let members = left.iter().copied().enumerate().filter(|(_, spot)| is_member(*spot));
        let members: Vec<(usize, Spot)> = members.collect();
        for (nth, (place, spot)) in members.iter().enumerate() {
            let (below, above) = (members[..nth].iter().rev(), members[nth + 1..].iter());
            let below = nearest(queue, *spot, below.map(|(_, other)| *other));
            let above = nearest(queue, *spot, above.map(|(_, other)| *other));
            let seen = &mut seen[*place];
            seen.anybody |= members.len() > 1;
            seen.nearest = seen.nearest.into_iter().chain(below).chain(above).min();
        }
    }
    let left = left.into_iter().map(|spot| queue.waiter(spot));
    let explained = left.zip(seen).map(|(waiter, seen)| Waiting {
        ticket: queue.ticket(waiter),
        window_points: waiter.window_points.unsigned_abs().into(),
        why: why(queue, waiter, seen, policy),
    });
    explained.collect()
}

/// The first of `others`, who are further and further away, that may meet `spot` at all. Those of one rating
/// count as equally near, so that the direction they are read in does not matter.
fn nearest(queue: &Queue<'_>, spot: Spot, others: impl Iterator<Item = Spot>) -> Option<Found> {
    let waiter = queue.waiter(spot);
    let others = others.map(|spot| (spot, queue.waiter(spot)));
    let mut may_meet = others.filter(|(_, other)| !excludes(queue, waiter, other));
    let (spot, other) = may_meet.next()?;
    Some(Found { gap_points: waiter.points.abs_diff(other.points), rank: other.rank, spot })
}

fn excludes(queue: &Queue<'_>, a: &Waiter, b: &Waiter) -> bool {
    let (ticket_a, ticket_b) = (queue.ticket(a), queue.ticket(b));
    a.sketch.may_list(b.sketch)
        && (ticket_a.relation_to(ticket_b).is_excluded || ticket_b.relation_to(ticket_a).is_excluded)
}

fn why<'a>(queue: &Queue<'a>, waiter: &Waiter, seen: Seen, policy: &Policy) -> Why<'a> {
    let Some(Found { gap_points, spot, .. }) = seen.nearest else {
        return if seen.anybody { Why::AllExcluded } else { Why::NobodyElse };
    };
    let other = queue.waiter(spot);
    let nearest = queue.ticket(other);
    let opens_ms = policy.opens_ms(queue.ticket(waiter), nearest);
    let window_points = waiter.window_points.min(other.window_points).unsigned_abs();
    if gap_points <= window_points {
        Why::MetLately { nearest, opens_ms }
    } else {
        Why::Apart { nearest, gap_points: gap_points.into(), opens_ms }
    }
}
