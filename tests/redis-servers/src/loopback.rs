//! An address of the loopback network for one set of servers.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::Error;

/// Where the first server of a set listens. Below the ports that the system hands out by itself, with room for
/// the cluster bus, which listens 10,000 higher.
const FIRST_PORT: u16 = 21_001;

/// Where the first server's proxy listens: above the servers.
const FIRST_PROXY_PORT: u16 = 21_101;

/// Held for as long as the address is in use.
const CLAIM_PORT: u16 = 21_000;

/// Addresses tried before giving up: with millions of them, two are seldom the same.
const TRIES_MAX: usize = 100;

/// An address `127.x.y.z` that no other set of servers has, in this process or another.
///
/// A free *port* of a shared address would be free only until somebody takes it, for instance while its server
/// is killed and not yet started again. An address of its own stays free.
#[derive(Debug)]
pub(crate) struct Loopback {
    address: Ipv4Addr,
    _claim: TcpListener,
}

impl Loopback {
    /// Claims an address.
    ///
    /// # Errors
    /// [`Error::Io`] if none can be claimed: the system is no Linux.
    pub(crate) fn claim() -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let [x, y, z, ..] = RandomState::new().hash_one(tries).to_le_bytes();
            // 127.0.*.* is left to everybody else; 0 and 255 at the end look like a network's own.
            let address = Ipv4Addr::new(127, x.max(1), y, z.clamp(1, 254));
            match TcpListener::bind((address, CLAIM_PORT)) {
                Ok(claim) => return Ok(Self { address, _claim: claim }),
                Err(_) if tries < TRIES_MAX => {}
                Err(error) => return Err(Error::io("claiming a loopback address")(error)),
            }
        }
    }

    /// Where the server with this number listens, from 0.
    pub(crate) fn server(&self, number: u16) -> SocketAddr {
        SocketAddr::from((self.address, FIRST_PORT + number))
    }

    /// Where the proxy in front of that server listens.
    pub(crate) fn proxy(&self, number: u16) -> SocketAddr {
        SocketAddr::from((self.address, FIRST_PROXY_PORT + number))
    }
}
