//! A shard's feed as the model keeps it.

use std::sync::Arc;

use referee::Stamp;
use store::{FeedEntry, FeedLimits, FeedPage, FeedPosition};

/// The feed of one shard.
#[derive(Clone, Default)]
pub(crate) struct ModelFeed {
    /// How many entries there have ever been.
    ever: u64,
    /// Those that are kept, in order. Shared with the replica until one is added.
    kept: Arc<Vec<(FeedPosition, Arc<FeedEntry>)>>,
    /// The last one that is not.
    trimmed: Option<FeedPosition>,
}

impl ModelFeed {
    /// Adds an entry at a moment of the shard; what is too old then goes.
    pub(crate) fn append(&mut self, now: Stamp, entry: FeedEntry) {
        self.ever += 1;
        let last = self.kept.last().map(|(last, _)| last.at).or(self.trimmed.map(|trimmed| trimmed.at));
        let at = last.map_or(now, |last| now.max(last));
        let position = FeedPosition { at, number: self.ever, mark: entry.mark };
        let kept = Arc::make_mut(&mut self.kept);
        kept.push((position, Arc::new(entry)));
        let retention_ms = FeedLimits::default().retention_ms;
        let old = kept.partition_point(|(position, _)| now.ms_since(position.at) > retention_ms);
        self.trimmed = kept.drain(..old).next_back().map(|(position, _)| position).or(self.trimmed);
    }

    /// Where whoever begins to read stands.
    pub(crate) fn begin(&self) -> FeedPosition {
        match self.kept.first() {
            Some((oldest, _)) => oldest.before(),
            None => self.trimmed.unwrap_or(FeedPosition::START),
        }
    }

    /// The last entry.
    pub(crate) fn end(&self) -> Option<FeedPosition> {
        self.kept.last().map(|(last, _)| *last)
    }

    /// A part of it.
    pub(crate) fn page(&self, after: FeedPosition, limit: usize) -> FeedPage {
        let trimmed = self.trimmed.map(|trimmed| trimmed.order());
        FeedPage::read(after, limit, trimmed, |from, limit| {
            let first = self.kept.partition_point(|(position, _)| position.order() < from);
            let entries = self.kept.iter().skip(first).take(limit);
            Ok(entries.map(|(position, entry)| (*position, entry.as_ref().clone())).collect())
        })
        .unwrap_or_else(|never: std::convert::Infallible| match never {})
    }
}
