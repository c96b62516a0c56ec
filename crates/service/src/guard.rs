//! Streams and work that may panic.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::stream::{BoxStream, Stream, StreamExt as _};
use tonic::Status;

use crate::convert::errors;
use crate::stats::OpenStream;

/// A stream that ends with INTERNAL where its producer panics. That must never look like an end: the
/// client is told, and resumes. `whose` says for the log which stream it was. It counts as `open` until it is
/// dropped.
pub(crate) fn guarded<T: 'static>(
    updates: impl Stream<Item = Result<T, Status>> + Send + 'static,
    whose: String,
    open: OpenStream,
) -> BoxStream<'static, Result<T, Status>> {
    let caught = AssertUnwindSafe(updates).catch_unwind();
    let items = caught.map(move |item| {
        let _open = &open;
        match item {
            Ok(item) => item,
            Err(_) => Err(errors::incident(&format!("the producer of {whose} panicked")).into()),
        }
    });
    items.boxed()
}

/// The outcome of what a node does by itself; none if it panicked. A match or a pool that makes its node panic
/// must not stop the work on all others, nor end the server, and at its next start the same again.
pub(crate) async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}
