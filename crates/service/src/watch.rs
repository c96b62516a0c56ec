//! `WatchMatch`: a match as it happens, without a gap.
//!
//! The stream is pulled, never pushed: what the client has not taken yet is not made yet. So a slow
//! reader holds no queue, loses statuses that have been replaced meanwhile, and never a turn.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt as _};
use referee::Now;
use sealing::{Digest, MatchId};
use store::{Hints, Loaded, StoreError};
use tokio::sync::watch;
use tonic::Status;
use wire::ApiError;
use wire::v1::watch_match_response::Update;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::convert::time::{duration, timestamp};
use crate::convert::view::{self, Viewer};
use crate::convert::{errors, match_name, request, turn};
use crate::guard::guarded;
use crate::history::History;
use crate::node::Node;

type WatchStream = BoxStream<'static, Result<v1::WatchMatchResponse, Status>>;

/// Opens a stream, or refuses it.
pub(crate) async fn open(
    node: Arc<Node>,
    caller: &Caller,
    request: v1::WatchMatchRequest,
) -> Result<WatchStream, ApiError> {
    let id = request::match_id("name", &request.name)?;
    let claimed = request::digest("after_hash", &request.after_hash)?;
    if claimed.is_some() && request.after_turn.is_none() {
        let what = "a hash is that of a turn; name the turn too";
        return Err(ApiError::field(ErrorReason::FieldRequired, "after_turn", what));
    }
    // Hints first, then the head: a change between the two is hinted at.
    let refused = |error| errors::store_on(&request.name, error);
    let hints = node.store.watch(id).await.map_err(refused)?;
    let loaded = node.store.load(id).await.map_err(refused)?;
    let viewer = caller.viewer(&request.player, &loaded.stored.head)?;
    let after = request.after_turn.unwrap_or(loaded.stored.head.resolved);
    check_claim(&loaded, after)?;

    let history = node.histories.of(&loaded.stored.head);
    let (snapshot, sent_hash) = snapshot(&node, &history, &loaded, after, claimed).await?;
    let draining = node.draining.clone();
    let quiet_since_ms = node.clock.now_ms();
    let watch = Watch {
        node,
        id,
        viewer,
        hints,
        history,
        draining,
        head: loaded,
        sent_turn: after,
        sent_hash,
        sent_status: None,
        quiet_since_ms,
        expires_ms: caller.expires_ms().unwrap_or(u64::MAX),
        ended: false,
    };
    let first = stream::once(async move { Ok(message(Update::Snapshot(snapshot))) });
    let rest = stream::unfold(watch, |mut watch| async move {
        let item = watch.next().await?;
        Some((item.map(message).map_err(Status::from), watch))
    });
    Ok(guarded(first.chain(rest), format!("a stream of {}", match_name(id))))
}

fn message(update: Update) -> v1::WatchMatchResponse {
    v1::WatchMatchResponse { update: Some(update) }
}

/// A client can only resume from a turn that is there: who knows a later one has seen another history.
fn check_claim(loaded: &Loaded, after: u32) -> Result<(), ApiError> {
    let head = &loaded.stored.head;
    if after <= head.resolved { Ok(()) } else { Err(errors::regressed(head)) }
}

/// The match after turn `after`, if the client has seen the same one, and the h of that turn.
async fn snapshot(
    node: &Node,
    history: &History,
    loaded: &Loaded,
    after: u32,
    claimed: Option<Digest>,
) -> Result<(v1::MatchSnapshot, Digest), ApiError> {
    let head = &loaded.stored.head;
    let (position, hash) = if after == head.resolved {
        (head.position, head.hash)
    } else if after == 0 {
        (rules::Position::initial(), head.first_hash())
    } else {
        let played = history.turn(node.store.as_ref(), after).await?;
        (played.position, played.record.hash)
    };
    if claimed.is_some_and(|claimed| claimed != hash) {
        return Err(errors::regressed(head));
    }
    let position = turn::position(&position);
    Ok((view::snapshot(head, after, position, hash.as_bytes().to_vec(), loaded.now.stamp), hash))
}

/// One open stream.
struct Watch {
    node: Arc<Node>,
    id: MatchId,
    viewer: Viewer,
    hints: Hints,
    history: Arc<History>,
    draining: watch::Receiver<bool>,
    head: Loaded,
    /// The last turn the client was sent, or began after.
    sent_turn: u32,
    /// The h of that turn.
    sent_hash: Digest,
    /// The last status the client was sent.
    sent_status: Option<v1::MatchStatus>,
    /// When something was last sent.
    quiet_since_ms: u64,
    /// When the token that opened the stream expires.
    expires_ms: u64,
    ended: bool,
}

impl Watch {
    /// The next update; none when the stream is over.
    async fn next(&mut self) -> Option<Result<Update, ApiError>> {
        if self.ended {
            return None;
        }
        let update = match self.check_token() {
            Ok(()) => self.produce().await,
            Err(expired) => Err(expired),
        };
        self.ended = matches!(update, Err(_) | Ok(Update::Finished(_)));
        self.quiet_since_ms = self.node.clock.now_ms();
        Some(update)
    }

    /// A stream lives no longer than the token that opened it.
    fn check_token(&self) -> Result<(), ApiError> {
        if self.node.clock.now_ms() < self.expires_ms {
            return Ok(());
        }
        Err(ApiError::resume_after(ErrorReason::TokenExpired, self.sent_turn))
    }

    /// Turns first, then the end or the status, then waiting.
    async fn produce(&mut self) -> Result<Update, ApiError> {
        loop {
            if self.sent_turn < self.head.stored.head.resolved {
                let next = self.sent_turn.saturating_add(1);
                let played = self.history.turn(self.node.store.as_ref(), next).await?;
                if played.previous != self.sent_hash {
                    return Err(errors::regressed(&self.head.stored.head));
                }
                self.sent_turn = next;
                self.sent_hash = played.record.hash;
                return Ok(Update::Turn(played.wire.clone()));
            }
            if let Some(finished) = view::finished(&self.head.stored.head) {
                return Ok(Update::Finished(finished));
            }
            let status = view::status(&self.head.stored.head, self.now(), self.viewer);
            // Only what this viewer may see decides: a push that the opponent's hidden seal triggers
            // would tell that it is there.
            if self.sent_status.as_ref() != Some(&status) {
                self.sent_status = Some(status.clone());
                return Ok(Update::Status(status));
            }
            if self.wait().await? == Woken::Silence {
                return Ok(self.heartbeat());
            }
        }
    }

    /// Waits until the match may have changed, or nothing was sent for a while. Reads the head in both
    /// cases: a hint that was lost is made good by the next heartbeat.
    async fn wait(&mut self) -> Result<Woken, ApiError> {
        let heartbeat_at_ms = self.quiet_since_ms.saturating_add(self.node.heartbeat_ms());
        let woken = tokio::select! {
            biased;
            _ = self.draining.wait_for(|draining| *draining) => {
                return Err(ApiError::resume_after(ErrorReason::ResumeElsewhere, self.sent_turn));
            }
            hint = self.hints.changed() => {
                hint.map_err(|_| errors::store(StoreError::NotFound))?;
                Woken::Hint
            }
            () = self.node.clock.sleep_until_ms(heartbeat_at_ms.min(self.expires_ms)) => Woken::Silence,
        };
        self.check_token()?;
        self.head = self.node.store.load(self.id).await.map_err(errors::store)?;
        self.check_history()?;
        let changed =
            self.head.stored.head.resolved > self.sent_turn || self.head.stored.head.finish().is_some();
        Ok(if changed { Woken::Hint } else { woken })
    }

    /// What was sent is still what is stored: a store may have lost turns in a failover and gone on with
    /// others, and a client must not take the one history for the other.
    fn check_history(&self) -> Result<(), ApiError> {
        let head = &self.head.stored.head;
        self.history.keep_to(head);
        let other = head.resolved == self.sent_turn && head.hash != self.sent_hash;
        if other || head.resolved < self.sent_turn { Err(errors::regressed(head)) } else { Ok(()) }
    }

    fn now(&self) -> Now {
        self.head.now
    }

    fn heartbeat(&self) -> Update {
        Update::Heartbeat(v1::Heartbeat {
            server_time: Some(timestamp(self.now().stamp)),
            interval: Some(duration(self.node.heartbeat_ms())),
            head_turn: self.head.stored.head.resolved,
        })
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// The match may have changed.
    Hint,
    /// Nothing was sent for a heartbeat's time.
    Silence,
}
