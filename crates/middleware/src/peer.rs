//! Where a call comes from.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use tokio::sync::watch;

/// The bits of an IPv6 address that name a network: whoever has one network has 2^64 addresses in it.
const NETWORK_BITS: u32 = 64;

/// Whom an address stands for when peers are counted: an IPv4 address, or the /64 network of an IPv6 address.
///
/// ```
/// use middleware::PeerAddress;
///
/// let of = |text: &str| PeerAddress::from(text.parse::<std::net::IpAddr>().expect("an address"));
/// assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
/// assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
/// assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerAddress(IpAddr);

impl From<IpAddr> for PeerAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !(u128::MAX >> NETWORK_BITS);
                IpAddr::V6(Ipv6Addr::from(network))
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// The other end of a connection. In the extensions of every request that came over one, shared by all of them.
///
/// Whoever goes on after the answer has begun holds it: so its connection knows that it is in use.
#[derive(Debug)]
pub struct Peer {
    address: PeerAddress,
    backend: Option<Arc<str>>,
    leaving: watch::Receiver<bool>,
}

impl Peer {
    /// A peer at this address. `backend` is the name of the back end that its verified certificate is of;
    /// `leaving` has seen the value false, and the next one it is to see is true.
    #[must_use]
    pub const fn new(
        address: PeerAddress,
        backend: Option<Arc<str>>,
        leaving: watch::Receiver<bool>,
    ) -> Self {
        Self { address, backend, leaving }
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> PeerAddress {
        self.address
    }

    /// The back end that its certificate is of. Calls that show a credential of their own are not judged by it.
    #[must_use]
    pub const fn backend(&self) -> Option<&Arc<str>> {
        self.backend.as_ref()
    }

    /// Becomes true once its connection is to go: streams on it are to resume over another one.
    #[must_use]
    pub const fn leaving(&self) -> &watch::Receiver<bool> {
        &self.leaving
    }

    /// Whether its connection is to go: whether that has ever been set, or never will be.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.leaving.has_changed().unwrap_or(true)
    }
}
