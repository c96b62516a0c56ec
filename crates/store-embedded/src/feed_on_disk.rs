//! The feed on the disk: reading it, and trimming it.

use referee::Stamp;
use store::codec::{self, CodecError};
use store::{FeedEntry, FeedPage, FeedPosition, StoreError};

use crate::disk::{Space, View, Write};
use crate::durable::{Durable, Reader, damaged, unreadable};
use crate::error::OpenError;
use crate::feed::{Order, begin};
use crate::memory::Memory;
use crate::{key, record};

/// Entries of one shard taken away in one look: what a busy shard adds between two looks, written at once.
const TRIM_MAX: usize = 1_024;

/// What is before and after every entry.
const FIRST: Order = (0, 0);
const LAST: Order = (u64::MAX, u64::MAX);

/// Where a shard's feed ends, and the last entry that was trimmed.
pub(crate) fn bounds(view: &View, shard: u16) -> Result<(Option<FeedPosition>, Option<Order>), OpenError> {
    let damaged = |error: CodecError| damaged("the feed", &error);
    let last = view.last(Space::Feed, &key::feed(shard, FIRST), &key::feed(shard, LAST))?;
    let end = last.map(|(key, value)| record::read_feed(&key, &value)).transpose().map_err(damaged)?;
    let trimmed = view.get(Space::Feed, &key::feed_trimmed(shard))?;
    let trimmed = trimmed.map(|bytes| codec::decode_feed_trimmed(&bytes)).transpose().map_err(damaged)?;
    Ok((end.map(|(position, _)| position), trimmed))
}

/// The last entry of a shard's feed that was trimmed.
fn trimmed(view: &View, shard: u16) -> Result<Option<Order>, StoreError> {
    let record = view.get(Space::Feed, &key::feed_trimmed(shard)).map_err(|error| unreadable(&error))?;
    let trimmed = record.map(|bytes| codec::decode_feed_trimmed(&bytes)).transpose();
    trimmed.map_err(|error| unreadable(&error))
}

impl Reader {
    /// The place of whoever begins to read a shard's feed. The oldest entry may be one that cannot be seen yet: the
    /// place before it is the same.
    pub(crate) fn feed_begin(&self, shard: u16) -> Result<FeedPosition, StoreError> {
        let view = self.disk.view();
        let oldest = view.range(Space::Feed, &key::feed(shard, FIRST), &key::feed(shard, LAST)).next();
        let oldest = oldest.transpose().map_err(|error| unreadable(&error))?;
        let oldest = oldest.map(|(key, value)| record::read_feed(&key, &value)).transpose();
        let oldest = oldest.map_err(|error| unreadable(&error))?.map(|(position, _)| position);
        Ok(begin(oldest, trimmed(&view, shard)?))
    }

    /// A part of a shard's feed, up to and with `end`.
    pub(crate) fn feed(
        &self,
        shard: u16,
        after: FeedPosition,
        end: Order,
        limit: usize,
    ) -> Result<FeedPage, StoreError> {
        let view = self.disk.view();
        FeedPage::read(after, limit, trimmed(&view, shard)?, |from, limit| {
            let mut entries: Vec<(FeedPosition, FeedEntry)> = Vec::new();
            for entry in view.range(Space::Feed, &key::feed(shard, from), &key::feed(shard, LAST)).take(limit)
            {
                let (key, value) = entry.map_err(|error| unreadable(&error))?;
                let (position, entry) =
                    record::read_feed(&key, &value).map_err(|error| unreadable(&error))?;
                if position.order() > end {
                    break;
                }
                entries.push((position, entry));
            }
            Ok(entries)
        })
    }

    /// What takes away at most [`TRIM_MAX`] entries that are too old, or too many after `too_many`.
    fn trim(&self, shard: u16, too_old: Stamp, too_many: u64) -> Result<Vec<Write>, StoreError> {
        let (mut writes, mut trimmed) = (Vec::new(), None);
        let view = self.disk.view();
        for entry in view.range(Space::Feed, &key::feed(shard, FIRST), &key::feed(shard, LAST)).take(TRIM_MAX)
        {
            let (key, _) = entry.map_err(|error| unreadable(&error))?;
            let (_, order) = key::read_feed(&key).ok_or_else(|| unreadable(&CodecError::Malformed))?;
            if order.0 >= too_old.as_ms() && order.1 > too_many {
                break;
            }
            trimmed = Some(order);
            writes.push(Write::remove(Space::Feed, key));
        }
        if let Some(trimmed) = trimmed {
            let record = codec::encode_feed_trimmed(trimmed).map_err(|error| unreadable(&error))?;
            writes.push(Write::put(Space::Feed, key::feed_trimmed(shard), record));
        }
        Ok(writes)
    }
}

impl Durable {
    /// Takes away some of the entries that are too old or too many. Says whether there are more of them.
    pub(crate) async fn trim_feed(&self, memory: &Memory, now: Stamp) -> Result<bool, StoreError> {
        let Some(limits) = memory.feed_limits() else { return Ok(false) };
        let shards = memory.shard_count();
        let too_old = Stamp::from_ms(now.as_ms().saturating_sub(limits.retention_ms));
        let mut more = false;
        for shard in 0..shards {
            let Some(end) = memory.feed_end(shard) else { continue };
            // Numbers have no gaps but those of an earlier process's last moment.
            let too_many = end.number.saturating_sub(limits.entries_a_shard(shards));
            let writes = self.read(move |reader| reader.trim(shard, too_old, too_many)).await?;
            more |= writes.len() > TRIM_MAX;
            if !writes.is_empty() {
                self.write(writes, |_| ())?.shown().await?;
            }
        }
        Ok(more)
    }
}
