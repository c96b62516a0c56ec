//! The rules of pairing as they are told, without a thought for speed.

use matchmaker::{PolicyNumbers, Ticket};

/// Whether neither time nor rating is what keeps them apart.
pub(crate) fn compatible(a: &Ticket, b: &Ticket) -> bool {
    a.player() != b.player()
        && !a.time_controls().common(b.time_controls()).is_empty()
        && !a.excludes(b.player())
        && !b.excludes(a.player())
}

/// Whether each accepts the other by itself.
pub(crate) fn both_accept(a: &Ticket, b: &Ticket, now_ms: u64, policy: &PolicyNumbers) -> bool {
    [(a, b), (b, a)].iter().all(|(ticket, other)| {
        let waited_ms = now_ms.saturating_sub(ticket.created_ms());
        let start = policy.window_start_points + ticket.deviation_points() * policy.deviation_percent / 100;
        let grown = waited_ms * u64::from(policy.window_growth_points_per_s) / 1_000;
        let window = (u64::from(start) + grown).min(policy.window_max_points.into());
        let gap = u64::from(ticket.rating_points().abs_diff(other.rating_points()));
        gap <= window && (waited_ms >= policy.rematch_after_ms || !ticket.has_met(other.player()))
    })
}

pub(crate) fn is_past_bound(ticket: &Ticket, now_ms: u64, policy: &PolicyNumbers) -> bool {
    now_ms.saturating_sub(ticket.created_ms()) >= policy.bound_ms
}

pub(crate) fn may_be_paired(a: &Ticket, b: &Ticket, now_ms: u64, policy: &PolicyNumbers) -> bool {
    let late = is_past_bound(a, now_ms, policy) || is_past_bound(b, now_ms, policy);
    compatible(a, b) && (late || both_accept(a, b, now_ms, policy))
}

/// Oldest first, each takes the nearest it may be paired with, of equally near ones the oldest.
pub(crate) fn pairs<'a>(
    tickets: &'a [Ticket],
    now_ms: u64,
    policy: &PolicyNumbers,
) -> Vec<(&'a Ticket, &'a Ticket)> {
    let mut left: Vec<&Ticket> = tickets.iter().collect();
    left.sort_by_key(|ticket| (ticket.created_ms(), ticket.id()));
    let mut seen = Vec::new();
    left.retain(|ticket| {
        let is_first = !seen.contains(&ticket.player());
        seen.push(ticket.player());
        is_first
    });
    let mut pairs = Vec::new();
    while !left.is_empty() {
        let older = left.remove(0);
        let gap = |other: &Ticket| older.rating_points().abs_diff(other.rating_points());
        let others = left.iter().enumerate();
        let best = others
            .filter(|(_, other)| may_be_paired(older, other, now_ms, policy))
            .min_by_key(|(place, other)| (gap(other), *place))
            .map(|(place, _)| place);
        if let Some(place) = best {
            pairs.push((older, left.remove(place)));
        }
    }
    pairs
}
