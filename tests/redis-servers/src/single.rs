//! One server on its own.

use crate::ground::Ground;
use crate::{Error, FaultProxy, Flavor, Options, Server, Servers};

/// One server, without replicas.
///
/// Dropping it ends the process and removes its files.
#[derive(Debug)]
pub struct Single {
    // Dropped in this order: the process ends before its files go.
    server: Server,
    ground: Ground,
}

impl Single {
    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// The program is missing, or it does not start.
    pub async fn start(flavor: Flavor, options: &Options) -> Result<Self, Error> {
        let mut ground = Ground::claim()?;
        Ok(Self { server: ground.server(flavor, 0, options).await?, ground })
    }

    /// The server, to be asked and to meet faults.
    #[must_use]
    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// `redis://address:port`
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.server.public())
    }
}

impl Servers for Single {
    fn servers(&self) -> &[Server] {
        std::slice::from_ref(&self.server)
    }

    fn proxies(&self) -> &[FaultProxy] {
        &self.ground.proxies
    }
}
