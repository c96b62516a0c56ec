//! The Redis servers under the nodes of a run.

use std::time::Duration;

use anyhow::{Context as _, bail};
use redis_servers::{ClusterServers, FaultProxy, Flavor, Options, Sentinel, Server, Servers as _, Single};

/// The longest servers may take until all are in order again.
const IN_ORDER_MAX: Duration = Duration::from_secs(60);

/// Which servers, and when a write to them is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Store {
    /// One server.
    Single,
    /// One server, behind a network that fails on demand.
    FarAway,
    /// A primary and two replicas; acknowledged once the primary has it.
    Sentinel,
    /// A primary and two replicas; acknowledged once so many replicas have it, too.
    SentinelReplicas(u16),
    /// Three primaries with a replica each; acknowledged once the primary has it.
    Cluster,
    /// The same; acknowledged once the replica has it, too.
    ClusterReplica,
}

impl Store {
    /// For a report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Single | Self::FarAway => "single primary",
            Self::Sentinel => "sentinel primary",
            Self::SentinelReplicas(1) => "sentinel replicas=1",
            Self::SentinelReplicas(_) => "sentinel replicas=2",
            Self::Cluster => "cluster primary",
            Self::ClusterReplica => "cluster replicas=1",
        }
    }

    /// As `wts serve --durability` has it.
    pub(crate) fn durability(self) -> String {
        match self {
            Self::Single | Self::FarAway | Self::Sentinel | Self::Cluster => "primary".to_owned(),
            Self::SentinelReplicas(count) => format!("replicas={count}"),
            Self::ClusterReplica => "replicas=1".to_owned(),
        }
    }
}

/// Running servers.
pub(crate) enum Backing {
    Single(Single),
    Sentinel(Sentinel),
    Cluster(ClusterServers),
}

impl Backing {
    pub(crate) async fn start(store: Store, flavor: Flavor) -> anyhow::Result<Self> {
        let options = Options::new();
        Ok(match store {
            Store::Single => Self::Single(Single::start(flavor, &options).await?),
            Store::FarAway => Self::Single(Single::start(flavor, &options.behind_proxies()).await?),
            Store::Sentinel => Self::Sentinel(Sentinel::start(flavor, &options).await?),
            Store::SentinelReplicas(count) => {
                Self::Sentinel(Sentinel::start(flavor, &options.min_replicas_to_write(count)).await?)
            }
            Store::Cluster => Self::Cluster(ClusterServers::start(flavor, 3, 1, &options).await?),
            Store::ClusterReplica => {
                let options = options.min_replicas_to_write(1);
                Self::Cluster(ClusterServers::start(flavor, 3, 1, &options).await?)
            }
        })
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Single(single) => single.url(),
            Self::Sentinel(sentinel) => sentinel.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// The networks in front of the servers.
    pub(crate) fn networks(&self) -> &[FaultProxy] {
        match self {
            Self::Single(single) => single.proxies(),
            Self::Sentinel(sentinel) => sentinel.proxies(),
            Self::Cluster(cluster) => cluster.proxies(),
        }
    }

    pub(crate) fn sentinel(&self) -> anyhow::Result<&Sentinel> {
        let Self::Sentinel(sentinel) = self else { bail!("these servers have no sentinels") };
        Ok(sentinel)
    }

    pub(crate) fn cluster(&self) -> anyhow::Result<&ClusterServers> {
        let Self::Cluster(cluster) = self else { bail!("these servers are no cluster") };
        Ok(cluster)
    }

    pub(crate) async fn script_flush_all(&self) -> anyhow::Result<()> {
        match self {
            Self::Single(single) => single.script_flush_all().await?,
            Self::Sentinel(sentinel) => sentinel.script_flush_all().await?,
            Self::Cluster(cluster) => cluster.script_flush_all().await?,
        }
        Ok(())
    }

    pub(crate) async fn client_kill_all(&self) -> anyhow::Result<()> {
        match self {
            Self::Single(single) => single.client_kill_all().await?,
            Self::Sentinel(sentinel) => sentinel.client_kill_all().await?,
            Self::Cluster(cluster) => cluster.client_kill_all().await?,
        }
        Ok(())
    }

    /// The servers that take writes.
    pub(crate) async fn primaries(&self) -> anyhow::Result<Vec<&Server>> {
        Ok(match self {
            Self::Single(single) => vec![single.server()],
            Self::Sentinel(sentinel) => vec![sentinel.primary().await?],
            Self::Cluster(cluster) => cluster.primaries().await?,
        })
    }

    /// Starts what is dead and waits until all are in order.
    pub(crate) async fn heal(&self) -> anyhow::Result<()> {
        match self {
            Self::Single(_) => {}
            Self::Sentinel(sentinel) => sentinel.wait_until_ok(IN_ORDER_MAX).await?,
            Self::Cluster(cluster) => cluster.wait_until_ok(IN_ORDER_MAX).await?,
        }
        Ok(())
    }

    /// How many matches wait for a deadline or for work.
    pub(crate) async fn waiting(&self) -> anyhow::Result<usize> {
        let mut waiting = 0;
        for primary in self.primaries().await? {
            for key in primary.ask(&["KEYS", "wts:{s*}:due"]).await?.elements() {
                let count = primary.ask(&["ZCARD", key.text()]).await?.number().context("a count")?;
                waiting += usize::try_from(count)?;
            }
        }
        Ok(waiting)
    }
}
