//! The feed of one shard: the places that it gives, and how far it can be seen.
//!
//! Places are given in order while a change is prepared, but changes become durable in any order. What can be
//! seen ends before the first place whose change is still on its way, so that no reader passes an entry that
//! comes later.

use std::collections::VecDeque;

use referee::Stamp;
use store::{FeedEntry, FeedLimits, FeedPage, FeedPosition};

/// What a position is ordered by.
pub(crate) type Order = (u64, u64);

/// An entry and its place, as part of a change.
pub(crate) struct Told {
    pub(crate) shard: u16,
    pub(crate) position: FeedPosition,
    pub(crate) entry: FeedEntry,
}

/// What became of a place that was given.
enum Place {
    OnItsWay,
    /// Its change is durable. The entry is kept here if there is nothing behind.
    Stored(Option<FeedEntry>),
    /// Its change could not be written.
    GivenUp,
}

/// The place before the oldest entry that is kept; while none is, that of the last one that was trimmed.
pub(crate) fn begin(oldest: Option<FeedPosition>, trimmed: Option<Order>) -> FeedPosition {
    match (oldest, trimmed) {
        (Some(oldest), _) => oldest.before(),
        (None, Some((at_ms, number))) => FeedPosition { at: Stamp::from_ms(at_ms), number, mark: 0 },
        (None, None) => FeedPosition::START,
    }
}

/// One shard's feed in memory.
pub(crate) struct Feed {
    shard: u16,
    /// How much is kept; none: there is no feed.
    limits: Option<FeedLimits>,
    /// The last place that was given.
    last: Order,
    /// Places that cannot be seen yet, in order.
    coming: VecDeque<(FeedPosition, Place)>,
    /// The last one that can be seen.
    end: Option<FeedPosition>,
    /// What can be seen, if there is nothing behind.
    kept: VecDeque<(FeedPosition, FeedEntry)>,
    /// The last one that is no longer among them.
    trimmed: Option<Order>,
}

impl Feed {
    pub(crate) fn new(shard: u16) -> Self {
        Self {
            shard,
            limits: Some(FeedLimits::default()),
            last: (0, 0),
            coming: VecDeque::new(),
            end: None,
            kept: VecDeque::new(),
            trimmed: None,
        }
    }

    pub(crate) fn limit(&mut self, limits: Option<FeedLimits>) {
        self.limits = limits;
    }

    /// How much is kept, if there is a feed.
    pub(crate) const fn limits(&self) -> Option<FeedLimits> {
        self.limits
    }

    /// Goes on after what an earlier process left: the last entry, and the last one that was trimmed.
    pub(crate) fn restore(&mut self, end: Option<FeedPosition>, trimmed: Option<Order>) {
        let stored = end.as_ref().map(FeedPosition::order);
        (self.end, self.last) = (end, stored.max(trimmed).unwrap_or_default());
    }

    /// The last entry that can be seen.
    pub(crate) const fn end(&self) -> Option<FeedPosition> {
        self.end
    }

    /// Gives an entry its place, at a moment of the shard.
    pub(crate) fn give(&mut self, now_ms: u64, entry: FeedEntry) -> Option<Told> {
        self.limits?;
        // The clock of a new process may be behind that of the last one.
        let at = Stamp::from_ms(now_ms.max(self.last.0));
        let position = FeedPosition { at, number: self.last.1.saturating_add(1), mark: entry.mark };
        self.last = position.order();
        self.coming.push_back((position, Place::OnItsWay));
        Some(Told { shard: self.shard, position, entry })
    }

    /// The change of a place is durable. Returns the new end of what can be seen, if it moved.
    pub(crate) fn stored(&mut self, told: Told, keep: bool) -> Option<FeedPosition> {
        self.settle(told.position.order(), Place::Stored(keep.then_some(told.entry)))
    }

    /// The change of a place could not be written.
    pub(crate) fn give_up(&mut self, place: Order) -> Option<FeedPosition> {
        self.settle(place, Place::GivenUp)
    }

    fn settle(&mut self, place: Order, become_of_it: Place) -> Option<FeedPosition> {
        let at = self.coming.binary_search_by(|(position, _)| position.order().cmp(&place)).ok()?;
        self.coming.get_mut(at)?.1 = become_of_it;
        let before = self.end;
        while self.coming.front().is_some_and(|(_, place)| !matches!(place, Place::OnItsWay)) {
            let Some((position, place)) = self.coming.pop_front() else { break };
            if let Place::Stored(entry) = place {
                self.end = Some(position);
                self.kept.extend(entry.map(|entry| (position, entry)));
            }
        }
        self.trim();
        self.end.filter(|_| self.end != before)
    }

    /// Forgets what is kept here for too long, or is too much.
    fn trim(&mut self) {
        let (Some(limits), Some(end)) = (self.limits, self.end) else { return };
        let most = usize::try_from(limits.entries_a_shard(crate::memory::SHARDS)).unwrap_or(usize::MAX);
        while let Some((position, _)) = self.kept.front()
            && (self.kept.len() > most || end.at.ms_since(position.at) > limits.retention_ms)
        {
            self.trimmed = Some(position.order());
            self.kept.pop_front();
        }
    }

    /// The place of whoever begins to read, if there is nothing behind.
    pub(crate) fn begin(&self) -> FeedPosition {
        begin(self.kept.front().map(|(oldest, _)| *oldest), self.trimmed)
    }

    /// A part of the feed, if there is nothing behind.
    pub(crate) fn page(&self, after: FeedPosition, limit: usize) -> FeedPage {
        FeedPage::read(after, limit, self.trimmed, |from, limit| {
            let first = self.kept.partition_point(|(position, _)| position.order() < from);
            Ok::<_, std::convert::Infallible>(self.kept.iter().skip(first).take(limit).cloned().collect())
        })
        .unwrap_or_else(|never| match never {})
    }
}

#[cfg(test)]
mod tests {
    use rules::PerSeat;
    use sealing::MatchId;

    use super::*;

    fn entry(mark: u16) -> FeedEntry {
        let players = PerSeat { black: String::new(), white: String::new() };
        let match_id = MatchId::from_bytes([1; 16]);
        FeedEntry { match_id, players, at: Stamp::from_ms(0), mark, events: Vec::new() }
    }

    fn marks(feed: &Feed) -> Vec<u16> {
        match feed.page(FeedPosition::START, usize::MAX) {
            FeedPage::Entries(entries) => entries.iter().map(|(_, entry)| entry.mark).collect(),
            FeedPage::Trimmed => panic!("nobody was here before"),
        }
    }

    #[test]
    fn nothing_is_seen_before_what_comes_ahead_of_it() {
        let mut feed = Feed::new(0);
        let mut told: Vec<Told> = (1..=3).filter_map(|mark| feed.give(5, entry(mark))).collect();
        let (third, second, first) = (told.remove(2), told.remove(1), told.remove(0));
        assert_eq!(feed.stored(third, true), None);
        assert_eq!(marks(&feed), []);
        assert_eq!(feed.stored(first, true).map(|end| end.mark), Some(1));
        assert_eq!(marks(&feed), [1]);
        assert_eq!(feed.give_up(second.position.order()).map(|end| end.mark), Some(3));
        assert_eq!(marks(&feed), [1, 3]);
    }

    #[test]
    fn places_go_on_where_the_last_process_ended_whatever_the_clock_says() {
        let mut feed = Feed::new(0);
        feed.restore(None, Some((90, 7)));
        let told = feed.give(50, entry(1)).map(|told| told.position.order());
        assert_eq!(told, Some((90, 8)));
    }
}
