//! A node's own clock, which is wrong by as much as it is told.

use async_trait::async_trait;
use store::Clock;

use crate::scheduler::Handle;

/// Runs with everybody's time, ahead of it or behind.
pub(crate) struct NodeClock {
    pub(crate) handle: Handle,
    /// How far it is ahead, ms; below zero: behind.
    pub(crate) skew_ms: i64,
}

#[async_trait]
impl Clock for NodeClock {
    fn now_ms(&self) -> u64 {
        self.handle.now_ms().saturating_add_signed(self.skew_ms)
    }

    async fn sleep_until_ms(&self, at_ms: u64) {
        self.handle.sleep_until(at_ms.saturating_add_signed(-self.skew_ms)).await;
    }
}
