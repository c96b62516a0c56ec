//! The listener: a bounded number of connections, none of which stays without having said anything.
//!
//! Anybody who reaches the port can open connections, before any credential is looked at. So what one
//! costs is bounded here, and a shortage of descriptors slows the node down instead of ending it.

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::{Connected, TcpConnectInfo};
use tracing::warn;

/// How many bytes show that somebody speaks: HTTP/2's preface. Every useful HTTP/1 request is longer.
const FIRST_BYTES: usize = 24;

/// The pause after a failed accept. Without descriptors it fails again at once, and trying without a pause
/// takes the whole core that could free some.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The connections that come to `listener`, at most `connections_max` (at least 1) at a time. Others wait
/// in the kernel's backlog until one ends. A connection whose first bytes take longer than
/// `first_bytes_timeout` is closed.
pub(crate) fn connections(
    listener: TcpListener,
    connections_max: usize,
    first_bytes_timeout: Duration,
) -> BoxStream<'static, Accepted> {
    let permits = Arc::new(Semaphore::new(connections_max.clamp(1, Semaphore::MAX_PERMITS)));
    stream::unfold((listener, permits), move |(listener, permits)| async move {
        // Nobody closes the semaphore, so the stream has no end.
        let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
        let stream = accept(|| async { listener.accept().await?.0.into_std() }).await;
        Some((Accepted { stream, permit, first_bytes_timeout }, (listener, permits)))
    })
    .boxed()
}

/// A connection that no runtime has yet.
pub(crate) struct Accepted {
    stream: std::net::TcpStream,
    permit: OwnedSemaphorePermit,
    first_bytes_timeout: Duration,
}

impl Accepted {
    /// The connection on the runtime of the caller, which serves it; `worker` is told when it ends. None,
    /// which is logged, if the system refuses.
    pub(crate) fn open(self, worker: Option<Arc<()>>) -> Option<Result<Connection, Infallible>> {
        let Self { stream, permit, first_bytes_timeout } = self;
        match TcpStream::from_std(stream) {
            Ok(stream) => Some(Ok(Connection::new(stream, (permit, worker), first_bytes_timeout))),
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

/// One accepted connection. Its place is free again once it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    // Fields are dropped in this order: the descriptor is closed before the place is given away.
    stream: TcpStream,
    _place: (OwnedSemaphorePermit, Option<Arc<()>>),
    first_bytes: Option<FirstBytes>,
}

/// What a connection still has to say, and until when.
#[derive(Debug)]
struct FirstBytes {
    missing: usize,
    timeout: Pin<Box<Sleep>>,
}

impl Connection {
    fn new(
        stream: TcpStream,
        place: (OwnedSemaphorePermit, Option<Arc<()>>),
        first_bytes_timeout: Duration,
    ) -> Self {
        // It fails only if the peer is gone already, which the first read tells.
        let _ = stream.set_nodelay(true);
        let timeout = Box::pin(sleep(first_bytes_timeout));
        let first_bytes = Some(FirstBytes { missing: FIRST_BYTES, timeout });
        Self { stream, _place: place, first_bytes }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(first_bytes) = &mut self.first_bytes else { return polled };
        let read = buffer.filled().len().saturating_sub(filled);
        first_bytes.missing = first_bytes.missing.saturating_sub(read);
        if first_bytes.missing == 0 {
            self.first_bytes = None;
        } else if polled.is_pending() && first_bytes.timeout.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
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

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
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
