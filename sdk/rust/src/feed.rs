//! What happens in all matches, for back ends.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};

use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};
use wire::v1;
use wire::v1::feed_service_client::FeedServiceClient;
use wire::v1::watch_feed_response::Update;

use crate::Error;
use crate::call::Caller;
use crate::line::Line;

/// An event of the feed, and where to go on once it is dealt with.
#[derive(Clone, PartialEq, Debug)]
pub struct FeedItem {
    /// What happened.
    pub event: v1::FeedEvent,
    /// The cursor after it: keep it with whatever the event caused, and give it to
    /// [`Backend::feed`](crate::Backend::feed) after a restart. Opaque.
    pub cursor: Vec<u8>,
}

/// The events of all matches, each at least once, those of one match in order.
///
/// When the connection breaks, falls silent or is sent elsewhere, the stream is opened again by itself after the
/// last event that was yielded; some may come again, and are told apart by match and turn. It ends with an error
/// after some 12 attempts in a row without anything new, and after one that repeating does not mend: FEED_TRIMMED
/// says that the cursor is older than what the server keeps. It has no other end.
pub struct FeedStream {
    items: BoxStream<'static, Result<FeedItem, Error>>,
}

impl FeedStream {
    pub(crate) fn new(caller: Caller, cursor: Vec<u8>) -> Self {
        let line = Line::new(Arc::new(AtomicBool::new(false)), caller.renews());
        let reader = Reader { line, caller, cursor };
        let items =
            stream::try_unfold(reader, |mut reader| async move { Ok(Some((reader.next().await?, reader))) });
        Self { items: items.boxed() }
    }
}

impl Stream for FeedStream {
    type Item = Result<FeedItem, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.poll_next_unpin(cx)
    }
}

impl fmt::Debug for FeedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedStream").finish_non_exhaustive()
    }
}

/// What stands behind a stream.
struct Reader {
    line: Line<v1::WatchFeedResponse>,
    caller: Caller,
    cursor: Vec<u8>,
}

impl Reader {
    async fn next(&mut self) -> Result<FeedItem, Error> {
        loop {
            match self.receive().await {
                Ok(v1::WatchFeedResponse { cursor, update }) => {
                    self.cursor.clone_from(&cursor);
                    self.line.progressed();
                    match update {
                        Some(Update::Event(event)) => return Ok(FeedItem { event, cursor }),
                        Some(Update::Heartbeat(heartbeat)) => self.line.told(heartbeat.interval.as_ref()),
                        // An update of a kind that only a newer client knows.
                        None => {}
                    }
                }
                Err(error) => self.line.resume_after(error).await?,
            }
        }
    }

    /// The next message, from a call that is opened if there is none.
    async fn receive(&mut self) -> Result<v1::WatchFeedResponse, Error> {
        if !self.line.is_open() {
            let request = v1::WatchFeedRequest { cursor: self.cursor.clone() };
            let call = async |channel, request| FeedServiceClient::new(channel).watch_feed(request).await;
            let messages = self.caller.open(request, call).await?;
            self.line.opened(messages);
        }
        Ok(self.line.message().await?.0)
    }
}
