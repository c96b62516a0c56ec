//! What every set of servers can do and suffer.

use std::future::Future;

use crate::{Error, FaultProxy, Life, Server};

/// A set of servers that hold data.
pub trait Servers: Sync {
    /// All of them, also those that are stopped or dead. Sentinels hold no data.
    fn servers(&self) -> &[Server];

    /// The proxies in front of them, in the same order; none without
    /// [`Options::behind_proxies`](crate::Options::behind_proxies).
    fn proxies(&self) -> &[FaultProxy];

    /// Those whose process runs.
    fn running(&self) -> Vec<&Server> {
        self.servers().iter().filter(|server| server.life() == Life::Running).collect()
    }

    /// The server that others find here.
    fn server_at(&self, address: &str) -> Option<&Server> {
        self.servers().iter().find(|server| server.public().to_string() == address)
    }

    /// Makes every running server forget every script.
    ///
    /// # Errors
    /// One does not answer.
    fn script_flush_all(&self) -> impl Future<Output = Result<(), Error>> + Send {
        async { everywhere(&self.running(), &["SCRIPT", "FLUSH", "SYNC"]).await }
    }

    /// Closes every connection of a client, also those that subscribe; replication goes on.
    ///
    /// # Errors
    /// A running server does not answer.
    fn client_kill_all(&self) -> impl Future<Output = Result<(), Error>> + Send {
        async {
            everywhere(&self.running(), &["CLIENT", "KILL", "TYPE", "normal"]).await?;
            everywhere(&self.running(), &["CLIENT", "KILL", "TYPE", "pubsub"]).await
        }
    }
}

async fn everywhere(servers: &[&Server], command: &[&str]) -> Result<(), Error> {
    for server in servers {
        server.ask(command).await?;
    }
    Ok(())
}
