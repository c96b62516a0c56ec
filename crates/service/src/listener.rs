//! The listener: a bounded number of connections, of all and of each peer.
//!
//! Anybody who reaches the port can open connections, before any credential is looked at. So what one
//! costs is bounded here, and a shortage of descriptors slows the node down instead of ending it.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use middleware::{Limit, PeerAddress, Refusals};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tracing::warn;

/// The pause after a failed accept. Without descriptors it fails again at once, and trying without a pause
/// takes the whole core that could free some.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The connections that come to `listener`, at most `connections_max` (at least 1) at a time. Others wait
/// in the kernel's backlog until one ends. Those of a peer that has `per_peer_max` already are closed at once.
pub(crate) fn connections(
    listener: TcpListener,
    connections_max: usize,
    per_peer_max: usize,
    refusals: Arc<Refusals>,
) -> BoxStream<'static, Accepted> {
    let permits = Arc::new(Semaphore::new(connections_max.clamp(1, Semaphore::MAX_PERMITS)));
    let peers = Peers { open: Arc::default(), per_peer_max };
    stream::unfold((listener, permits, peers), move |(listener, permits, peers)| {
        let refusals = Arc::clone(&refusals);
        async move {
            // Nobody closes the semaphore, so the stream has no end.
            let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
            loop {
                let (stream, address) = accept(|| listener.accept()).await;
                let address = PeerAddress::from(address.ip());
                let Some(place) = peers.place(address) else {
                    refusals.count(Limit::ConnectionsPerPeer);
                    continue;
                };
                let Ok(stream) = stream.into_std() else { continue };
                let accepted = Accepted { stream, address, place: (place, permit) };
                return Some((accepted, (listener, permits, peers)));
            }
        }
    })
    .boxed()
}

/// How many connections each peer has. Looked at when one begins or ends, not by calls.
struct Peers {
    open: Arc<Mutex<HashMap<PeerAddress, usize>>>,
    per_peer_max: usize,
}

impl Peers {
    /// A place for one more of this peer's; none if he has as many as he may.
    fn place(&self, address: PeerAddress) -> Option<PeerPlace> {
        let mut open = lock(&self.open);
        let count = open.entry(address).or_default();
        if *count >= self.per_peer_max {
            return None;
        }
        *count += 1;
        Some(PeerPlace { open: Arc::clone(&self.open), address })
    }
}

fn lock(open: &Mutex<HashMap<PeerAddress, usize>>) -> MutexGuard<'_, HashMap<PeerAddress, usize>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection's place among its peer's, free again once it is dropped.
#[derive(Debug)]
struct PeerPlace {
    open: Arc<Mutex<HashMap<PeerAddress, usize>>>,
    address: PeerAddress,
}

impl Drop for PeerPlace {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// A connection that no runtime has yet.
pub(crate) struct Accepted {
    stream: std::net::TcpStream,
    address: PeerAddress,
    place: (PeerPlace, OwnedSemaphorePermit),
}

impl Accepted {
    /// The connection on the runtime of the caller, which serves it; `worker` is told when it ends. None,
    /// which is logged, if the system refuses.
    pub(crate) fn open(self, worker: Option<Arc<()>>) -> Option<Connection> {
        let Self { stream, address, place } = self;
        match TcpStream::from_std(stream) {
            Ok(stream) => {
                // It fails only if the peer is gone already, which the first read tells.
                let _ = stream.set_nodelay(true);
                Some(Connection { stream, address, _place: (place, worker) })
            }
            Err(error) => {
                warn!(%error, "an accepted connection cannot be served");
                None
            }
        }
    }
}

/// Accepts one connection, however often that fails: a peer that left early, no descriptor free.
async fn accept<S, F>(mut accept_one: impl FnMut() -> F) -> S
where
    F: Future<Output = io::Result<S>>,
{
    let mut told = false;
    loop {
        match accept_one().await {
            Ok(accepted) => return accepted,
            Err(error) if !told => {
                warn!(%error, "no connection can be accepted; trying again");
                told = true;
            }
            Err(_) => {}
        }
        sleep(ACCEPT_PAUSE).await;
    }
}

/// One accepted connection. Its places are free again once it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    // Fields are dropped in this order: the descriptor is closed before the places are given away.
    stream: TcpStream,
    address: PeerAddress,
    _place: ((PeerPlace, OwnedSemaphorePermit), Option<Arc<()>>),
}

impl Connection {
    /// Where its peer is.
    pub(crate) const fn address(&self) -> PeerAddress {
        self.address
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future;
    use std::time::Instant;

    use super::*;

    /// Too many open files, in the process and in the system; a connection that its peer gave up.
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    const ECONNABORTED: i32 = 103;

    #[tokio::test]
    async fn a_failed_accept_is_tried_again_after_a_pause() {
        let start = Instant::now();
        let mut failures = [EMFILE, ENFILE, ECONNABORTED].into_iter();
        let accepted = accept(|| {
            future::ready(match failures.next() {
                Some(code) => Err(io::Error::from_raw_os_error(code)),
                None => Ok("a connection"),
            })
        });
        assert_eq!(accepted.await, "a connection");
        assert!(start.elapsed() >= ACCEPT_PAUSE * 3, "it spins");
    }
}
