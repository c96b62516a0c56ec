//! Streams whose producer may panic.

use std::panic::AssertUnwindSafe;

use futures::stream::{BoxStream, Stream, StreamExt as _};
use tonic::Status;

use crate::convert::errors;

/// A stream that ends with INTERNAL where its producer panics. That must never look like an end: the
/// client is told, and resumes. `whose` says for the log which stream it was.
pub(crate) fn guarded<T: 'static>(
    updates: impl Stream<Item = Result<T, Status>> + Send + 'static,
    whose: String,
) -> BoxStream<'static, Result<T, Status>> {
    let caught = AssertUnwindSafe(updates).catch_unwind();
    let items = caught.map(move |item| match item {
        Ok(item) => item,
        Err(_) => Err(errors::incident(&format!("the producer of {whose} panicked")).into()),
    });
    items.boxed()
}
