//! A store, and how it is opened.

use std::fmt;
use std::num::NonZeroU8;
use std::sync::Arc;

use redis::{ClientTlsConfig, TlsCertificates};
use sealing::MatchId;
use store::codec::Keyring;
use store::{Clock, FeedLimits, Shard};
use tokio::task::AbortHandle;

use crate::caller::Caller;
use crate::dues::Dues;
use crate::error::OpenError;
use crate::feed::{FeedEnds, FeedLookout};
use crate::hub::Hub;
use crate::line::Dialer;
use crate::location::{Location, Shape};
use crate::names::{self, Names, Place};
use crate::recent::Recent;
use crate::routes::Routes;
use crate::scripts::{Scripts, Variant};
use crate::start;
use crate::turnstile::Turnstiles;
use crate::watching::Lookout;

/// What a certificate in PEM begins with. A file without one would be taken for trusting nobody.
const PEM_CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";

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
    /// Certificates for TLS, where the location asks for it.
    pub tls: Tls,
    /// How much of a feed is kept; none: there is no feed. All nodes of a store are to say the same: what a node
    /// without a feed commits is in none.
    pub feed: Option<FeedLimits>,
}

/// Certificates for TLS, in PEM. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct Tls {
    /// Whose certificates are trusted; none: those that the system trusts.
    pub root: Option<Vec<u8>>,
    /// A certificate and its key by which servers know a node, if they ask for one.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    fn certificates(&self) -> Result<TlsCertificates, OpenError> {
        let is_none = |pem: &Vec<u8>| !pem.windows(PEM_CERTIFICATE.len()).any(|part| part == PEM_CERTIFICATE);
        if self.root.as_ref().is_some_and(is_none) {
            return Err(OpenError::Certificates { why: "there is none to trust".to_owned() });
        }
        let client = self.client.clone();
        let client_tls = client.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
        Ok(TlsCertificates { client_tls, root_cert: self.root.clone() })
    }
}

impl Options {
    /// Keys begin with `wts`; writes count when the primary has them; there is a feed.
    #[must_use]
    pub fn new(location: Location) -> Self {
        let (durability, tls) = (Durability::default(), Tls::default());
        Self { location, durability, namespace: "wts".to_owned(), tls, feed: Some(FeedLimits::default()) }
    }

    /// The same, with certificates.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls, ..self }
    }

    /// The same, with so much of a feed; none: without one.
    #[must_use]
    pub fn with_feed(self, feed: Option<FeedLimits>) -> Self {
        Self { feed, ..self }
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
    pub(crate) dues: Dues,
    pub(crate) turnstiles: Turnstiles,
    pub(crate) hub: Arc<Hub>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) feed_ends: Arc<FeedEnds>,
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
        let replicas = match options.durability {
            Durability::Primary => None,
            Durability::Replicas(replicas) => Some(replicas),
        };
        let variant = Variant {
            time_given: clock.is_some(),
            sharded: options.location.shape == Shape::Cluster,
            waits: replicas.is_some(),
            feed: options.feed.unwrap_or_default(),
        };
        let scripts = Arc::new(Scripts::new(variant));
        let recent = Arc::new(Recent::new(start::SHARDS_MAX, keyring.clone()));
        let hub = Arc::new(Hub::new(Arc::clone(&recent)));
        let location = Arc::new(options.location.clone());
        let primary_only = matches!(location.shape, Shape::Sentinel { .. });
        let dialer = Dialer::new(Arc::clone(&location), Arc::new(options.tls.certificates()?), primary_only);
        start::check_certificates(&dialer, &location)?;
        let routes = Arc::new(Routes::new(location, dialer, Arc::clone(&hub), variant, replicas));
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
        let feed_ends = Arc::new(FeedEnds::new(shards));
        let feed =
            FeedLookout { caller: Arc::clone(&caller), names: names.clone(), ends: Arc::clone(&feed_ends) };
        let tasks = vec![
            tokio::spawn(routes.keep()).abort_handle(),
            tokio::spawn(lookout.keep()).abort_handle(),
            tokio::spawn(feed.keep()).abort_handle(),
        ];
        let (dues, turnstiles) = (Dues::new(shards), Turnstiles::new());
        Ok(Self {
            feed_ends,
            names,
            scripts,
            keyring,
            shards,
            recent,
            dues,
            turnstiles,
            hub,
            caller,
            options,
            tasks,
        })
    }

    /// Checks that every server is still fit: as at the start.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    pub async fn check(&self) -> Result<(), OpenError> {
        start::check_servers(&self.caller.routes, &self.options).await
    }

    /// How the store was opened.
    pub(crate) const fn options(&self) -> &Options {
        &self.options
    }

    /// Where the store is, without a password.
    pub(crate) fn location(&self) -> String {
        self.options.location.to_string()
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
