//! Why those who are left still wait.

use crate::lane::{Found, Lanes};
use crate::queue::{Queue, Spot, Waiter};
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
        let left: Vec<Spot> = members.filter(|spot| !is_paired[*spot as usize]).collect();
        for (place, spot) in left.iter().enumerate() {
            let seen = &mut seen[*spot as usize];
            seen.anybody |= left.len() > 1;
            let below = nearest(queue, *spot, left[..place].iter().rev());
            let above = nearest(queue, *spot, left[place + 1..].iter());
            seen.nearest = seen.nearest.into_iter().chain(below).chain(above).min();
        }
    }
    let left = (0..).zip(seen).filter(|(spot, _)| !is_paired[*spot as usize]);
    left.map(|(spot, seen)| Waiting {
        ticket: queue.ticket(queue.waiter(spot)),
        window_points: queue.waiter(spot).window_points.unsigned_abs().into(),
        why: why(queue, spot, seen, policy),
    })
    .collect()
}

/// The first of `others`, who are further and further away, that may meet `spot` at all. Those of one rating
/// count as equally near, so that the direction they are read in does not matter.
fn nearest<'r>(queue: &Queue<'_>, spot: Spot, others: impl Iterator<Item = &'r Spot>) -> Option<Found> {
    let waiter = queue.waiter(spot);
    let others = others.map(|other| (*other, queue.waiter(*other)));
    let mut may_meet = others.filter(|(_, other)| !excludes(queue, waiter, other));
    may_meet.next().map(|(spot, other)| Found::new(waiter, spot, other))
}

fn excludes(queue: &Queue<'_>, a: &Waiter, b: &Waiter) -> bool {
    a.sketch.may_list(b.sketch)
        && (queue.ticket(a).excludes(queue.ticket(b).player())
            || queue.ticket(b).excludes(queue.ticket(a).player()))
}

fn why<'a>(queue: &Queue<'a>, spot: Spot, seen: Seen, policy: &Policy) -> Why<'a> {
    let waiter = queue.waiter(spot);
    let Some(Found { gap_points, spot: other, .. }) = seen.nearest else {
        return if seen.anybody { Why::AllExcluded } else { Why::NobodyElse };
    };
    let other = queue.waiter(other);
    let nearest = queue.ticket(other);
    let opens_ms = policy.opens_ms(queue.ticket(waiter), nearest);
    let window_points = waiter.window_points.min(other.window_points).unsigned_abs();
    if gap_points <= window_points {
        Why::MetLately { nearest, opens_ms }
    } else {
        Why::Apart { nearest, gap_points: gap_points.into(), opens_ms }
    }
}
