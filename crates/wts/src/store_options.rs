//! Where a server keeps its matches: in a directory, in memory, or in a Redis that it shares with other nodes.

use std::fmt;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use referee::Stamp;
use store::keys::{KeySource, Keys, KeysError, Role};
use store::{Clock, FeedLimits, Store};
use store_embedded::{EmbeddedStore, Options as EmbeddedOptions, VolatileStore};
use store_redis::{Durability, Location, OpenError, Options, RedisStore, Tls};

use crate::data_directory;

/// What makes the keys that nodes share.
const NEW_KEYS: &str = "`wts keys new FILE` makes such a file, once for all nodes of a store";

/// A day: a back end that is down for longer has more to mend than its feed.
const FEED_HOURS_DEFAULT: u32 = 24;

/// A month, hours: what happened earlier is in the back end's own records.
const FEED_HOURS_MAX: i64 = 31 * 24;

/// Options that say where matches are kept.
#[derive(Args)]
pub(crate) struct StoreOptions {
    /// Where matches and keys are kept; made at the first start. What is acknowledged survives the end of
    /// the process and of the power. A store whose keys are not there is not served
    #[arg(long, env = "WTS_DATA", value_name = "DIR", default_value = "wts-data")]
    data: PathBuf,

    /// Keep everything in memory: matches and keys end with this process
    #[arg(long, env = "WTS_VOLATILE", conflicts_with = "data")]
    volatile: bool,

    /// Make new keys for a store whose keys are lost for good. With the old ones go: moves that are sealed
    /// and unresolved (a match that waits with one is void), signatures of receipts that are asked for again,
    /// all tokens, join secrets of open invites, repetitions of requests
    #[arg(long, conflicts_with = "volatile")]
    new_keys: bool,

    /// Days for which a finished match can be read, in a directory or in memory: at least 1
    #[arg(
        long,
        env = "WTS_RETENTION_DAYS",
        value_name = "DAYS",
        default_value_t = EmbeddedOptions::RETENTION_DAYS_DEFAULT,
        value_parser = clap::value_parser!(u32)
            .range(i64::from(EmbeddedOptions::RETENTION_DAYS_MIN)..=i64::from(EmbeddedOptions::RETENTION_DAYS_MAX)),
        conflicts_with = "store"
    )]
    retention_days: u32,

    /// Hours for which a back end can read what happened in all matches (`WatchFeed`); at most a million entries are
    /// kept, whatever their age. 0 switches the feed off. 24 if not given and there is a `--backend`, else 0. All
    /// nodes of a store are to have the same
    #[arg(
        long,
        env = "WTS_FEED_HOURS",
        value_name = "HOURS",
        value_parser = clap::value_parser!(u32).range(0..=FEED_HOURS_MAX)
    )]
    feed_hours: Option<u32>,

    /// Keep matches in a Redis or Valkey that any number of nodes share: `redis://HOST:PORT`,
    /// `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE` or `redis+cluster://HOST:PORT,HOST:PORT`, with `USER:PASSWORD@` before
    /// the hosts where it asks for that; `rediss` in the place of `redis` speaks TLS. Needs `--keys`. A
    /// password belongs in the environment: others can see the arguments of a process
    #[arg(
        long,
        env = "WTS_STORE",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with_all = ["data", "volatile", "new_keys"]
    )]
    store: Option<String>,

    /// The keys of a `--store`: a file that is the same for all its nodes. `wts keys new` makes one
    #[arg(long, env = "WTS_KEYS", value_name = "FILE", requires = "store")]
    keys: Option<PathBuf>,

    #[command(flatten)]
    redis: RedisOptions,
}

/// How to reach a Redis and when its writes count; whoever uses it has its address as the argument `store`.
#[derive(Args)]
pub(crate) struct RedisOptions {
    /// When a write to `--store` is acknowledged. `primary`: when the primary has it; `replicas=N`: when N
    /// replicas have it too, which alone survives the death of the primary
    #[arg(
        long,
        env = "WTS_DURABILITY",
        value_name = "DURABILITY",
        default_value = "primary",
        value_parser = parse_durability,
        requires = "store"
    )]
    durability: Durability,

    /// The certificates, PEM, that servers of a `rediss` store must be signed by. Those that the system trusts
    /// if not given
    #[arg(long, env = "WTS_STORE_CA", value_name = "FILE", requires = "store")]
    store_ca: Option<PathBuf>,

    /// This node's certificate, PEM, for servers of a `rediss` store that ask for one
    #[arg(long, env = "WTS_STORE_CERT", value_name = "FILE", requires = "store_cert_key")]
    store_cert: Option<PathBuf>,

    /// The private key of `--store-cert`, PEM
    #[arg(long, env = "WTS_STORE_CERT_KEY", value_name = "FILE", requires = "store_cert")]
    store_cert_key: Option<PathBuf>,
}

/// A store that is open, and its keys.
pub(crate) struct Opened {
    pub(crate) keys: Keys,
    pub(crate) store: Arc<dyn Store>,
    /// The same store, if it is in a directory.
    pub(crate) embedded: Option<Arc<EmbeddedStore>>,
}

impl StoreOptions {
    /// Opens the store, or begins it where there is none. Must be called within the runtime that lives as
    /// long as the store. `has_reader`: there is a back end, which may read the feed.
    ///
    /// # Errors
    /// The store or its keys cannot be had; the error says what to do.
    pub(crate) async fn open(&self, clock: Arc<dyn Clock>, has_reader: bool) -> anyhow::Result<Opened> {
        let feed = self.feed(has_reader);
        if let Some(url) = &self.store {
            return self.open_redis(url, feed).await;
        }
        if self.volatile {
            let keys = KeySource::Ephemeral.load(Stamp::from_ms(clock.now_ms()))?;
            let store = VolatileStore::new(clock).with_retention_days(self.retention_days).with_feed(feed);
            return Ok(Opened { keys, store: Arc::new(store), embedded: None });
        }
        let options = EmbeddedOptions::default().with_retention_days(self.retention_days);
        let (keys, store) = data_directory::open(&self.data, self.new_keys, clock, options)?;
        let store = Arc::new(store.with_feed(feed));
        Ok(Opened { keys, store: Arc::clone(&store) as Arc<dyn Store>, embedded: Some(store) })
    }

    async fn open_redis(&self, url: &str, feed: Option<FeedLimits>) -> anyhow::Result<Opened> {
        let location = location(url)?;
        let Some(file) = &self.keys else {
            bail!(
                "--store needs --keys FILE: whatever one node seals or signs, every other must be able to \
                 open and repeat. {NEW_KEYS}"
            );
        };
        let keys = Keys::load(file).map_err(|error| match error {
            KeysError::Missing { .. } => anyhow!("{error}. {NEW_KEYS}"),
            error => error.into(),
        })?;
        let store = self.redis.open(location, &keys, feed).await?;
        store.check_keys(&lasting_id(&keys)).await.map_err(advised)?;
        Ok(Opened { keys, store: Arc::new(store), embedded: None })
    }

    /// How long a finished match can be read.
    pub(crate) fn retention(&self) -> Duration {
        let days =
            if self.store.is_some() { EmbeddedOptions::RETENTION_DAYS_DEFAULT } else { self.retention_days };
        Duration::from_secs(u64::from(days) * 24 * 60 * 60)
    }

    /// How much of a feed is kept. It costs a fifth of the store's CPU, so there is none that nobody can read.
    fn feed(&self, has_reader: bool) -> Option<FeedLimits> {
        let hours = self.feed_hours.unwrap_or(if has_reader { FEED_HOURS_DEFAULT } else { 0 });
        let retention_ms = u64::from(hours) * 60 * 60 * 1_000;
        (retention_ms > 0).then_some(FeedLimits { retention_ms, ..FeedLimits::default() })
    }

    /// The file that keys are in, unless they end with the process.
    pub(crate) fn key_file(&self) -> Option<PathBuf> {
        match &self.keys {
            Some(file) => Some(file.clone()),
            None => (!self.volatile).then(|| self.data.join(KeySource::FILE_NAME)),
        }
    }

    /// The directory that matches are kept in, if that is where they are.
    pub(crate) fn directory(&self) -> &Path {
        &self.data
    }

    /// The same, if the store is in it.
    pub(crate) fn own_directory(&self) -> Option<&Path> {
        (!self.volatile && self.store.is_none()).then_some(self.data.as_path())
    }
}

impl RedisOptions {
    /// Opens the store that is there, or begins it, with so much of a feed.
    ///
    /// # Errors
    /// It cannot be reached, or does not suit; the error says what to do.
    pub(crate) async fn open(
        &self,
        location: Location,
        keys: &Keys,
        feed: Option<FeedLimits>,
    ) -> anyhow::Result<RedisStore> {
        let options = Options::new(location)
            .with_durability(self.durability)
            .with_tls(self.certificates()?)
            .with_feed(feed);
        RedisStore::open(options, keys.keyring()).await.map_err(advised)
    }

    fn certificates(&self) -> anyhow::Result<Tls> {
        let read = |path: &PathBuf| std::fs::read(path).with_context(|| path.display().to_string());
        let client = match (&self.store_cert, &self.store_cert_key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        Ok(Tls { root: self.store_ca.as_ref().map(read).transpose()?, client })
    }
}

/// Reads the address of a store. What cannot be read may still have a password in it, so it is not repeated.
pub(crate) fn location(url: &str) -> anyhow::Result<Location> {
    url.parse().context("the address of the store cannot be read")
}

/// For whoever starts the server. A password is not shown.
impl fmt::Display for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.store {
            Some(url) => write!(f, "matches are kept in {}", without_password(url)),
            None if self.volatile => f.write_str("matches are kept in memory: they end with this process"),
            None => write!(f, "matches are kept in {}", self.data.display()),
        }
    }
}

/// A store's address line as it may be shown.
pub(crate) fn without_password(url: &str) -> String {
    match url.parse::<Location>() {
        Ok(location) => location.to_string(),
        // It may be in any place of what cannot be read.
        Err(_) => "(cannot be read)".to_owned(),
    }
}

fn parse_durability(text: &str) -> Result<Durability, &'static str> {
    let count = text.strip_prefix("replicas=").map(str::parse::<NonZeroU8>);
    match (text, count) {
        ("primary", _) => Ok(Durability::Primary),
        (_, Some(Ok(count))) => Ok(Durability::Replicas(count)),
        _ => Err("it is `primary`, or `replicas=` and a number from 1 to 255"),
    }
}

/// The id of the key that is never rotated: that of the whole set.
pub(crate) fn lasting_id(keys: &Keys) -> String {
    let lasting = keys.facts().into_iter().find(|key| key.role == Role::Request);
    lasting.map(|key| key.id.to_string()).unwrap_or_default()
}

fn advised(error: OpenError) -> anyhow::Error {
    let advice = advice(&error);
    anyhow::Error::new(error).context(advice)
}

/// What to do about a store that does not open.
fn advice(error: &OpenError) -> &'static str {
    match error {
        OpenError::Unreachable { .. } => {
            "the store cannot be opened: see that its servers run, that this machine reaches them, and that \
             --store has the right user and password"
        }
        OpenError::Certificates { .. } => "the store cannot be opened: see --store-ca and --store-cert",
        OpenError::Location { .. }
        | OpenError::Namespace
        | OpenError::TooOld { .. }
        | OpenError::Evicts { .. }
        | OpenError::OtherShape { .. }
        | OpenError::TooFewReplicas { .. }
        | OpenError::NewerSchema { .. }
        | OpenError::OtherKeys { .. }
        | OpenError::HalfImported { .. }
        | OpenError::Served { .. }
        | OpenError::DamagedMeta => "the store cannot be opened",
    }
}
