//! `FeedService`: what happens in all matches, for back ends.
//!
//! The store has a feed a shard; a stream reads all of them from where its cursor says. It is pulled: a page is
//! read when the one before it has been taken. While nothing happens it waits for the store's hints, which say
//! in which shards something came.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::try_join_all;
use futures::stream::{self, BoxStream};
use referee::Stamp;
use store::{FeedHints, FeedPage, FeedPosition, Shard, StoreError};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use wire::ApiError;
use wire::v1::feed_service_server::FeedService;
use wire::v1::watch_feed_response::Update;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::convert::time::{duration, timestamp};
use crate::convert::{errors, feed};
use crate::feed_cursor;
use crate::guard::guarded;
use crate::node::Node;

/// Entries that are read of one shard before the next one's turn comes: some 16 KiB in memory.
const PAGE_MAX: usize = 64;

type FeedStream = BoxStream<'static, Result<v1::WatchFeedResponse, Status>>;

/// The service.
pub(crate) struct Feed {
    pub(crate) node: Arc<Node>,
}

#[tonic::async_trait]
impl FeedService for Feed {
    type WatchFeedStream = FeedStream;

    async fn watch_feed(
        &self,
        request: Request<v1::WatchFeedRequest>,
    ) -> Result<Response<Self::WatchFeedStream>, Status> {
        let caller = Caller::of(&request);
        let stream = open(Arc::clone(&self.node), &caller, &request.get_ref().cursor).await?;
        Ok(Response::new(stream))
    }
}

/// Opens a stream, or refuses it.
async fn open(node: Arc<Node>, caller: &Caller, cursor: &[u8]) -> Result<FeedStream, ApiError> {
    let shards = node.store.shard_count();
    if !node.store.has_feed() || shards > feed_cursor::SHARDS_MAX {
        return Err(ApiError::new(ErrorReason::Unimplemented).with_message("this server keeps no feed"));
    }
    // Hints first, then the feeds: what comes between the two is hinted at.
    let hints = node.store.watch_feed().await.map_err(errors::store)?;
    let positions = match cursor {
        [] => beginning(&node, shards).await?,
        cursor => resumed(cursor, shards)?,
    };
    let open = node.stats.stream();
    let watch = WatchFeed {
        hints,
        positions,
        unread: (0..shards).map(Shard).collect(),
        read: VecDeque::new(),
        draining: caller.leaving(&node),
        quiet_since_ms: node.clock.now_ms(),
        expires_ms: caller.expires_ms().unwrap_or(u64::MAX),
        ended: false,
        node,
    };
    let updates = stream::unfold(watch, |mut watch| async move {
        let update = watch.next().await?;
        Some((update.map_err(Status::from), watch))
    });
    Ok(guarded(updates, "a feed".to_owned(), open))
}

/// The places of whoever begins, in every shard.
async fn beginning(node: &Node, shards: u16) -> Result<Vec<FeedPosition>, ApiError> {
    let begins = (0..shards).map(|shard| node.store.feed_begin(Shard(shard)));
    try_join_all(begins).await.map_err(errors::store)
}

/// The places that a cursor names.
fn resumed(cursor: &[u8], shards: u16) -> Result<Vec<FeedPosition>, ApiError> {
    let positions = feed_cursor::read(cursor).ok_or_else(|| {
        let what = "it is no cursor that this service has given; an empty one begins at the oldest event";
        ApiError::field(ErrorReason::FieldInvalid, "cursor", what)
    })?;
    if positions.len() != usize::from(shards) {
        // It is of the store that this one has taken over from, whose feed is gone.
        return Err(ApiError::new(ErrorReason::FeedTrimmed));
    }
    Ok(positions)
}

/// An event that has been read and not yet sent.
struct Read {
    event: v1::FeedEvent,
    /// Where its shard stands once it is dealt with: after its entry, if it is the last one of that.
    then: Option<(Shard, FeedPosition)>,
}

/// One open stream.
struct WatchFeed {
    node: Arc<Node>,
    hints: FeedHints,
    /// The last entry of each shard that was sent whole, or a place before the first one.
    positions: Vec<FeedPosition>,
    /// Shards in which something may be to read.
    unread: VecDeque<Shard>,
    read: VecDeque<Read>,
    draining: watch::Receiver<bool>,
    quiet_since_ms: u64,
    expires_ms: u64,
    ended: bool,
}

impl WatchFeed {
    /// The next message; none when the stream is over.
    async fn next(&mut self) -> Option<Result<v1::WatchFeedResponse, ApiError>> {
        if self.ended {
            return None;
        }
        let update = self.produce().await;
        self.ended = update.is_err();
        self.quiet_since_ms = self.node.clock.now_ms();
        let cursor = feed_cursor::write(&self.positions);
        Some(update.map(|update| v1::WatchFeedResponse { cursor, update: Some(update) }))
    }

    async fn produce(&mut self) -> Result<Update, ApiError> {
        loop {
            if self.node.clock.now_ms() >= self.expires_ms {
                return Err(ApiError::new(ErrorReason::TokenExpired));
            }
            if *self.draining.borrow() {
                return Err(ApiError::new(ErrorReason::ResumeElsewhere));
            }
            if let Some(Read { event, then }) = self.read.pop_front() {
                if let Some((shard, position)) = then {
                    self.positions[usize::from(shard.0)] = position;
                }
                return Ok(Update::Event(event));
            }
            if let Some(shard) = self.unread.pop_front() {
                self.read_page(shard).await?;
            } else if self.wait().await? {
                return Ok(self.heartbeat());
            }
        }
    }

    /// Reads some of a shard. If there may be more, the shard comes again after the others.
    async fn read_page(&mut self, shard: Shard) -> Result<(), ApiError> {
        let after = self.positions[usize::from(shard.0)];
        let page = self.node.store.feed(shard, after, PAGE_MAX).await.map_err(errors::store)?;
        let FeedPage::Entries(entries) = page else {
            return Err(ApiError::new(ErrorReason::FeedTrimmed));
        };
        if entries.len() >= PAGE_MAX {
            self.unread.push_back(shard);
        }
        for (position, entry) in &entries {
            let events = feed::to_wire(entry);
            let last = events.len();
            let read = (1..).zip(events).map(|(place, event)| {
                let then = (place == last).then_some((shard, *position));
                Read { event, then }
            });
            self.read.extend(read);
        }
        Ok(())
    }

    /// Waits until something may have come. True: nothing was sent for a heartbeat's time.
    async fn wait(&mut self) -> Result<bool, ApiError> {
        let heartbeat_at_ms = self.quiet_since_ms.saturating_add(self.node.heartbeat_ms());
        tokio::select! {
            biased;
            _ = self.draining.wait_for(|draining| *draining) => {}
            hint = self.hints.changed() => {
                hint.map_err(|_| errors::store(StoreError::Unavailable("it is gone".to_owned())))?;
                // Asked once a hint: a shard in which then is nothing to read is not read again and again.
                let positions = &self.positions;
                self.unread.extend(self.hints.elsewhere_than(|shard| positions[usize::from(shard.0)]));
            }
            () = self.node.clock.sleep_until_ms(heartbeat_at_ms.min(self.expires_ms)) => {}
        }
        Ok(self.unread.is_empty() && !*self.draining.borrow() && self.node.clock.now_ms() >= heartbeat_at_ms)
    }

    fn heartbeat(&self) -> Update {
        Update::Heartbeat(v1::Heartbeat {
            server_time: Some(timestamp(Stamp::from_ms(self.node.clock.now_ms()))),
            interval: Some(duration(self.node.heartbeat_ms())),
            head_turn: 0,
        })
    }
}
