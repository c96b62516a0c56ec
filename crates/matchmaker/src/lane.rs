//! All who would play one time control, by rating: who is nearest and accepts?

use crate::least::Least;
use crate::queue::{Queue, Rank, Waiter};
use crate::{TimeControlPlace, TimeControls};

/// A ticket found by a search. The least one is the best: the nearest, and of these the oldest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Found {
    pub(crate) gap_points: u32,
    pub(crate) rank: Rank,
}

/// Everybody's place in the lanes of his time controls. Who leaves one leaves all.
pub(crate) struct Lanes {
    /// By the time control's place in the pool's list.
    lanes: Vec<Lane>,
}

/// One time control.
struct Lane {
    /// From the lowest rating up, and from the highest down.
    sides: [Side; 2],
}

/// Which way a side looks: what a rating is multiplied by.
const SIGNS: [i32; 2] = [1, -1];

/// The tickets of a lane in the order of their signed ratings, of equal ones the oldest first.
///
/// Who is at `r` and looks ahead sees those at `s ≥ r`. Such a one accepts him if `s - window ≤ r`, so that the
/// first to accept him is the first place whose `s - window` is at most `r`, which [`Least`] finds.
struct Side {
    members: Vec<Rank>,
    /// By rank; of those in this lane.
    places: Vec<u32>,
    lower_ends: Least,
}

impl Lanes {
    pub(crate) fn new(queue: &Queue<'_>) -> Self {
        let orders = SIGNS.map(|sign| by_rating(queue, sign));
        let count = queue.waiters.len();
        let lane = |place| Lane { sides: orders.each_ref().map(|order| Side::new(count, place, order)) };
        let wanted = queue.waiters.iter().fold(0, |count: usize, waiter| {
            count.max(waiter.time_controls.iter().map(|place| place.index() + 1).max().unwrap_or(0))
        });
        Self { lanes: TimeControlPlace::all().take(wanted).map(lane).collect() }
    }

    /// The best one that `chooser`, the oldest of all that are left, can be paired with. `may_meet` judges
    /// whatever is not ratings and time controls.
    pub(crate) fn best(
        &self,
        queue: &Queue<'_>,
        chooser: Rank,
        may_meet: impl Fn(&Waiter<'_>, &Waiter<'_>) -> bool,
    ) -> Option<Found> {
        let waiter = queue.waiter(chooser);
        let mut best = None;
        for lane in self.of(waiter.time_controls) {
            for (side, sign) in lane.sides.iter().zip(SIGNS) {
                let found = side.best(queue, chooser, sign, best, &may_meet);
                best = best.into_iter().chain(found).min();
            }
        }
        best
    }

    /// Takes `rank` out of all lanes.
    pub(crate) fn remove(&mut self, queue: &Queue<'_>, rank: Rank) {
        for place in queue.waiter(rank).time_controls.iter() {
            for side in &mut self.lanes[place.index()].sides {
                side.lower_ends.remove(side.places[rank as usize] as usize);
            }
        }
    }

    /// For each time control all who would play it, from the lowest rating up.
    pub(crate) fn members(&self) -> impl Iterator<Item = &[Rank]> {
        self.lanes.iter().map(|lane| &*lane.sides[0].members)
    }

    fn of(&self, time_controls: TimeControls) -> impl Iterator<Item = &Lane> {
        time_controls.iter().map(|place| &self.lanes[place.index()])
    }
}

impl Side {
    fn new(count: usize, place: TimeControlPlace, order: &[Entry]) -> Self {
        let in_lane = || order.iter().filter(|entry| entry.time_controls.contains(place));
        let members: Vec<Rank> = in_lane().map(|entry| entry.rank).collect();
        let mut places = vec![0; count];
        for (place, rank) in (0..).zip(&members) {
            places[*rank as usize] = place;
        }
        let lower_ends = in_lane().map(|entry| entry.signed_points - entry.window_points).collect();
        Self { members, places, lower_ends: Least::new(lower_ends) }
    }

    /// The best one ahead of `chooser` that is better than `best`.
    fn best(
        &self,
        queue: &Queue<'_>,
        chooser: Rank,
        sign: i32,
        best: Option<Found>,
        may_meet: impl Fn(&Waiter<'_>, &Waiter<'_>) -> bool,
    ) -> Option<Found> {
        let waiter = queue.waiter(chooser);
        let (limit, reach_points) = if waiter.is_past_bound {
            (i32::MAX - 1, u32::MAX)
        } else {
            (sign * waiter.points, waiter.window_points.unsigned_abs())
        };
        let mut from = self.places[chooser as usize] as usize + 1;
        loop {
            let place = self.lower_ends.first_from(from, limit)?;
            let rank = self.members[place];
            let other = queue.waiter(rank);
            let found = Found { gap_points: waiter.points.abs_diff(other.points), rank };
            if found.gap_points > reach_points || best.is_some_and(|best| best <= found) {
                return None;
            }
            if may_meet(waiter, other) {
                return Some(found);
            }
            from = place + 1;
        }
    }
}

/// What makes a place in a side.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    signed_points: i32,
    rank: Rank,
    window_points: i32,
    time_controls: TimeControls,
}

/// Everybody by signed rating, of equal ones the oldest first.
fn by_rating(queue: &Queue<'_>, sign: i32) -> Vec<Entry> {
    let ranked = queue.ranks().zip(&queue.waiters);
    let mut order: Vec<Entry> = ranked
        .map(|(rank, waiter)| Entry {
            signed_points: sign * waiter.points,
            rank,
            window_points: waiter.window_points,
            time_controls: waiter.time_controls,
        })
        .collect();
    order.sort_unstable();
    order
}
