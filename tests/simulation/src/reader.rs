//! Somebody who watches a match by a stream, resumes it whatever happens, and checks what he is told.

use std::sync::Arc;

use rules::Seat;
use tokio::sync::watch;
use tonic::Status;
use wire::ApiError;
use wire::v1::watch_match_response::Update;
use wire::v1::{self, ErrorReason};

use crate::caller::{Caller, told};

/// Silence after which a reader takes the connection for dead, ms. A heartbeat comes every 10 s.
const SILENCE_MS: u64 = 25_000;

/// Pause before a stream is opened again at most, ms.
const PAUSE_MS: u64 = 300;

/// How often a reader leaves a stream that works, or is slow to read on, in a thousand messages.
const LEAVES: u32 = 20;
const DAWDLES: u32 = 50;

/// How slow that is, ms.
const DAWDLE_MS: u64 = 3_000;

/// What a player knows of his match.
#[derive(Clone, Default, Debug)]
pub(crate) struct View {
    /// How it stands between two turns.
    pub(crate) status: v1::MatchStatus,
    /// The cells of the board after the last turn he was told; empty: none yet.
    pub(crate) cells: String,
    /// The last turn he was told, and its h.
    pub(crate) turn: u32,
    pub(crate) hash: Vec<u8>,
    pub(crate) finished: bool,
}

/// A reader of one match.
pub(crate) struct Reader {
    pub(crate) caller: Caller,
    pub(crate) game: usize,
    /// `matches/{match}`.
    pub(crate) name: String,
    /// His seat; none: he only looks on.
    pub(crate) seat: Option<Seat>,
    /// The match hides whether a seat has sealed.
    pub(crate) hidden: bool,
    pub(crate) view: watch::Sender<View>,
}

impl Reader {
    /// Reads until the end of the match.
    pub(crate) async fn read(self) {
        let mut known = false;
        while !self.view.borrow().finished {
            self.one_stream(&mut known).await;
            let handle = &self.caller.network.handle;
            handle.sleep(handle.below(PAUSE_MS)).await;
        }
    }

    /// Reads one stream to its end. `known`: the reader has been told where the match stands.
    async fn one_stream(&self, known: &mut bool) {
        let handle = &self.caller.network.handle;
        let (turn, hash) = {
            let view = self.view.borrow();
            (view.turn, view.hash.clone())
        };
        let request = v1::WatchMatchRequest {
            name: self.name.clone(),
            after_turn: Some(turn),
            after_hash: if *known { hash } else { Vec::new() },
            ..Default::default()
        };
        let (node, mut clients) = self.caller.clients(false);
        let opened = handle.within(SILENCE_MS, clients.matches.watch_match(request)).await;
        handle.note(|| {
            format!(
                "{} at node {node}: watch after turn {turn}: {}",
                self.caller.player,
                told(opened.as_ref())
            )
        });
        let mut stream = match opened {
            Some(Ok(response)) => response.into_inner(),
            Some(Err(status)) => return self.refused(&status, known),
            None => return,
        };
        loop {
            match handle.within(SILENCE_MS, stream.message()).await {
                Some(Ok(Some(message))) => self.told(message.update, known),
                Some(Ok(None)) => return self.ended(),
                Some(Err(status)) => return self.refused(&status, known),
                None => return,
            }
            if handle.happens(DAWDLES) {
                handle.sleep(handle.below(DAWDLE_MS)).await;
            }
            if handle.happens(LEAVES) && !self.view.borrow().finished {
                return;
            }
        }
    }

    /// A stream has ended with OK, which says that the match is over.
    fn ended(&self) {
        if !self.view.borrow().finished {
            let what = format!("match {}: a stream ended well before its match", self.game);
            self.caller.network.oracle.complain(4, what);
        }
    }

    fn refused(&self, status: &Status, known: &mut bool) {
        let reason = ApiError::from_status(status).map(|error| error.reason());
        let word = reason.map_or("a broken connection", |reason| reason.as_str_name());
        self.caller.network.handle.note(|| format!("{} stops reading: {word}", self.caller.player));
        let oracle = &self.caller.network.oracle;
        match reason {
            Some(ErrorReason::HistoryRegressed) => {
                if oracle.lossless() {
                    oracle.complain(1, format!("match {}: what was told is not what is stored", self.game));
                }
                // He has been told that history was lost, and begins anew.
                *known = false;
                self.view.send_modify(|view| *view = View::default());
            }
            Some(ErrorReason::NotFound) if oracle.lossless() => {
                oracle.complain(1, format!("match {}: it is gone", self.game));
            }
            Some(ErrorReason::Internal) => {
                oracle.complain(1, format!("match {}: a stream met a fault of the server", self.game));
            }
            _ => {}
        }
    }

    fn told(&self, update: Option<Update>, known: &mut bool) {
        let oracle = Arc::clone(&self.caller.network.oracle);
        let (game, player) = (self.game, &self.caller.player);
        let note = |what: String| self.caller.network.handle.note(|| format!("{player} is told {what}"));
        match update {
            Some(Update::Snapshot(snapshot)) => {
                let view = self.view.borrow().clone();
                if snapshot.turn != view.turn || (*known && snapshot.hash != view.hash) {
                    oracle.complain(4, format!("match {game}: a stream begins at another turn than asked"));
                }
                *known = true;
                self.view.send_modify(|view| {
                    view.hash = snapshot.hash;
                    view.cells = snapshot.position.map(|position| position.cells).unwrap_or_default();
                });
            }
            Some(Update::Turn(turn)) => {
                note(format!("turn {}", turn.turn));
                let view = self.view.borrow().clone();
                if turn.turn != view.turn + 1 {
                    oracle.complain(4, format!("match {game}: turn {} came after {}", turn.turn, view.turn));
                }
                oracle.told_turn(game, &turn, Some(&view.hash));
                self.view.send_modify(|view| {
                    view.turn = turn.turn;
                    view.hash = turn.hash;
                    view.cells = turn.position.map(|position| position.cells).unwrap_or_default();
                });
            }
            Some(Update::Status(status)) => {
                note(format!("{:?}, turn {}", status.state(), status.turn));
                oracle.told_status(game, self.seat, self.hidden, &status);
                self.view.send_modify(|view| view.status = status);
            }
            Some(Update::Finished(finish)) => {
                note(format!("the end: {:?} by {:?}", finish.result(), finish.reason()));
                oracle.told_finish(game, &finish);
                if finish.turn != self.view.borrow().turn {
                    oracle.complain(4, format!("match {game}: the end came before its last turn"));
                }
                self.view.send_modify(|view| view.finished = true);
            }
            Some(Update::Heartbeat(_)) => {}
            None => oracle.complain(4, format!("match {game}: a message without an update")),
        }
    }
}
