//! All who would play one time control, by rating: who is nearest and accepts?

use crate::TimeControlPlace;
use crate::group::Group;
use crate::least::Least;
use crate::queue::{Queue, Rank, Spot, Waiter};

/// A ticket found by a search. The least one is the best: the nearest, and of these the oldest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Found {
    pub(crate) gap_points: u16,
    pub(crate) rank: Rank,
    pub(crate) spot: Spot,
}

/// Everybody in the lanes of his time controls.
pub(crate) struct Lanes {
    /// By the time control's place in the pool's list.
    lanes: Vec<Lane>,
    /// Who is still there, of all spots. Who leaves takes only this bit away.
    present: Vec<Group>,
}

/// Those who are in it, of all spots. One bit says that somebody is there, and all lanes share what a search has
/// to know of him, so that many tickets and time controls still fit a core's own cache.
struct Lane {
    groups: Vec<Group>,
    /// At most the least [`Waiter::end`] of each group, for both sides: as it was before somebody left. A search
    /// that looks into a group in vain puts its number right, so that the next one does not.
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
        let length = queue.waiters.len().div_ceil(Group::SIZE);
        let mut groups = vec![vec![Group::default(); length]; count];
        for (spot, waiter) in (0..).zip(&queue.waiters) {
            let (group, place) = Group::of(spot);
            for time_control in waiter.time_controls.iter() {
                groups[time_control.index()][group].insert(place);
            }
        }
        let lanes = groups.into_iter().map(|groups| Lane::new(groups, queue)).collect();
        Self { lanes, present: vec![Group::FULL; length] }
    }

    /// The best one that `chooser`, the oldest of all that are left, can be paired with. `may_meet` judges
    /// whatever is not ratings and time controls.
    pub(crate) fn best(
        &mut self,
        queue: &Queue<'_>,
        spot: Spot,
        may_meet: impl Fn(&Waiter) -> bool,
    ) -> Option<Found> {
        let chooser = queue.waiter(spot);
        let reach_points =
            if chooser.is_past_bound { u16::MAX } else { chooser.window_points.unsigned_abs() };
        let mut search = Search { lanes: self, queue, chooser, spot };
        let above = search.above(reach_points, &may_meet);
        // Those of his own rating below him are older, and gone.
        if above.is_some_and(|above| above.gap_points == 0) {
            return above;
        }
        let reach_points = above.map_or(reach_points, |above| above.gap_points);
        above.into_iter().chain(search.below(reach_points, &may_meet)).min()
    }

    /// Whether somebody is still there.
    pub(crate) fn has(&self, spot: Spot) -> bool {
        let (group, place) = Group::of(spot);
        self.present[group].contains(place)
    }

    /// Takes somebody out of all lanes.
    pub(crate) fn remove(&mut self, spot: Spot) {
        let (group, place) = Group::of(spot);
        self.present[group].remove(place);
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
}

/// One who looks for an opponent.
struct Search<'a, 'q> {
    lanes: &'a mut Lanes,
    queue: &'a Queue<'q>,
    chooser: &'a Waiter,
    /// Where he stands.
    spot: Spot,
}

impl Search<'_, '_> {
    /// The best one above who is in reach.
    fn above(&mut self, reach_points: u16, may_meet: impl Fn(&Waiter) -> bool) -> Option<Found> {
        let mut from = self.spot + 1;
        while let Some(found) =
            self.first_from(from, Side::Above).filter(|found| found.gap_points <= reach_points)
        {
            if may_meet(self.queue.waiter(found.spot)) {
                return Some(found);
            }
            from = found.spot + 1;
        }
        None
    }

    /// The best one below who is in reach.
    fn below(&mut self, reach_points: u16, may_meet: impl Fn(&Waiter) -> bool) -> Option<Found> {
        let mut end = self.spot;
        while let Some(last) = self.last_before(end).filter(|last| last.gap_points <= reach_points) {
            // Going down, the youngest of equal ones comes first.
            end = self.queue.first_spot_of(self.queue.waiter(last.spot).points);
            let mut from = end;
            while let Some(found) = self.first_from(from, Side::Below).filter(|found| found.spot <= last.spot)
            {
                if may_meet(self.queue.waiter(found.spot)) {
                    return Some(found);
                }
                from = found.spot + 1;
            }
        }
        None
    }

    /// The first at or after `from`, who is at `side`, that would play with the chooser and has him in his window.
    fn first_from(&mut self, from: Spot, side: Side) -> Option<Found> {
        let (at, place) = Group::of(from);
        let near = self.accepting(at, self.members(at)?.from(place), side).next();
        near.or_else(|| {
            let at = self.groups_with_one(side, |least, limit| least.first_from(at + 1, limit)).min()?;
            self.accepting(at, self.members(at)?, side).next()
        })
    }

    /// The last one before `end`, who is below, that would play with the chooser and has him in his window.
    fn last_before(&mut self, end: Spot) -> Option<Found> {
        let (at, place) = Group::of(end);
        let near = self.accepting(at, self.members(at)?.before(place), Side::Below).next_back();
        near.or_else(|| {
            let at = self.groups_with_one(Side::Below, |least, limit| least.last_before(at, limit)).max()?;
            self.accepting(at, self.members(at)?, Side::Below).next_back()
        })
    }

    /// Those of a group who would play one of the chooser's time controls.
    fn members(&self, at: usize) -> Option<Group> {
        let present = *self.lanes.present.get(at)?;
        let of_lane = |time_control: TimeControlPlace| self.lanes.lanes[time_control.index()].groups[at];
        let all = self.chooser.time_controls.iter().map(of_lane).fold(Group::default(), Group::or);
        Some(all.and(present))
    }

    /// Those of `members` of a group who have the chooser in their window.
    fn accepting(&self, at: usize, members: Group, side: Side) -> impl DoubleEndedIterator<Item = Found> {
        let (queue, chooser, limit) = (self.queue, self.chooser, self.chooser.limit(side));
        members.spots(at).filter_map(move |spot| {
            let waiter = queue.waiter(spot);
            let gap_points = waiter.points.abs_diff(chooser.points);
            (waiter.end(side) <= limit).then_some(Found { gap_points, rank: waiter.rank, spot })
        })
    }

    /// In each of the chooser's lanes the group that `find` finds, once its number is right.
    fn groups_with_one(
        &mut self,
        side: Side,
        find: impl Fn(&Least, i16) -> Option<usize>,
    ) -> impl Iterator<Item = usize> {
        let (queue, limit) = (self.queue, self.chooser.limit(side));
        let Lanes { lanes, present } = &mut *self.lanes;
        self.chooser.time_controls.iter().filter_map(move |time_control| {
            let Lane { groups, least } = &mut lanes[time_control.index()];
            let least = &mut least[side as usize];
            loop {
                let at = find(least, limit)?;
                let end = least_end(queue, at, groups[at].and(present[at]), side);
                if end <= limit {
                    return Some(at);
                }
                least.set(at, end);
            }
        })
    }
}

fn least_end(queue: &Queue<'_>, at: usize, members: Group, side: Side) -> i16 {
    members.spots(at).map(|spot| queue.waiter(spot).end(side)).min().unwrap_or(Least::NONE)
}

impl Waiter {
    /// The end of the window that counts for one who finds it at `side`: such a one is accepted if the end is at
    /// most his [`limit`](Self::limit). Of one above that is the lower end; of one below the upper end with the
    /// sign changed, as is his rating. The bounds of ratings and windows keep both far from the ends of their type.
    const fn end(&self, side: Side) -> i16 {
        match side {
            Side::Above => self.points.saturating_sub(self.window_points),
            Side::Below => (-self.points).saturating_sub(self.window_points),
        }
    }

    /// What the [`end`](Self::end) of one at `side` is at most if this one is in the window; of all if that does
    /// not matter any more.
    const fn limit(&self, side: Side) -> i16 {
        match side {
            _ if self.is_past_bound => Least::NONE - 1,
            Side::Above => self.points,
            Side::Below => -self.points,
        }
    }
}
