//! The volatile store keeps every promise of a store.

use std::sync::Arc;

use async_trait::async_trait;
use store::{ScriptedClock, Store};
use store_conformance::Harness;
use store_embedded::VolatileStore;

/// Any time will do; one in the past shows that no other clock is asked.
const START_MS: u64 = 1_700_000_000_000;

struct Volatile {
    clock: Arc<ScriptedClock>,
    store: Arc<VolatileStore>,
}

#[async_trait]
impl Harness for Volatile {
    async fn node(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    async fn advance_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }
}

async fn volatile() -> Volatile {
    let clock = Arc::new(ScriptedClock::at_ms(START_MS));
    Volatile { store: Arc::new(VolatileStore::new(Arc::clone(&clock) as Arc<dyn store::Clock>)), clock }
}

store_conformance::suite!(volatile);

#[tokio::test]
async fn the_suite_can_be_tried_as_a_whole() {
    let untried = store_conformance::run_all(volatile).await;
    assert!(untried.is_empty(), "{untried:?}");
}
