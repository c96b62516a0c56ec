//! All that waits for a player, as it changes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};
use wire::v1;
use wire::v1::player_service_client::PlayerServiceClient;
use wire::v1::watch_player_response::Update;

use crate::line::Line;
use crate::{Claim, Error, Player, Violation};

/// All that waits for a player: his live matches and whether his move is due, his open invites. Each
/// item is the whole current state and replaces the one before; what changes while the stream is not
/// polled comes as one.
///
/// When the connection breaks, falls silent or is sent elsewhere, the stream is opened again by itself; a
/// state that the client has already is not yielded again. It ends with an error after some 12 attempts
/// in a row without anything new, and after one that repeating does not mend. The end of its token is such
/// a one for a session that has no other ([`Client::player_with`](crate::Client::player_with) makes one
/// that has). It has no other end.
///
/// The states are the server's word: a match is verified when it is watched.
pub struct PlayerStream {
    player: String,
    is_connected: Arc<AtomicBool>,
    states: BoxStream<'static, Result<v1::PlayerState, Error>>,
}

impl PlayerStream {
    pub(crate) fn new(player: Player) -> Self {
        let is_connected = Arc::new(AtomicBool::new(false));
        let name = player.name().to_owned();
        let line = Line::new(Arc::clone(&is_connected), player.caller().renews());
        let watcher = Watcher { line, player, last: None };
        let states =
            stream::try_unfold(
                watcher,
                |mut watcher| async move { Ok(Some((watcher.next().await?, watcher))) },
            );
        Self { player: name, is_connected, states: states.boxed() }
    }

    /// Whose state it is, `players/{player}`.
    #[must_use]
    pub fn player(&self) -> &str {
        &self.player
    }

    /// Whether the last that came was a message: false before the first one, and from the moment that the
    /// stream finds the connection broken until it is open again. For display.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }
}

impl Stream for PlayerStream {
    type Item = Result<v1::PlayerState, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.states.poll_next_unpin(cx)
    }
}

impl fmt::Debug for PlayerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayerStream").field("player", &self.player).finish_non_exhaustive()
    }
}

/// What stands behind a stream.
struct Watcher {
    line: Line<v1::WatchPlayerResponse>,
    player: Player,
    last: Option<v1::PlayerState>,
}

impl Watcher {
    /// The next state that the client does not have.
    async fn next(&mut self) -> Result<v1::PlayerState, Error> {
        loop {
            match self.receive().await {
                Ok(Some(Update::State(state))) => {
                    if state.player != self.player.name() {
                        return Err(Violation::of_match(Claim::Field("player")).into());
                    }
                    self.line.progressed();
                    if self.last.as_ref() != Some(&state) {
                        self.last = Some(state.clone());
                        return Ok(state);
                    }
                }
                Ok(Some(Update::Heartbeat(heartbeat))) => {
                    self.line.told(heartbeat.interval.as_ref());
                    self.line.progressed();
                }
                // An update of a kind that only a newer client knows.
                Ok(None) => {}
                Err(error) => self.line.resume_after(error).await?,
            }
        }
    }

    /// The next update, from a call that is opened if there is none.
    async fn receive(&mut self) -> Result<Option<Update>, Error> {
        if !self.line.is_open() {
            let request = v1::WatchPlayerRequest { player: self.player.acting_for() };
            let call = async |channel, request| PlayerServiceClient::new(channel).watch_player(request).await;
            let messages = self.player.caller().open(request, call).await?;
            self.line.opened(messages);
        }
        Ok(self.line.message().await?.0.update)
    }
}
