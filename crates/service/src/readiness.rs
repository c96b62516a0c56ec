//! Whether a balancer should send calls to this node: only the store can take that away, and only for long.

use std::convert::Infallible;
use std::sync::Arc;

use store::Clock;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::health::Health;

/// How long no shard may have been writable before the node counts as not ready, ms. A failover of the store
/// takes some 5 s and meets every node at once: it must not leave a balancer without any.
const UNWRITABLE_MAX_MS: u64 = 15_000;

/// What the clockwork has found out about the store.
///
/// Only attempts count, from the first that met no success: time in which nobody tried, as in a process that
/// was stopped for a while, says nothing about the store. An attempt without an answer is none that succeeded.
pub(crate) struct Readiness {
    clock: Arc<dyn Clock>,
    /// Since when no attempt to write has succeeded, ms; none if nothing was tried since the last that did.
    tried_since_ms: watch::Sender<Option<u64>>,
}

impl Readiness {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tried_since_ms: watch::Sender::new(None) }
    }

    /// An attempt to write begins.
    pub(crate) fn tries(&self) {
        let now_ms = self.clock.now_ms();
        self.tried_since_ms.send_if_modified(|since_ms| {
            let first = since_ms.is_none();
            since_ms.get_or_insert(now_ms);
            first
        });
    }

    /// A shard was writable.
    pub(crate) fn has_written(&self) {
        self.tried_since_ms.send_if_modified(|since_ms| since_ms.take().is_some());
    }

    /// The last attempt has succeeded.
    pub(crate) fn is_proven(&self) -> bool {
        self.tried_since_ms.borrow().is_none()
    }

    /// Tells health checks whenever it changes.
    pub(crate) async fn tell(&self, health: &Health) -> Infallible {
        loop {
            self.lost().await;
            warn!(for_s = UNWRITABLE_MAX_MS / 1_000, "no shard is writable: the node is not ready");
            health.not_serving().await;
            let mut tried_since_ms = self.tried_since_ms.subscribe();
            // The sender is ours, so the wait ends only by a success.
            let _ = tried_since_ms.wait_for(Option::is_none).await;
            info!("a shard is writable again: the node is ready");
            health.serving().await;
        }
    }

    /// Returns once no shard has been writable for too long.
    async fn lost(&self) {
        let mut tried_since_ms = self.tried_since_ms.subscribe();
        loop {
            let since_ms = match tried_since_ms.wait_for(Option::is_some).await {
                Ok(since_ms) => *since_ms,
                Err(_) => return,
            };
            let too_long_ms = since_ms.unwrap_or_default().saturating_add(UNWRITABLE_MAX_MS);
            self.clock.sleep_until_ms(too_long_ms).await;
            if *tried_since_ms.borrow() == since_ms {
                return;
            }
        }
    }
}
