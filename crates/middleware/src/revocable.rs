//! A body that is taken from whoever holds it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

pin_project! {
    /// A body as a response holds it.
    #[project = HeldProjection]
    pub(crate) enum Held<B> {
        /// For as long as the response likes.
        Freely {
            #[pin]
            body: B,
        },
        /// Until a moment.
        Revocably {
            body: Revocable<B>,
        },
    }
}

impl<B> Held<B> {
    pub(crate) const fn freely(body: B) -> Self {
        Self::Freely { body }
    }

    /// Must be called within the runtime.
    pub(crate) fn until(at: Instant, body: B) -> Self
    where
        B: Send + 'static,
    {
        Self::Revocably { body: Revocable::at(at, body) }
    }
}

type Shared<B> = Arc<Mutex<Option<Pin<Box<B>>>>>;

/// A body that is dropped at a moment with all that it holds, polled or not: a transport whose peer does
/// not read has no reason to poll it.
pub(crate) struct Revocable<B> {
    body: Shared<B>,
    revoking: AbortHandle,
}

impl<B: Send + 'static> Revocable<B> {
    fn at(at: Instant, body: B) -> Self {
        let body = Arc::new(Mutex::new(Some(Box::pin(body))));
        let revoked = Arc::clone(&body);
        let revoking = tokio::spawn(async move {
            sleep_until(at).await;
            let body = lock(&revoked).take();
            drop(body);
        });
        Self { body, revoking: revoking.abort_handle() }
    }
}

/// A body whose poll panicked is polled no more.
fn lock<B>(body: &Shared<B>) -> MutexGuard<'_, Option<Pin<Box<B>>>> {
    body.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B> Drop for Revocable<B> {
    fn drop(&mut self) {
        self.revoking.abort();
        // The task may take a moment to end, and shares the body until then.
        let body = lock(&self.body).take();
        drop(body);
    }
}

/// A revoked body stays pending for ever: its holder has an alarm of his own.
impl<B: Body> Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.project() {
            HeldProjection::Freely { body } => body.poll_frame(cx),
            HeldProjection::Revocably { body } => {
                lock(&body.body).as_mut().map_or(Poll::Pending, |body| body.as_mut().poll_frame(cx))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Freely { body } => body.is_end_stream(),
            Self::Revocably { body } => lock(&body.body).as_ref().is_some_and(|body| body.is_end_stream()),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Freely { body } => body.size_hint(),
            Self::Revocably { .. } => SizeHint::default(),
        }
    }
}
