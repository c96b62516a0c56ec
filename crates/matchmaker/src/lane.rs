//! All who would play one time control, by rating: who is nearest and accepts?

use std::ops::ControlFlow;

use crate::group::Group;
use crate::least::Least;
use crate::queue::{Queue, Rank, Spot, Standing, Waiter};

/// A ticket found by a search. The least one is the best: the nearest, and of these the oldest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Found {
    pub(crate) gap_points: u16,
    pub(crate) rank: Rank,
}

/// Everybody in the lanes of his time controls. Who leaves one leaves all.
pub(crate) struct Lanes {
    /// By the time control's place in the pool's list.
    lanes: Vec<Lane>,
}

/// Those who are in it, of all spots. One bit says that somebody is there, and all lanes share what a search has
/// to know of him, so that many tickets and time controls still fit a core's own cache.
struct Lane {
    groups: Vec<Group>,
    /// The least [`Standing::end`] of each group, for both sides.
    least: [Least; 2],
}

/// Where a ticket is from one that looks for it.
#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
}

impl Lanes {
    pub(crate) fn new(queue: &Queue<'_>) -> Self {
        let all = queue.waiters.iter().flat_map(|waiter| waiter.time_controls.last());
        let count = all.map(|last| last.index() + 1).max().unwrap_or(0);
        let mut groups = vec![vec![Group::default(); queue.by_rating.len().div_ceil(Group::SIZE)]; count];
        for waiter in &queue.waiters {
            let (group, place) = Group::of(waiter.spot);
            for time_control in waiter.time_controls.iter() {
                groups[time_control.index()][group].insert(place);
            }
        }
        let lanes = groups.into_iter().map(|groups| Lane::new(groups, queue)).collect();
        Self { lanes }
    }

    /// The best one that `chooser`, the oldest of all that are left, can be paired with. `may_meet` judges
    /// whatever is not ratings and time controls.
    pub(crate) fn best(
        &self,
        queue: &Queue<'_>,
        chooser: &Waiter,
        may_meet: impl Fn(&Waiter) -> bool,
    ) -> Option<Found> {
        let window_points = chooser.window_points.unsigned_abs();
        let reach_points = if chooser.is_past_bound { u16::MAX } else { window_points };
        let mut best: Option<Found> = None;
        for time_control in chooser.time_controls.iter() {
            for side in [Side::Above, Side::Below] {
                // Breaks where the search ends: with one who is better, or with nobody.
                let judge = |standing: Standing| {
                    let gap_points = standing.points.abs_diff(chooser.points);
                    let found = Found { gap_points, rank: standing.rank };
                    if gap_points > reach_points || best.is_some_and(|best| best <= found) {
                        ControlFlow::Break(None)
                    } else if may_meet(queue.waiter(found.rank)) {
                        ControlFlow::Break(Some(found))
                    } else {
                        ControlFlow::Continue(())
                    }
                };
                let lane = &self.lanes[time_control.index()];
                let found = match side {
                    Side::Above => lane.above(queue, chooser, judge),
                    Side::Below => lane.below(queue, chooser, judge),
                };
                best = found.break_value().flatten().or(best);
            }
        }
        best
    }

    /// Takes `waiter` out of all lanes.
    pub(crate) fn remove(&mut self, queue: &Queue<'_>, waiter: &Waiter) {
        for time_control in waiter.time_controls.iter() {
            self.lanes[time_control.index()].remove(queue, waiter.spot);
        }
    }
}

impl Lane {
    fn new(groups: Vec<Group>, queue: &Queue<'_>) -> Self {
        let least = [Side::Above, Side::Below].map(|side| {
            let each = groups.iter().enumerate().map(|(at, group)| least_end(queue, at, *group, side));
            Least::new(each.collect())
        });
        Self { groups, least }
    }

    fn remove(&mut self, queue: &Queue<'_>, spot: Spot) {
        let (at, place) = Group::of(spot);
        self.groups[at].remove(place);
        for side in [Side::Above, Side::Below] {
            let least = &mut self.least[side as usize];
            if least.get(at) == queue.by_rating[spot as usize].end(side) {
                least.set(at, least_end(queue, at, self.groups[at], side));
            }
        }
    }

    /// Hands those above `chooser` who accept him to `judge`, the nearest first, of equal ones the oldest.
    fn above<B>(
        &self,
        queue: &Queue<'_>,
        chooser: &Waiter,
        judge: impl Fn(Standing) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let limit = limit(chooser, Side::Above);
        let mut from = chooser.spot + 1;
        while let Some((spot, standing)) = self.first_from(queue, from, Side::Above, limit) {
            judge(standing)?;
            from = spot + 1;
        }
        ControlFlow::Continue(())
    }

    /// Hands those below `chooser` who accept him to `judge`, the nearest first, of equal ones the oldest.
    fn below<B>(
        &self,
        queue: &Queue<'_>,
        chooser: &Waiter,
        judge: impl Fn(Standing) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let limit = limit(chooser, Side::Below);
        let mut end = chooser.spot;
        while let Some((last, standing)) = self.last_before(queue, end, limit) {
            // Going down, the youngest of equal ones comes first.
            end = queue.first_spot_of(standing.points);
            let mut from = end;
            while let Some((spot, standing)) = self.first_from(queue, from, Side::Below, limit)
                && spot <= last
            {
                judge(standing)?;
                from = spot + 1;
            }
        }
        ControlFlow::Continue(())
    }

    /// The first at or after `from` whose end is at most `limit`.
    fn first_from(&self, queue: &Queue<'_>, from: Spot, side: Side, limit: i16) -> Option<(Spot, Standing)> {
        let accepts = |standing: &Standing| standing.end(side) <= limit;
        let (at, place) = Group::of(from);
        let near =
            members(queue, at, self.groups.get(at)?.from(place)).find(|(_, standing)| accepts(standing));
        near.or_else(|| {
            let at = self.least[side as usize].first_from(at + 1, limit)?;
            members(queue, at, self.groups[at]).find(|(_, standing)| accepts(standing))
        })
    }

    /// The last before `end` whose end, for one above, is at most `limit`.
    fn last_before(&self, queue: &Queue<'_>, end: Spot, limit: i16) -> Option<(Spot, Standing)> {
        let accepts = |standing: &Standing| standing.end(Side::Below) <= limit;
        let (at, place) = Group::of(end);
        let near =
            members(queue, at, self.groups.get(at)?.before(place)).rfind(|(_, standing)| accepts(standing));
        near.or_else(|| {
            let at = self.least[Side::Below as usize].last_before(at, limit)?;
            members(queue, at, self.groups[at]).rfind(|(_, standing)| accepts(standing))
        })
    }
}

/// The spots and standings of a group's members.
fn members(queue: &Queue<'_>, at: usize, group: Group) -> impl DoubleEndedIterator<Item = (Spot, Standing)> {
    group.map(move |place| {
        let spot = at * Group::SIZE + place;
        (spot as Spot, queue.by_rating[spot])
    })
}

fn least_end(queue: &Queue<'_>, at: usize, group: Group, side: Side) -> i16 {
    members(queue, at, group).map(|(_, standing)| standing.end(side)).min().unwrap_or(Least::NONE)
}

impl Standing {
    /// The end of the window that counts for one who finds it at `side`: such a one is accepted if the end is at
    /// most his [`limit`]. Of one above that is the lower end; of one below the upper end with the sign changed,
    /// as is his rating. The bounds of ratings and windows keep both far from the ends of their type.
    const fn end(self, side: Side) -> i16 {
        match side {
            Side::Above => self.points.saturating_sub(self.window_points),
            Side::Below => (-self.points).saturating_sub(self.window_points),
        }
    }
}

/// What the [`Standing::end`] of one at `side` is at most if `chooser` is in the window; of all if that does not
/// matter any more.
const fn limit(chooser: &Waiter, side: Side) -> i16 {
    match side {
        _ if chooser.is_past_bound => Least::NONE - 1,
        Side::Above => chooser.points,
        Side::Below => -chooser.points,
    }
}
