//! A store in a Redis of its own, for any number of nodes.

use std::path::PathBuf;

use redis_servers::{Flavor, Options, Server as Redis, Single};
use referee::Stamp;
use store::keys::Keys;
use store::{Clock as _, SystemClock};
use tempfile::TempDir;

use crate::server::{Role, ServerProcess};

/// One Redis, without a file, and the keys that all nodes have.
pub(crate) struct SharedStore {
    single: Single,
    keys: PathBuf,
    _directory: TempDir,
}

impl SharedStore {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let single = Single::start(Flavor::Redis, &Options::new()).await?;
        let directory = TempDir::new()?;
        let keys = directory.path().join("keys");
        Keys::generate(Stamp::from_ms(SystemClock::start().now_ms())).save(&keys)?;
        Ok(Self { single, keys, _directory: directory })
    }

    /// Starts a node.
    pub(crate) async fn node(&self) -> anyhow::Result<ServerProcess> {
        ServerProcess::start(Role::Redis { url: &self.single.url(), keys: &self.keys }).await
    }

    /// Starts a node that tells this collector of itself.
    pub(crate) async fn told_node(&self, collector: &str) -> anyhow::Result<ServerProcess> {
        ServerProcess::start(Role::ToldRedis { url: &self.single.url(), keys: &self.keys, collector }).await
    }

    pub(crate) fn url(&self) -> String {
        self.single.url()
    }

    pub(crate) const fn redis(&self) -> &Redis {
        self.single.server()
    }
}
