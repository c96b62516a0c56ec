//! A store, and how it is opened.

use std::fmt;
use std::num::NonZeroU8;
use std::sync::Arc;

use sealing::MatchId;
use store::codec::Keyring;
use store::{Clock, Shard};
use tokio::task::AbortHandle;

use crate::caller::Caller;
use crate::error::OpenError;
use crate::hub::Hub;
use crate::location::{Location, Shape};
use crate::names::{self, Names, Place};
use crate::recent::Recent;
use crate::routes::Routes;
use crate::scripts::{Scripts, Variant};
use crate::start;
use crate::watching::Lookout;

/// When a write counts as made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// When the primary has it. A failover can lose the last writes.
    #[default]
    Primary,
    /// When this many replicas have it as well, and only then is anything of it seen. Holds through the
    /// primary's death if a replica that has it takes over.
    Replicas(NonZeroU8),
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the Redis is.
    pub location: Location,
    /// When a write counts as made.
    pub durability: Durability,
    /// What all keys begin with, so that stores can share a server; letters, digits, `.`, `_`, `-`.
    pub namespace: String,
}

impl Options {
    /// Keys begin with `wts`; writes count when the primary has them.
    #[must_use]
    pub fn new(location: Location) -> Self {
        Self { location, durability: Durability::default(), namespace: "wts".to_owned() }
    }

    /// The same, with another durability.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// The same, with other keys.
    #[must_use]
    pub fn with_namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self }
    }
}

/// Matches of many nodes, in Redis. Every node opens it; all of them see the same.
pub struct RedisStore {
    pub(crate) names: Names,
    pub(crate) scripts: Arc<Scripts>,
    pub(crate) keyring: Keyring,
    pub(crate) shards: u16,
    pub(crate) recent: Arc<Recent>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) caller: Arc<Caller>,
    options: Options,
    tasks: Vec<AbortHandle>,
}

impl RedisStore {
    /// Opens the store, or begins one where there is none. Servers that would lose what is written to
    /// them are refused. `keyring` opens the boxes of unresolved moves and makes new ones: all nodes have
    /// the same keys.
    ///
    /// Must be called within a Tokio runtime, in which the connections live as long as the store.
    ///
    /// # Errors
    /// If no server can be reached, one of them is not fit for it, or a newer build made the store.
    pub async fn open(options: Options, keyring: Keyring) -> Result<Self, OpenError> {
        Self::open_at(options, keyring, None).await
    }

    /// [`RedisStore::open`] with a clock that scripts are told the time by, in place of the server's. All
    /// nodes must share it: this is for tests that script time.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    pub async fn open_with_clock(
        options: Options,
        keyring: Keyring,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Self::open_at(options, keyring, Some(clock)).await
    }

    async fn open_at(
        options: Options,
        keyring: Keyring,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<Self, OpenError> {
        if !names::is_plain(&options.namespace) {
            return Err(OpenError::Namespace);
        }
        if options.location.tls {
            return Err(OpenError::NoTls);
        }
        let replicas = match options.durability {
            Durability::Primary => None,
            Durability::Replicas(replicas) => Some(replicas),
        };
        let variant = Variant {
            time_given: clock.is_some(),
            sharded: options.location.shape == Shape::Cluster,
            waits: replicas.is_some(),
        };
        let scripts = Arc::new(Scripts::new(variant));
        let recent = Arc::new(Recent::new(start::SHARDS_MAX, keyring.clone()));
        let hub = Arc::new(Hub::new(Arc::clone(&recent)));
        let location = Arc::new(options.location.clone());
        let routes = Arc::new(Routes::new(location, Arc::clone(&hub), variant, replicas));
        start::find(&routes, &options).await?;
        let caller = Arc::new(Caller::new(Arc::clone(&routes), clock));
        let names = Names::new(&options.namespace);
        let shards = start::read_meta(&caller, &names, &scripts, &options).await?;
        let lookout = Lookout {
            caller: Arc::clone(&caller),
            hub: Arc::clone(&hub),
            recent: Arc::clone(&recent),
            scripts: Arc::clone(&scripts),
            names: names.clone(),
        };
        let tasks =
            vec![tokio::spawn(routes.keep()).abort_handle(), tokio::spawn(lookout.keep()).abort_handle()];
        Ok(Self { names, scripts, keyring, shards, recent, hub, caller, options, tasks })
    }

    /// Checks that every server is still fit: as at the start.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    pub async fn check(&self) -> Result<(), OpenError> {
        start::check_servers(&self.caller.routes, &self.options).await
    }

    pub(crate) fn shard(&self, id: MatchId) -> Shard {
        Shard::of(id, self.shards)
    }

    /// Where a match or an invite lies.
    pub(crate) fn place(&self, id: MatchId) -> Place {
        self.names.shard(self.shard(id))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("at", &self.options.location).finish_non_exhaustive()
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}
