//! A connection on which somebody has to speak.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How many bytes show that somebody speaks: HTTP/2's preface. Every useful HTTP/1 request is longer.
const FIRST_BYTES: usize = 24;

/// Fails to be read once its peer has taken too long for its first bytes.
pub(crate) struct FirstBytes<Io> {
    io: Io,
    due: Option<Due>,
}

/// What a connection still has to say, and until when.
struct Due {
    missing: usize,
    timeout: Pin<Box<Sleep>>,
}

impl<Io> FirstBytes<Io> {
    /// The connection, whose first bytes have to come within this time.
    pub(crate) fn within(timeout: Duration, io: Io) -> Self {
        Self { io, due: Some(Due { missing: FIRST_BYTES, timeout: Box::pin(sleep(timeout)) }) }
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for FirstBytes<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, buffer);
        let Some(due) = &mut self.due else { return polled };
        let read = buffer.filled().len().saturating_sub(filled);
        due.missing = due.missing.saturating_sub(read);
        if due.missing == 0 {
            self.due = None;
        } else if polled.is_pending() && due.timeout.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for FirstBytes<Io> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
