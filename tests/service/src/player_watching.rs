//! A stream of what waits for a player.

use tonic::{Status, Streaming};
use wire::v1;
use wire::v1::watch_player_response::Update;

use crate::soon;

/// An open `WatchPlayer`.
#[derive(Debug)]
pub struct PlayerWatching {
    stream: Streaming<v1::WatchPlayerResponse>,
}

impl PlayerWatching {
    pub(crate) const fn new(stream: Streaming<v1::WatchPlayerResponse>) -> Self {
        Self { stream }
    }

    /// The next message. It has no end but an error.
    ///
    /// # Errors
    /// The status that the stream has ended with.
    ///
    /// # Panics
    /// If it has ended with OK.
    pub async fn next(&mut self) -> Result<Update, Status> {
        let message = soon("the stream's next message", self.stream.message()).await?;
        Ok(message.expect("it never ends with OK").update.expect("a message has an update"))
    }

    /// The next message of a stream that goes on.
    ///
    /// # Panics
    /// If it has ended.
    pub async fn update(&mut self) -> Update {
        self.next().await.expect("the stream goes on")
    }

    /// The next state that is as wanted, past whatever comes before.
    pub async fn state(&mut self, wanted: impl Fn(&v1::PlayerState) -> bool) -> v1::PlayerState {
        loop {
            if let Update::State(state) = self.update().await
                && wanted(&state)
            {
                return state;
            }
        }
    }

    /// All that comes until the stream ends, and what it ends with.
    pub async fn rest(&mut self) -> (Vec<Update>, Status) {
        let mut updates = Vec::new();
        loop {
            match self.next().await {
                Ok(update) => updates.push(update),
                Err(status) => return (updates, status),
            }
        }
    }
}
