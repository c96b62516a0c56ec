//! Directories for stores, and what opens them.

use std::path::Path;
use std::sync::Arc;

use sealing::BoxKey;
use store::codec::Keyring;
use store::{Clock, ScriptedClock};
use store_embedded::{Durability, EmbeddedStore, OpenError, Options};
use tempfile::TempDir;

/// Any time will do; one in the past shows that no other clock is asked.
pub(crate) const START_MS: u64 = 1_700_000_000_000;

/// A clock that a test moves.
pub(crate) fn clock() -> Arc<ScriptedClock> {
    Arc::new(ScriptedClock::at_ms(START_MS))
}

/// Where files are in memory, on systems that have such a place: thousands of stores are opened here,
/// each with fsyncs, and none of them has to survive the machine.
const IN_MEMORY: &str = "/dev/shm";

/// An empty directory, removed with the value.
pub(crate) fn directory() -> TempDir {
    let directory = tempfile::tempdir_in(IN_MEMORY).or_else(|_| tempfile::tempdir());
    directory.expect("a temporary directory")
}

/// The keys of every store here.
pub(crate) fn keyring() -> Keyring {
    Keyring::new("box-1".parse().expect("a key id"), BoxKey::from_bytes(&[7; 32]))
}

/// Opens a store without fsync: what these tests end are processes, not machines.
pub(crate) fn try_open(path: &Path, clock: &Arc<ScriptedClock>) -> Result<EmbeddedStore, OpenError> {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    EmbeddedStore::open_with(path, clock, keyring(), Durability::Process)
}

/// Opens a store that can be opened, in another way.
pub(crate) fn open_with(path: &Path, clock: &Arc<ScriptedClock>, options: Options) -> EmbeddedStore {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    EmbeddedStore::open_with(path, clock, keyring(), options).expect("a store can be opened")
}

/// Opens a store that can be opened.
pub(crate) fn open(path: &Path, clock: &Arc<ScriptedClock>) -> EmbeddedStore {
    try_open(path, clock).expect("a store can be opened")
}
