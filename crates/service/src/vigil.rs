//! What a stream of states waits with: a token that runs out or is called back, a node that drains, and a silence that a heartbeat
//! breaks.

use std::future::Future;
use std::sync::Arc;

use referee::Stamp;
use tokio::sync::watch;
use wire::ApiError;
use wire::v1::{self, ErrorReason};

use crate::access::Caller;
use crate::admission::{self, Attendance};
use crate::convert::time::{duration, timestamp};
use crate::node::Node;

/// The waiting of one open stream.
pub(crate) struct Vigil {
    node: Arc<Node>,
    draining: watch::Receiver<bool>,
    quiet_since_ms: u64,
    expires_ms: u64,
    attendance: Option<Attendance>,
}

impl Vigil {
    /// That of a stream which this caller opens now.
    pub(crate) fn new(node: &Arc<Node>, caller: &Caller) -> Self {
        Self {
            node: Arc::clone(node),
            draining: caller.leaving(node),
            quiet_since_ms: node.clock.now_ms(),
            expires_ms: caller.expires_ms().unwrap_or(u64::MAX),
            attendance: caller.attendance(node),
        }
    }

    /// Something is sent: the silence begins again.
    pub(crate) fn sends(&mut self) {
        self.quiet_since_ms = self.node.clock.now_ms();
    }

    /// Whether the caller may be told anything still.
    ///
    /// # Errors
    /// TOKEN_EXPIRED, PLAYER_BANNED.
    pub(crate) fn check_token(&self) -> Result<(), ApiError> {
        let now_ms = self.node.clock.now_ms();
        if now_ms >= self.expires_ms {
            return Err(ApiError::new(ErrorReason::TokenExpired));
        }
        self.attendance.as_ref().map_or(Ok(()), |attendance| attendance.check(now_ms))
    }

    /// Waits until `changed` says that something may have changed, or the time `wake_ms` comes. True: nothing was
    /// sent for a heartbeat's time.
    ///
    /// # Errors
    /// RESUME_ELSEWHERE, and what `changed` fails with.
    pub(crate) async fn wait(
        &mut self,
        changed: impl Future<Output = Result<(), ApiError>>,
        wake_ms: u64,
    ) -> Result<bool, ApiError> {
        let heartbeat_at_ms = self.quiet_since_ms.saturating_add(self.node.heartbeat_ms());
        let wake_ms = heartbeat_at_ms.min(wake_ms).min(self.expires_ms);
        tokio::select! {
            biased;
            _ = self.draining.wait_for(|draining| *draining) => {
                return Err(ApiError::new(ErrorReason::ResumeElsewhere));
            }
            () = admission::changed(self.attendance.as_mut()) => {}
            changed = changed => changed?,
            () = self.node.clock.sleep_until_ms(wake_ms) => {}
        }
        Ok(self.node.clock.now_ms() >= heartbeat_at_ms)
    }

    /// What breaks the silence of a stream that is not about a match.
    pub(crate) fn heartbeat(&self) -> v1::Heartbeat {
        v1::Heartbeat {
            server_time: Some(timestamp(Stamp::from_ms(self.node.clock.now_ms()))),
            interval: Some(duration(self.node.heartbeat_ms())),
            head_turn: 0,
        }
    }
}
