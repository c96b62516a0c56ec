//! The way between one node and the store, where calls take time and get lost.

use std::sync::Arc;

use store::{StoreError, Stored, TraceContext};

use crate::primary::{Durability, Primary};
use crate::scheduler::{Handle, Owner};
use crate::weather::Weather;

/// How long one way takes, ms.
const WAY_MS: u64 = 3;

/// How long one way takes now and then, ms: longer than a stamp is good for.
const SLOW_WAY_MS: u64 = 1_500;

/// How long a node waits for an answer that does not come, ms.
const PATIENCE_MS: u64 = 400;

/// How late a node sees at most that the feed goes on, ms: they look now and then while somebody waits.
const LOOK_MS: u64 = 600;

/// How late a hint or a doubled commit comes, ms.
const LATE_MS: u64 = 2_000;

/// The connection of one life of a node.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) handle: Handle,
    pub(crate) weather: Arc<Weather>,
    pub(crate) primary: Arc<Primary>,
    pub(crate) node: usize,
}

pub(crate) fn unavailable<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("no answer".to_owned()))
}

impl Link {
    /// The way to the store. After an error nothing has arrived.
    pub(crate) async fn out(&self) -> Result<(), StoreError> {
        self.way().await;
        if !self.weather.reaches_store(self.node) {
            self.handle.sleep(1).await;
            return unavailable();
        }
        if self.weather.strikes(|rates| rates.lost_steps / 2) {
            self.handle.sleep(PATIENCE_MS).await;
            return unavailable();
        }
        while let Some(until_ms) = self.weather.stalled_until() {
            if self.handle.happens(500) && until_ms > self.handle.now_ms() + PATIENCE_MS {
                self.handle.sleep(PATIENCE_MS).await;
                return unavailable();
            }
            self.handle.sleep_until(until_ms).await;
        }
        Ok(())
    }

    /// The way back, once what the answer says is as durable as it must be. After an error the caller
    /// does not know what happened.
    pub(crate) async fn back(&self, epoch: u64) -> Result<(), StoreError> {
        if self.primary.durability == Durability::Replica {
            self.way().await;
            if !self.primary.confirm(epoch) {
                return unavailable();
            }
        }
        self.way().await;
        if self.weather.strikes(|rates| rates.lost_steps / 2) || !self.weather.reaches_store(self.node) {
            self.handle.sleep(PATIENCE_MS).await;
            return unavailable();
        }
        Ok(())
    }

    async fn way(&self) {
        let slow = self.weather.strikes(|rates| rates.slow_steps);
        let ms = self.handle.below(if slow { SLOW_WAY_MS } else { WAY_MS });
        self.handle.sleep(ms).await;
    }

    /// Tells everybody who listens of a change, as well as hints are told: late, twice, or not at all.
    pub(crate) fn publish(&self, stored: &Stored, epoch: u64, trace: Option<TraceContext>) {
        for ears in self.primary.listeners(stored.head.id) {
            if self.weather.strikes(|rates| rates.lost_hints) {
                continue;
            }
            let odd = self.weather.strikes(|rates| rates.odd_hints);
            for _ in 0..=u32::from(odd) {
                let ms = self.handle.below(if odd { LATE_MS } else { WAY_MS });
                let (link, stored) = (self.clone(), stored.clone());
                self.handle.spawn(Owner::World, async move {
                    link.handle.sleep(ms).await;
                    let durable =
                        link.primary.durability == Durability::Primary || link.primary.confirm(epoch);
                    if durable {
                        link.primary.tell(ears, &stored, trace);
                    }
                });
            }
        }
    }

    /// Lets everybody who waits for it see, some time, where the feed ends by then.
    pub(crate) fn publish_feed(&self) {
        for ears in self.primary.feed_listeners() {
            let (link, ms) = (self.clone(), self.handle.below(LOOK_MS));
            self.handle.spawn(Owner::World, async move {
                link.handle.sleep(ms).await;
                while let Some(until_ms) = link.weather.stalled_until() {
                    link.handle.sleep_until(until_ms).await;
                }
                link.primary.look_at_feed(ears);
            });
        }
    }

    /// Does something that nobody waits for, later.
    pub(crate) fn later(&self, work: impl FnOnce(&Self) + Send + 'static) {
        let link = self.clone();
        let ms = self.handle.below(LATE_MS);
        self.handle.spawn(Owner::World, async move {
            link.handle.sleep(ms).await;
            while let Some(until_ms) = link.weather.stalled_until() {
                link.handle.sleep_until(until_ms).await;
            }
            work(&link);
        });
    }
}
