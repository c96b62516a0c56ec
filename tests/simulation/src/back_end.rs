//! A back end that reads the feed by streams, resumes it whatever happens, and now and then from further back than
//! it has come.

use middleware::{BackendPrincipal, Principal};
use tonic::Status;
use wire::ApiError;
use wire::v1::feed_service_client::FeedServiceClient;
use wire::v1::watch_feed_response::Update;
use wire::v1::{self, ErrorReason};

use crate::caller::told;
use crate::network::{Line, Network};

/// Silence after which it takes the connection for dead, ms. A heartbeat comes every 10 s.
const SILENCE_MS: u64 = 25_000;

/// Pause before a stream is opened again at most, ms.
const PAUSE_MS: u64 = 600;

/// How often it leaves a stream that works, or is slow to read on, in a thousand messages.
const LEAVES: u32 = 40;
const DAWDLES: u32 = 50;

/// How slow that is, ms.
const DAWDLE_MS: u64 = 3_000;

/// How often it has not kept the last cursor, in a thousand streams, and how many cursors it has kept.
const FORGETS: u32 = 200;
const CURSORS_MAX: usize = 8;

/// A reader of the feed.
pub(crate) struct BackEnd {
    pub(crate) network: std::sync::Arc<Network>,
    /// Its number among all.
    pub(crate) number: usize,
}

impl BackEnd {
    /// Reads for ever.
    pub(crate) async fn read(self) {
        // The beginning, then the last ones that it was given.
        let mut cursors = vec![Vec::new()];
        let handle = self.network.handle.clone();
        loop {
            if handle.happens(FORGETS) {
                let kept = handle.below(cursors.len() as u64) as usize;
                cursors.truncate(kept + 1);
            }
            self.one_stream(&mut cursors).await;
            handle.sleep(handle.below(PAUSE_MS)).await;
        }
    }

    fn client(&self, node: usize) -> FeedServiceClient<Line> {
        let principal =
            Principal::Backend(BackendPrincipal { name: format!("reader-{}", self.number).into() });
        FeedServiceClient::new(Line { network: self.network.clone(), node, principal, doubles: false })
    }

    /// Reads one stream to its end.
    async fn one_stream(&self, cursors: &mut Vec<Vec<u8>>) {
        let handle = &self.network.handle;
        let node = handle.below(self.network.nodes.len() as u64) as usize;
        let request = v1::WatchFeedRequest { cursor: cursors.last().cloned().unwrap_or_default() };
        let opened = handle.within(SILENCE_MS, self.client(node).watch_feed(request)).await;
        handle.note(|| format!("reader {} at node {node}: feed: {}", self.number, told(opened.as_ref())));
        let mut stream = match opened {
            Some(Ok(response)) => response.into_inner(),
            Some(Err(status)) => return self.refused(&status),
            None => return,
        };
        loop {
            match handle.within(SILENCE_MS, stream.message()).await {
                Some(Ok(Some(message))) => self.told(message, cursors),
                Some(Ok(None)) => return self.network.oracle.complain(4, "the feed has an end".to_owned()),
                Some(Err(status)) => return self.refused(&status),
                None => return,
            }
            if handle.happens(DAWDLES) {
                handle.sleep(handle.below(DAWDLE_MS)).await;
            }
            if handle.happens(LEAVES) {
                return;
            }
        }
    }

    fn told(&self, message: v1::WatchFeedResponse, cursors: &mut Vec<Vec<u8>>) {
        match message.update {
            Some(Update::Event(event)) => self.network.oracle.told_event(self.number, &event),
            Some(Update::Heartbeat(_)) => {}
            None => self.network.oracle.complain(4, "a message of the feed without an update".to_owned()),
        }
        cursors.push(message.cursor);
        if cursors.len() > CURSORS_MAX {
            cursors.remove(0);
        }
    }

    /// The store keeps everything for as long as a run takes, so every cursor is good.
    fn refused(&self, status: &Status) {
        let reason = ApiError::from_status(status).map(|error| error.reason());
        if let Some(
            reason @ (ErrorReason::FeedTrimmed
            | ErrorReason::FieldInvalid
            | ErrorReason::Internal
            | ErrorReason::Unimplemented),
        ) = reason
        {
            let what = format!("the feed was refused: {}", reason.as_str_name());
            self.network.oracle.complain(4, what);
        }
    }
}
