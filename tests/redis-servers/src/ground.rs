//! What a set of servers stands on: an address, a folder, and proxies where a test wants them.

use crate::loopback::Loopback;
use crate::scratch::Scratch;
use crate::server::{Place, Role};
use crate::{Error, FaultProxy, Flavor, Options, Server};

/// Held by a set until its processes have ended.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) proxies: Vec<FaultProxy>,
    loopback: Loopback,
    dir: Scratch,
}

impl Ground {
    /// A place for servers that nobody else has.
    pub(crate) fn claim() -> Result<Self, Error> {
        Ok(Self { proxies: Vec::new(), loopback: Loopback::claim()?, dir: Scratch::new()? })
    }

    /// Where the server with this number is, with these options.
    pub(crate) fn place(&self, number: u16, options: &Options) -> Place {
        let address = self.loopback.server(number);
        let public = if options.proxied { self.loopback.proxy(number) } else { address };
        Place { address, public }
    }

    /// Starts a server that holds data, and its proxy if it has one.
    pub(crate) async fn server(
        &mut self,
        flavor: Flavor,
        number: u16,
        options: &Options,
    ) -> Result<Server, Error> {
        let place = self.place(number, options);
        if options.proxied {
            self.proxies.push(FaultProxy::listen(place.public, place.address).await?);
        }
        let folder = self.dir.path().join(number.to_string());
        Server::start(flavor, Role::Data, place, folder, options).await
    }

    /// Starts a sentinel; its number is none of a server's.
    pub(crate) async fn sentinel(
        &self,
        flavor: Flavor,
        number: u16,
        options: &Options,
    ) -> Result<Server, Error> {
        let folder = self.dir.path().join(number.to_string());
        Server::start(flavor, Role::Sentinel, self.place(number, options), folder, options).await
    }
}
