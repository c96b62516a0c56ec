//! Where the stores of these tests are, and their clock and keys.

use std::num::NonZeroU8;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis_servers::{ClusterServers, Flavor, Options as ServerOptions, Sentinel, Single};
use sealing::BoxKey;
use store::codec::Keyring;
use store::{Clock, ScriptedClock};
use store_redis::{Durability, Location, Options, RedisStore};
use tokio::sync::OnceCell;

/// A moment in 2026, ms since the Unix epoch.
const START_MS: u64 = 1_800_000_000_000;

/// Waits for one replica.
pub(crate) const ONE_REPLICA: Durability = Durability::Replicas(NonZeroU8::MIN);

pub(crate) fn keyring() -> Keyring {
    let id = "box-1".parse().expect("a key id");
    Keyring::new(id, BoxKey::from_bytes(&[1; 32]))
}

pub(crate) fn clock() -> Arc<ScriptedClock> {
    Arc::new(ScriptedClock::at_ms(START_MS))
}

/// Servers that many stores share, each under a namespace of its own. They live as long as the process.
pub(crate) struct Shared<S> {
    redis: OnceCell<S>,
    valkey: OnceCell<S>,
}

impl<S> Shared<S> {
    const fn new() -> Self {
        Self { redis: OnceCell::const_new(), valkey: OnceCell::const_new() }
    }

    const fn of(&self, flavor: Flavor) -> &OnceCell<S> {
        match flavor {
            Flavor::Redis => &self.redis,
            Flavor::Valkey => &self.valkey,
        }
    }
}

/// One server.
pub(crate) async fn single(flavor: Flavor) -> &'static Single {
    static SHARED: Shared<Single> = Shared::new();
    let start = async || Single::start(flavor, &ServerOptions::new()).await.expect("a server can be started");
    SHARED.of(flavor).get_or_init(start).await
}

/// A primary that sentinels watch, which takes writes only while a replica gets them.
pub(crate) async fn sentinel(flavor: Flavor) -> &'static Sentinel {
    static SHARED: Shared<Sentinel> = Shared::new();
    let start = async || {
        let options = ServerOptions::new().min_replicas_to_write(1);
        Sentinel::start(flavor, &options).await.expect("sentinels can be started")
    };
    SHARED.of(flavor).get_or_init(start).await
}

/// Three primaries with a replica each, which take writes only while it gets them.
pub(crate) async fn cluster(flavor: Flavor) -> &'static ClusterServers {
    static SHARED: Shared<ClusterServers> = Shared::new();
    let start = async || {
        let options = ServerOptions::new().min_replicas_to_write(1);
        ClusterServers::start(flavor, 3, 1, &options).await.expect("a cluster can be started")
    };
    SHARED.of(flavor).get_or_init(start).await
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

/// One more node of a store.
pub(crate) async fn node(options: &Options) -> RedisStore {
    let opened = RedisStore::open(options.clone(), keyring()).await;
    opened.unwrap_or_else(|error| panic!("the store opens: {error}"))
}
