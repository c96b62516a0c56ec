//! The model is a store like any other, while nothing goes wrong in it.

use std::sync::Arc;

use async_trait::async_trait;
use simulation::ModelStore;
use store::{ScriptedClock, Store};
use store_conformance::Harness;

/// Shards of the model here: more than one, so that they can be told apart.
const SHARDS: u16 = 3;

struct Model {
    clock: Arc<ScriptedClock>,
    store: ModelStore,
}

#[async_trait]
impl Harness for Model {
    async fn node(&self) -> Arc<dyn Store> {
        Arc::new(self.store.node())
    }

    async fn advance_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }
}

async fn model() -> Model {
    let clock = Arc::new(ScriptedClock::at_ms(1_800_000_000_000));
    Model { store: ModelStore::new(Arc::clone(&clock) as Arc<dyn store::Clock>, SHARDS), clock }
}

store_conformance::suite!(model);
