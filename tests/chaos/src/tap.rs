//! A client's connection, on which everything is overheard that it sends and receives.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use crate::secrets::{SALT_BYTES, Secrets, Who};

/// How long a node may take to accept a connection, before the next one is tried.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// How often a connection with open calls is pinged, and how long the answer may take: a network that
/// swallows everything shows within both.
const PING_EVERY: Duration = Duration::from_secs(1);
const PONG_MAX: Duration = Duration::from_secs(2);

/// A channel to any of the nodes, as through a balancer: it begins with the node numbered `first`, and each
/// time its connection is lost it goes on to the next one.
pub(crate) fn channel(nodes: &[SocketAddr], first: usize, who: Who, secrets: &Arc<Secrets>) -> Channel {
    let (nodes, next) = (nodes.to_vec(), Arc::new(AtomicUsize::new(first)));
    let secrets = Arc::clone(secrets);
    let connect = service_fn(move |_: Uri| {
        let node = nodes[next.fetch_add(1, Ordering::Relaxed) % nodes.len()];
        let secrets = Arc::clone(&secrets);
        async move {
            let stream = tokio::time::timeout(CONNECT_MAX, TcpStream::connect(node)).await??;
            stream.set_nodelay(true)?;
            io::Result::Ok(TokioIo::new(Tapped {
                stream,
                who,
                secrets,
                sent: Overheard::default(),
                received: Overheard::default(),
            }))
        }
    });
    // The connector decides where to.
    Endpoint::from_static("http://any-node")
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_MAX)
        .connect_with_connector_lazy(connect)
}

/// The end of what was overheard: what is sought may begin in one part and end in the next.
#[derive(Default)]
struct Overheard(Vec<u8>);

impl Overheard {
    fn hear(&mut self, bytes: &[u8], tell: impl FnOnce(&[u8])) {
        self.0.extend_from_slice(bytes);
        tell(&self.0);
        self.0.drain(..self.0.len().saturating_sub(SALT_BYTES - 1));
    }
}

struct Tapped {
    stream: TcpStream,
    who: Who,
    secrets: Arc<Secrets>,
    sent: Overheard,
    received: Overheard,
}

impl AsyncRead for Tapped {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut own.stream).poll_read(cx, buffer))?;
        let (who, secrets) = (own.who, &own.secrets);
        own.received.hear(&buffer.filled()[before..], |bytes| secrets.receives(who, bytes));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tapped {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let count = ready!(Pin::new(&mut own.stream).poll_write(cx, bytes))?;
        let (who, secrets) = (own.who, &own.secrets);
        own.sent.hear(&bytes[..count], |bytes| secrets.sends(who, bytes));
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
