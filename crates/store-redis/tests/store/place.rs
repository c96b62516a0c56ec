//! Where the stores of these tests are, and their clock and keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis_servers::{Flavor, Options as ServerOptions, Single};
use sealing::BoxKey;
use store::codec::Keyring;
use store::{Clock, ScriptedClock};
use store_redis::{Location, Options, RedisStore};
use tokio::sync::OnceCell;

/// A moment in 2026, ms since the Unix epoch.
const START_MS: u64 = 1_800_000_000_000;

pub(crate) fn keyring() -> Keyring {
    let id = "box-1".parse().expect("a key id");
    Keyring::new(id, BoxKey::from_bytes(&[1; 32]))
}

pub(crate) fn clock() -> Arc<ScriptedClock> {
    Arc::new(ScriptedClock::at_ms(START_MS))
}

/// The servers that many stores share, each under a namespace of its own. They live as long as the
/// process.
pub(crate) async fn shared_single(flavor: Flavor) -> &'static Single {
    static REDIS: OnceCell<Single> = OnceCell::const_new();
    static VALKEY: OnceCell<Single> = OnceCell::const_new();
    let cell = match flavor {
        Flavor::Redis => &REDIS,
        Flavor::Valkey => &VALKEY,
    };
    cell.get_or_init(async || {
        Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started")
    })
    .await
}

/// Options of a store that nobody else has.
pub(crate) fn fresh(url: &str) -> Options {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    let location: Location = url.parse().expect("an address line");
    let number = DRAWN.fetch_add(1, Ordering::Relaxed);
    Options::new(location).with_namespace(&format!("test-{}-{number}", std::process::id()))
}

/// One more node of a store whose time is scripted.
pub(crate) async fn scripted(options: &Options, clock: &Arc<ScriptedClock>) -> RedisStore {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let opened = RedisStore::open_with_clock(options.clone(), keyring(), clock).await;
    opened.unwrap_or_else(|error| panic!("the store opens: {error}"))
}
