//! All who would play one time control, by rating: who is nearest and accepts?

use crate::TimeControlPlace;
use crate::least::Least;
use crate::queue::{Queue, Spot, Waiter};

/// A ticket found by a search. The least one is the best: the nearest, and of these the oldest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Found {
    pub(crate) gap_points: u16,
    rank: u32,
    pub(crate) spot: Spot,
}

impl Found {
    pub(crate) fn new(waiter: &Waiter, spot: Spot, other: &Waiter) -> Self {
        Self { gap_points: waiter.points.abs_diff(other.points), rank: other.rank, spot }
    }
}

/// Everybody in the lanes of his time controls. Who leaves one leaves all.
pub(crate) struct Lanes {
    /// By the time control's place in the pool's list.
    lanes: Vec<Lane>,
    places: Places,
}

/// One time control, from the lowest rating up and from the highest down.
type Lane = [Side; 2];

/// The tickets of a lane in the order of their signed ratings, of equal ones the oldest first.
///
/// Who is at `r` and looks ahead sees those at `s >= r`. Such a one accepts him if `s - window <= r`, so that the
/// first to accept him is the first place whose `s - window` is at most `r`, which [`Least`] finds.
struct Side {
    members: Vec<Spot>,
    lower_ends: Least,
}

/// Where tickets stand in the sides of their lanes.
struct Places {
    /// By spot: where its own begin in `places`, one for each of its time controls.
    starts: Vec<u32>,
    places: Vec<[u32; 2]>,
}

impl Lanes {
    pub(crate) fn new(queue: &Queue<'_>) -> Self {
        let up: Vec<Spot> = (0..).zip(&queue.waiters).map(|(spot, _)| spot).collect();
        let down = downwards(queue);
        let wanted = queue.waiters.iter().filter_map(|waiter| waiter.time_controls.last());
        let count = wanted.map(|last| last.index() + 1).max().unwrap_or(0);
        let mut places = Places::new(queue);
        let lanes = TimeControlPlace::all().take(count).map(|time_control| {
            [(&up, 1), (&down, -1)].map(|(order, sign)| Side::new(queue, time_control, order, sign))
        });
        let lanes: Vec<Lane> = lanes.collect();
        for (time_control, lane) in TimeControlPlace::all().zip(&lanes) {
            for (side, of_side) in lane.iter().enumerate() {
                for (place, spot) in (0..).zip(&of_side.members) {
                    let nth = queue.waiter(*spot).time_controls.count_before(time_control);
                    places.set(*spot, nth, side, place);
                }
            }
        }
        Self { lanes, places }
    }

    /// The best one that `chooser`, the oldest of all that are left, can be paired with. `may_meet` judges
    /// whatever is not ratings and time controls.
    pub(crate) fn best(
        &self,
        queue: &Queue<'_>,
        chooser: Spot,
        may_meet: impl Fn(&Waiter, &Waiter) -> bool,
    ) -> Option<Found> {
        let time_controls = queue.waiter(chooser).time_controls;
        let mut best = None;
        for (time_control, places) in time_controls.iter().zip(self.places.of(chooser)) {
            let sides = self.lanes[time_control.index()].iter().zip(places).zip([1, -1]);
            for ((side, place), sign) in sides {
                let from = *place as usize + 1;
                let found = side.best_from(from, sign, queue, chooser, best, &may_meet);
                best = found.or(best);
            }
        }
        best
    }

    /// Takes `spot` out of all lanes.
    pub(crate) fn remove(&mut self, queue: &Queue<'_>, spot: Spot) {
        let time_controls = queue.waiter(spot).time_controls;
        for (time_control, places) in time_controls.iter().zip(self.places.of(spot)) {
            for (side, place) in self.lanes[time_control.index()].iter_mut().zip(places) {
                side.lower_ends.remove(*place as usize);
            }
        }
    }

    /// For each time control all who would play it, from the lowest rating up.
    pub(crate) fn members(&self) -> impl Iterator<Item = impl Iterator<Item = Spot>> {
        self.lanes.iter().map(|[up, _]| up.members.iter().copied())
    }
}

impl Side {
    fn new(queue: &Queue<'_>, time_control: TimeControlPlace, order: &[Spot], sign: i16) -> Self {
        let is_member = |spot: &Spot| queue.waiter(*spot).time_controls.contains(time_control);
        let members: Vec<Spot> = order.iter().copied().filter(is_member).collect();
        let lower_ends = members.iter().map(|spot| {
            let waiter = queue.waiter(*spot);
            // The bounds of ratings and windows keep this far from its ends.
            (sign * waiter.points).saturating_sub(waiter.window_points)
        });
        let lower_ends = Least::new(lower_ends.collect());
        Self { members, lower_ends }
    }

    /// The best one for `chooser` at or after `from`, if it is better than `best`.
    fn best_from(
        &self,
        from: usize,
        sign: i16,
        queue: &Queue<'_>,
        chooser: Spot,
        best: Option<Found>,
        may_meet: impl Fn(&Waiter, &Waiter) -> bool,
    ) -> Option<Found> {
        let waiter = queue.waiter(chooser);
        let (limit, reach_points) = if waiter.is_past_bound {
            (i16::MAX - 1, u16::MAX)
        } else {
            (sign * waiter.points, waiter.window_points.unsigned_abs())
        };
        let mut from = from;
        loop {
            let place = self.lower_ends.first_from(from, limit)?;
            let spot = self.members[place];
            let other = queue.waiter(spot);
            let found = Found::new(waiter, spot, other);
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

impl Places {
    fn new(queue: &Queue<'_>) -> Self {
        let mut end = 0;
        let starts = queue.waiters.iter().map(|waiter| {
            let start = end;
            end += waiter.time_controls.count();
            start
        });
        let starts = starts.collect();
        Self { starts, places: vec![[0; 2]; end as usize] }
    }

    /// `nth` counts the ticket's own time controls.
    fn set(&mut self, spot: Spot, nth: u32, side: usize, place: u32) {
        self.places[(self.starts[spot as usize] + nth) as usize][side] = place;
    }

    /// From the first of its time controls on.
    fn of(&self, spot: Spot) -> &[[u32; 2]] {
        &self.places[self.starts[spot as usize] as usize..]
    }
}

/// All spots from the highest rating down. Of equal ratings the oldest stays first.
fn downwards(queue: &Queue<'_>) -> Vec<Spot> {
    let mut down = Vec::with_capacity(queue.waiters.len());
    for equal in queue.waiters.chunk_by(|a, b| a.points == b.points).rev() {
        let above = down.len() + equal.len();
        down.extend((queue.waiters.len() - above..).take(equal.len()).map(|spot| spot as Spot));
    }
    down
}
