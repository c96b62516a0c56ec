//! Somebody who watches a match over the bare protocol, and resumes by himself.

use std::sync::Arc;

use tokio::time::{sleep, timeout};
use tonic::transport::Channel;
use tonic::{Request, Status};
use whattheshell::ApiError;
use whattheshell::v1::match_service_client::MatchServiceClient;
use whattheshell::v1::watch_match_response::Update;
use whattheshell::v1::{self, ErrorReason};

use crate::account::Break;
use crate::arena::{Arena, PAUSE};
use crate::secrets::Who;

/// A request of somebody with a token.
pub(crate) fn with_token<M>(message: M, token: &str) -> Request<M> {
    let mut request = Request::new(message);
    if let Ok(value) = format!("Bearer {token}").parse() {
        request.metadata_mut().insert("authorization", value);
    }
    request
}

/// The reason of a refusal.
pub(crate) fn reason(status: &Status) -> Option<ErrorReason> {
    ApiError::from_status(status).map(|error| error.reason())
}

/// A spectator of one match.
pub(crate) struct Spectator {
    pub(crate) arena: Arc<Arena>,
    pub(crate) who: Who,
    pub(crate) channel: Channel,
    pub(crate) token: String,
    pub(crate) game: String,
    /// The last turn that came, and its h.
    pub(crate) turn: u32,
    pub(crate) hash: Vec<u8>,
}

impl Spectator {
    /// Watches until the end has come, or it is said that history was lost.
    pub(crate) async fn watch(mut self) {
        self.arena.account.reads(self.who, &self.game, 0);
        loop {
            match self.watch_once().await {
                Ok(true) => return,
                Err(status) if self.is_gone(&status) => {
                    self.arena.account.regressed(&self.game);
                    return;
                }
                Ok(false) | Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Whether history was lost: some of the match's, or all of it.
    fn is_gone(&self, status: &Status) -> bool {
        match reason(status) {
            Some(ErrorReason::HistoryRegressed) => true,
            Some(ErrorReason::NotFound) => !self.arena.account.is_lossless(),
            _ => false,
        }
    }

    /// One stream, from the last turn that came. True once the end has.
    async fn watch_once(&mut self) -> Result<bool, Status> {
        let request = v1::WatchMatchRequest {
            name: self.game.clone(),
            after_turn: Some(self.turn),
            after_hash: self.hash.clone(),
            ..v1::WatchMatchRequest::default()
        };
        let silence_max = self.arena.manner.silence_max;
        self.arena.account.call();
        let mut client = MatchServiceClient::new(self.channel.clone());
        let opened = timeout(silence_max, client.watch_match(with_token(request, &self.token)));
        let mut messages = opened.await.map_err(|_| Status::unavailable("no answer"))??.into_inner();
        loop {
            let message = timeout(silence_max, messages.message());
            let message = message.await.map_err(|_| Status::unavailable("silence"))??;
            let Some(message) = message else {
                // A stream ends well after the match's end alone.
                let what =
                    format!("{}: the stream of {} ended well before the match did", self.game, self.who);
                self.arena.account.complain(Break::Stuck, what);
                return Ok(false);
            };
            if message.update.is_some_and(|update| self.take(update)) {
                return Ok(true);
            }
        }
    }

    /// Notes what came. True: it was the end.
    fn take(&mut self, update: Update) -> bool {
        let account = &self.arena.account;
        match update {
            Update::Snapshot(snapshot) => {
                let follows = self.hash.is_empty() || snapshot.hash == self.hash;
                if snapshot.turn != self.turn || !follows {
                    let what = format!("{}: {} resumed after turn {}", self.game, self.who, self.turn);
                    account.complain(Break::Duplicated, what);
                }
                self.hash = snapshot.hash;
            }
            Update::Turn(turn) => {
                account.told_turn(self.who, &self.game, &turn);
                (self.turn, self.hash) = (turn.turn, turn.hash);
            }
            Update::Status(status) => account.told_status(self.who, None, &self.game, &status),
            Update::Finished(finish) => {
                account.told_finish(&self.game, &finish);
                return true;
            }
            Update::Heartbeat(_) => {}
        }
        false
    }
}
