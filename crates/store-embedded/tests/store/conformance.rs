//! Every promise of a store, in memory, in a directory, and through a restart before every operation.

use std::sync::Arc;

use async_trait::async_trait;
use store::{Clock, ScriptedClock, Store};
use store_conformance::Harness;
use store_embedded::{EmbeddedStore, VolatileStore};
use tempfile::TempDir;

use crate::place;
use crate::reopened::Reopened;

/// A store in one process: all nodes are the same one.
struct Single<S> {
    clock: Arc<ScriptedClock>,
    store: Arc<S>,
    /// Where the store lives.
    _directory: Option<TempDir>,
}

#[async_trait]
impl<S: Store> Harness for Single<S> {
    async fn node(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    async fn advance_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }
}

async fn volatile() -> Single<VolatileStore> {
    let clock = place::clock();
    let store = Arc::new(VolatileStore::new(Arc::clone(&clock) as Arc<dyn Clock>));
    Single { clock, store, _directory: None }
}

async fn embedded() -> Single<EmbeddedStore> {
    let (clock, directory) = (place::clock(), place::directory());
    let store = Arc::new(place::open(directory.path(), &clock));
    Single { clock, store, _directory: Some(directory) }
}

async fn reopened() -> Single<Reopened> {
    let (clock, directory) = (place::clock(), place::directory());
    let store = Arc::new(Reopened::new(directory.path(), &clock));
    Single { clock, store, _directory: Some(directory) }
}

mod in_memory {
    store_conformance::suite!(super::volatile);
}

mod in_a_directory {
    store_conformance::suite!(super::embedded);
}

mod through_restarts {
    store_conformance::suite!(super::reopened);
}

#[tokio::test]
async fn the_suite_can_be_tried_as_a_whole() {
    let untried = store_conformance::run_all(volatile).await;
    assert!(untried.is_empty(), "{untried:?}");
}
