//! One server on its own.

use tempfile::TempDir;

use crate::loopback::Loopback;
use crate::server::Role;
use crate::{Error, Flavor, Options, Server, Servers};

/// One server, without replicas.
///
/// Dropping it ends the process and removes its files.
#[derive(Debug)]
pub struct Single {
    // Dropped in this order: the process ends before its files go.
    server: Server,
    _dir: TempDir,
    _loopback: Loopback,
}

impl Single {
    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// The program is missing, or it does not start.
    pub async fn start(flavor: Flavor, options: &Options) -> Result<Self, Error> {
        let (loopback, dir) = (Loopback::claim()?, scratch()?);
        let place = loopback.place(0);
        let server = Server::start(flavor, Role::Data, place, dir.path().join("0"), options).await?;
        Ok(Self { server, _dir: dir, _loopback: loopback })
    }

    /// The server, to be asked and to meet faults.
    #[must_use]
    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// `redis://address:port`
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.server.address())
    }
}

impl Servers for Single {
    fn servers(&self) -> &[Server] {
        std::slice::from_ref(&self.server)
    }
}

/// A folder for the files of one set of servers.
pub(crate) fn scratch() -> Result<TempDir, Error> {
    tempfile::Builder::new().prefix("redis-servers-").tempdir().map_err(Error::io("making a scratch folder"))
}
