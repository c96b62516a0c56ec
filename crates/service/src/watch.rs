//! `WatchMatch`: a match as it happens, without a gap.
//!
//! The stream is pulled, never pushed: what the client has not taken yet is not made yet. So a slow
//! reader holds no queue, loses statuses that have been replaced meanwhile, and never a turn.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt as _};
use middleware::Limit;
use opentelemetry::trace::FutureExt as _;
use referee::{HistoryClaim, Now};
use sealing::{Digest, MatchId};
use store::{Hint, Hints, Loaded, Store, StoreError, TraceContext, Version};
use tokio::sync::watch;
use tonic::Status;
use wire::ApiError;
use wire::v1::watch_match_response::Update;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::admission::{self, Attendance};
use crate::convert::time::{duration, timestamp};
use crate::convert::view::{self, Viewer};
use crate::convert::{errors, match_name, request, turn};
use crate::guard::guarded;
use crate::history::{History, Played};
use crate::node::Node;
use crate::{lost_history, spans};

/// What a resolved turn takes on the wire, bytes: 400 to 900, by what happens in it.
const TURN_BYTES: u32 = 640;

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
    let last_receipt = request::receipt("last_receipt", request.last_receipt.as_ref())?;
    if let Some(receipt) = last_receipt {
        lost_history::weigh(&node, id, receipt).await?;
    }
    // Hints first, then the head: a change between the two is hinted at.
    let refused = |error| errors::store_on(&request.name, error);
    let hints = node.store.watch(id).await.map_err(refused)?;
    let mut loaded = as_hinted(node.store.as_ref(), id, hints.latest()).await.map_err(refused)?;
    let viewer = caller.viewer(&request.player, &loaded.stored.head)?;
    let mut start = start(&node, &loaded, request.after_turn, claimed).await?;
    if start.is_none() {
        // What was seen with a hint may be old, and no refusal rests on it.
        loaded = node.store.load(id).await.map_err(refused)?;
        start = self::start(&node, &loaded, request.after_turn, claimed).await?;
    }
    let head = &loaded.stored.head;
    let Some(Start { turn: sent_turn, hash: sent_hash, snapshot }) = start else {
        if let (Some(turn), Some(hash)) = (request.after_turn, claimed) {
            let claim = HistoryClaim { turn, hash };
            lost_history::claim(&node, (caller, &request.player), head, claim).await?;
        }
        return Err(errors::regressed(head));
    };
    resume(&node, caller, head.resolved.saturating_sub(sent_turn))?;
    let history = node.histories.of(head);
    let (draining, attendance) = (caller.leaving(&node), caller.attendance(&node));
    let quiet_since_ms = node.clock.now_ms();
    let open = node.stats.stream();
    let watch = Watch {
        node,
        id,
        viewer,
        hints,
        cause: None,
        history,
        draining,
        head: loaded,
        sent_turn,
        sent_hash,
        sent_status: None,
        quiet_since_ms,
        expires_ms: caller.expires_ms().unwrap_or(u64::MAX),
        attendance,
        ended: false,
    };
    let first = stream::once(async move { Ok(message(Update::Snapshot(snapshot))) });
    let rest = stream::unfold(watch, |mut watch| async move {
        let item = watch.next().await?;
        Some((item.map(message).map_err(Status::from), watch))
    });
    Ok(guarded(first.chain(rest), format!("a stream of {}", match_name(id)), open))
}

/// A stream begins with so many turns of history: they come as fast as they are read, so there is a bound on those
/// of one caller.
fn resume(node: &Node, caller: &Caller, turns: u32) -> Result<(), ApiError> {
    let kib = turns.saturating_mul(TURN_BYTES).div_ceil(1024);
    let Some(Err(wait)) = caller.usage().map(|usage| usage.resumes(kib)) else { return Ok(()) };
    node.config.refusals.count(Limit::Resumed);
    let what = "too much history was sent to you this minute; resume later, or from a later turn";
    Err(ApiError::new(ErrorReason::RateLimited).with_message(what).with_retry_delay(wait))
}

fn message(update: Update) -> v1::WatchMatchResponse {
    v1::WatchMatchResponse { update: Some(update) }
}

/// The head of a match that is at least as new as a hint of it: as it was seen, if the store remembers that,
/// else read.
async fn as_hinted(store: &dyn Store, id: MatchId, hinted: Version) -> Result<Loaded, StoreError> {
    let is_as_new = |seen: &Loaded| {
        let version = seen.stored.version;
        version == hinted || version.counter > hinted.counter
    };
    match store.recent(id).filter(is_as_new) {
        Some(seen) => Ok(seen),
        None => store.load(id).await,
    }
}

/// Where a stream starts.
struct Start {
    turn: u32,
    /// h of that turn.
    hash: Digest,
    snapshot: v1::MatchSnapshot,
}

/// The match after turn `after`; none if the client has seen another history: he can only resume from a turn
/// that is there, with the h that it has.
async fn start(
    node: &Node,
    loaded: &Loaded,
    after: Option<u32>,
    claimed: Option<Digest>,
) -> Result<Option<Start>, ApiError> {
    let head = &loaded.stored.head;
    let turn = after.unwrap_or(head.resolved);
    if turn > head.resolved {
        return Ok(None);
    }
    let (position, hash) = if turn == head.resolved {
        (head.position, head.hash)
    } else if turn == 0 {
        (rules::Position::initial(), head.first_hash())
    } else {
        let played = node.histories.of(head).turn(node.store.as_ref(), turn).await?;
        (played.position, played.record.hash)
    };
    if claimed.is_some_and(|claimed| claimed != hash) {
        return Ok(None);
    }
    let position = turn::position(&position);
    let snapshot = view::snapshot(head, turn, position, hash.as_bytes().to_vec(), loaded.now.stamp);
    Ok(Some(Start { turn, hash, snapshot }))
}

/// One open stream.
struct Watch {
    node: Arc<Node>,
    id: MatchId,
    viewer: Viewer,
    hints: Hints,
    /// Where the change was made that the last hint told of, if that is traced.
    cause: Option<TraceContext>,
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
    attendance: Option<Attendance>,
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

    /// A stream lives no longer than the token that opened it, and its player is not banned.
    fn check_token(&self) -> Result<(), ApiError> {
        let now_ms = self.node.clock.now_ms();
        let refused = |reason| Err(ApiError::resume_after(reason, self.sent_turn));
        if now_ms >= self.expires_ms {
            return refused(ErrorReason::TokenExpired);
        }
        let admitted = self.attendance.as_ref().map_or(Ok(()), |attendance| attendance.check(now_ms));
        admitted.or_else(|error| refused(error.reason()))
    }

    /// Turns first, then the end or the status, then waiting.
    async fn produce(&mut self) -> Result<Update, ApiError> {
        loop {
            if self.sent_turn < self.head.stored.head.resolved {
                let next = self.sent_turn.saturating_add(1);
                let played = self.turn(next).await?;
                if played.previous != self.sent_hash {
                    let sent = (self.sent_turn, self.sent_hash);
                    lost_history::void_unless_stored(&self.node, self.id, sent).await?;
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

    /// A turn to deliver. Where a traced change caused that, it is a part of the trace.
    async fn turn(&mut self, number: u32) -> Result<Arc<Played>, ApiError> {
        let turn = self.history.turn(self.node.store.as_ref(), number);
        let cause = self.cause.take();
        match cause.and_then(|cause| spans::delivery(&self.node.config.instruments, cause)) {
            Some(delivery) => turn.with_context(delivery).await,
            None => turn.await,
        }
    }

    /// Waits until the match may have changed, or nothing was sent for a while. A hint brings its head,
    /// where the store remembers that; without one the head is read, which makes good for hints that are lost.
    async fn wait(&mut self) -> Result<Woken, ApiError> {
        let heartbeat_at_ms = self.quiet_since_ms.saturating_add(self.node.heartbeat_ms());
        let woken = tokio::select! {
            biased;
            _ = self.draining.wait_for(|draining| *draining) => {
                return Err(ApiError::resume_after(ErrorReason::ResumeElsewhere, self.sent_turn));
            }
            () = admission::changed(self.attendance.as_mut()) => Woken::Change,
            hint = self.hints.changed() => {
                Woken::Hint(hint.map_err(|_| errors::store(StoreError::NotFound))?)
            }
            () = self.node.clock.sleep_until_ms(heartbeat_at_ms.min(self.expires_ms)) => Woken::Silence,
        };
        self.check_token()?;
        self.cause = match woken {
            Woken::Hint(hint) => hint.trace,
            Woken::Change | Woken::Silence => None,
        };
        self.look(woken).await?;
        let changed =
            self.head.stored.head.resolved > self.sent_turn || self.head.stored.head.finish().is_some();
        let is_repair = match woken {
            Woken::Hint(hint) => hint.is_repair,
            Woken::Change | Woken::Silence => changed,
        };
        if is_repair {
            self.node.config.instruments.gap_repaired();
        }
        Ok(if changed { Woken::Change } else { woken })
    }

    /// Takes in where the match stands.
    async fn look(&mut self, woken: Woken) -> Result<(), ApiError> {
        let store = self.node.store.as_ref();
        let seen = match woken {
            Woken::Hint(hint) => Some(as_hinted(store, self.id, hint.version).await.map_err(errors::store)?),
            Woken::Change | Woken::Silence => None,
        };
        let load = || async { store.load(self.id).await.map_err(errors::store) };
        // Only what was asked for after the last head was seen can show that something is lost.
        let mut head = match seen.filter(|seen| !self.has_lost(seen)) {
            Some(seen) => seen,
            None => load().await?,
        };
        if self.has_lost(&head) && head.stored.head.finish().is_none() {
            lost_history::void(&self.node, self.id).await?;
            head = load().await?;
        }
        self.history.keep_to(&head.stored.head);
        let is_other = self.is_other(&head);
        self.head = head;
        if is_other { Err(errors::regressed(&self.head.stored.head)) } else { Ok(()) }
    }

    /// Whether a head does not go through what was sent: a store may have lost turns in a failover and gone on
    /// with others, and a client must not take the one history for the other.
    fn is_other(&self, read: &Loaded) -> bool {
        let head = &read.stored.head;
        head.resolved < self.sent_turn || head.resolved == self.sent_turn && head.hash != self.sent_hash
    }

    /// Whether a head that was read after the last one lacks something that was seen or sent.
    fn has_lost(&self, read: &Loaded) -> bool {
        self.is_other(read) || lost_history::is_lost(&self.head.stored, &read.stored)
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
    /// The match may have changed, as this hint says.
    Hint(Hint),
    /// The match has changed for this client, or what he may see.
    Change,
    /// Nothing was sent for a heartbeat's time.
    Silence,
}
