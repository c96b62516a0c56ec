//! A stream of a match.

use tonic::{Status, Streaming};
use wire::v1;
use wire::v1::watch_match_response::Update;

use crate::soon;

/// An open `WatchMatch`.
#[derive(Debug)]
pub struct Watching {
    stream: Streaming<v1::WatchMatchResponse>,
}

impl Watching {
    pub(crate) const fn new(stream: Streaming<v1::WatchMatchResponse>) -> Self {
        Self { stream }
    }

    /// The next message; none when the stream has ended with OK.
    ///
    /// # Errors
    /// The status that the stream has ended with.
    pub async fn next(&mut self) -> Result<Option<Update>, Status> {
        let message = soon("the stream's next message", self.stream.message()).await?;
        Ok(message.map(|message| message.update.expect("a message has an update")))
    }

    /// The next message of a stream that goes on.
    ///
    /// # Panics
    /// If it has ended.
    pub async fn update(&mut self) -> Update {
        self.next().await.expect("the stream goes on").expect("the stream goes on")
    }

    /// The first message, which is a snapshot.
    pub async fn snapshot(&mut self) -> v1::MatchSnapshot {
        match self.update().await {
            Update::Snapshot(snapshot) => snapshot,
            other => panic!("a stream begins with a snapshot, not {other:?}"),
        }
    }

    /// The next resolved turn, past statuses and heartbeats.
    pub async fn turn(&mut self) -> v1::ResolvedTurn {
        loop {
            match self.update().await {
                Update::Turn(turn) => return turn,
                Update::Status(_) | Update::Heartbeat(_) | Update::Snapshot(_) => {}
                Update::Finished(finished) => panic!("a turn was due before the end: {finished:?}"),
            }
        }
    }

    /// The next status that is as wanted, past whatever comes before.
    pub async fn status(&mut self, wanted: impl Fn(&v1::MatchStatus) -> bool) -> v1::MatchStatus {
        loop {
            if let Update::Status(status) = self.update().await
                && wanted(&status)
            {
                return status;
            }
        }
    }

    /// The end, past whatever comes before; after it the stream ends with OK.
    pub async fn finished(&mut self) -> v1::MatchFinished {
        loop {
            if let Update::Finished(finished) = self.update().await {
                let after = self.next().await.expect("a finished match ends its stream with OK");
                assert_eq!(after, None, "the finish is the last message");
                return finished;
            }
        }
    }

    /// All that comes until the stream ends, and what it ends with.
    pub async fn rest(&mut self) -> (Vec<Update>, Result<(), Status>) {
        let mut updates = Vec::new();
        loop {
            match self.next().await {
                Ok(Some(update)) => updates.push(update),
                Ok(None) => return (updates, Ok(())),
                Err(status) => return (updates, Err(status)),
            }
        }
    }
}
