//! The layer that ends calls at their deadline.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{HeaderMap, HeaderName, Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;
use tower::{Layer, Service};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::policy::Rpc;
use crate::revocable::Held;

/// The longest a unary call may take unless the layer is told otherwise, ms: far longer than any call
/// takes on a working server, and short enough that stuck ones do not pile up.
pub const UNARY_TIMEOUT_MAX_MS: u64 = 60 * 1_000;

const TIMEOUT_HEADER: HeaderName = HeaderName::from_static("grpc-timeout");

/// The most digits of a time-out, by the gRPC specification.
const TIMEOUT_DIGITS_MAX: usize = 8;

/// When a call ends, done or not. In the extensions of every request that has one: all unary calls, and
/// the streams whose client asked for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// The moment, by the runtime's clock.
    pub at: Instant,
}

/// Ends calls at the deadline that the client set (`grpc-timeout`), unary ones at the latest after a
/// maximum.
///
/// Whatever is at work then is dropped: a call before its answer, or the body of a stream with its
/// subscription, even where the client does not read. The client gets `DEADLINE_EXCEEDED`. A `grpc-timeout` that is not of gRPC's grammar is
/// ignored, as if it were not there.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineLayer {
    unary_max: Duration,
}

impl DeadlineLayer {
    /// A layer that gives a unary call no more than `unary_max`.
    #[must_use]
    pub const fn new(unary_max: Duration) -> Self {
        Self { unary_max }
    }

    /// Until when there must be an answer, and until when its body may go on: a stream may for as long
    /// as its client has asked for, but one whose request never comes is not waited for any longer than
    /// for another call.
    fn limits(self, streams: bool, headers: &HeaderMap) -> Limits {
        let now = Instant::now();
        let asked = timeout(headers);
        let answer = now + asked.unwrap_or(self.unary_max).min(self.unary_max);
        // A time-out beyond what the clock can count is none.
        let body = if streams { asked.and_then(|asked| now.checked_add(asked)) } else { Some(answer) };
        Limits { answer, body }
    }
}

/// The moments by which a call has to come to something.
struct Limits {
    answer: Instant,
    body: Option<Instant>,
}

/// [`UNARY_TIMEOUT_MAX_MS`].
impl Default for DeadlineLayer {
    fn default() -> Self {
        Self::new(Duration::from_millis(UNARY_TIMEOUT_MAX_MS))
    }
}

/// The time-out that the client asks for: 1 to 8 digits and a unit.
fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let (&unit, digits) = headers.get(&TIMEOUT_HEADER)?.as_bytes().split_last()?;
    if !(1..=TIMEOUT_DIGITS_MAX).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits.iter().fold(0_u64, |count, digit| count * 10 + u64::from(digit - b'0'));
    match unit {
        b'H' => Some(Duration::from_secs(count * 60 * 60)),
        b'M' => Some(Duration::from_secs(count * 60)),
        b'S' => Some(Duration::from_secs(count)),
        b'm' => Some(Duration::from_millis(count)),
        b'u' => Some(Duration::from_micros(count)),
        b'n' => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = DeadlineService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        DeadlineService { inner, layer: *self }
    }
}

/// The service of [`DeadlineLayer`].
#[derive(Clone, Debug)]
pub struct DeadlineService<S> {
    inner: S,
    layer: DeadlineLayer,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for DeadlineService<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: Send + 'static,
{
    type Response = Response<DeadlineBody<ResBody>>;
    type Error = S::Error;
    type Future = DeadlineFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let streams = Rpc::by_path(request.uri().path()).is_some_and(|rpc| rpc.streams);
        let limits = self.layer.limits(streams, request.headers());
        if let Some(at) = limits.body {
            request.extensions_mut().insert(Deadline { at });
        }
        DeadlineFuture {
            call: self.inner.call(request),
            streams,
            body_at: limits.body,
            alarm: Some(Box::pin(sleep_until(limits.answer))),
        }
    }
}

/// Wakes the call when its deadline passes. One for the answer and its body; it costs a place among the
/// runtime's timers only once something has to wait.
type Alarm = Pin<Box<Sleep>>;

pin_project! {
    /// The future of [`DeadlineService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct DeadlineFuture<F> {
        #[pin]
        call: F,
        streams: bool,
        body_at: Option<Instant>,
        alarm: Option<Alarm>,
    }
}

impl<F, ResBody, E> Future for DeadlineFuture<F>
where
    F: Future<Output = Result<Response<ResBody>, E>>,
    ResBody: Send + 'static,
{
    type Output = Result<Response<DeadlineBody<ResBody>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(answer) = this.call.poll(cx) {
            let alarm = this.alarm.take().zip(*this.body_at).map(|(mut alarm, at)| {
                alarm.as_mut().reset(at);
                alarm
            });
            // A unary call's body is there as a whole; that of a stream may hold much for long.
            let revoked_at = this.body_at.filter(|_| *this.streams);
            let held = |body| match revoked_at {
                Some(at) => Held::until(at, body),
                None => Held::freely(body),
            };
            return Poll::Ready(
                answer.map(|response| response.map(|body| DeadlineBody { body: Some(held(body)), alarm })),
            );
        }
        let Some(alarm) = this.alarm else { return Poll::Pending };
        ready!(alarm.as_mut().poll(cx));
        let response = exceeded().into_http::<()>();
        Poll::Ready(Ok(response.map(|()| DeadlineBody { body: None, alarm: None })))
    }
}

fn exceeded() -> Status {
    ApiError::new(ErrorReason::DeadlineExceeded).into()
}

pin_project! {
    /// A response's body, which the deadline ends.
    pub struct DeadlineBody<B> {
        // None: the deadline has passed, and what the body held is free.
        #[pin]
        body: Option<Held<B>>,
        alarm: Option<Alarm>,
    }
}

impl<B: Body> Body for DeadlineBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        match (body.poll_frame(cx), this.alarm) {
            // A stream that always has something ready must end, too.
            (Poll::Ready(Some(Ok(frame))), Some(alarm))
                if frame.is_data() && alarm.deadline() <= Instant::now() => {}
            (frame @ Poll::Ready(_), _) => return frame,
            (Poll::Pending, None) => return Poll::Pending,
            (Poll::Pending, Some(alarm)) => ready!(alarm.as_mut().poll(cx)),
        }
        this.body.set(None);
        let mut trailers = HeaderMap::new();
        // It fails only for messages that no header can carry; without a status the client still sees an
        // error, never a normal end.
        let _ = exceeded().add_header(&mut trailers);
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.body, &self.alarm) {
            (None, _) => SizeHint::with_exact(0),
            (Some(body), None) => body.size_hint(),
            (Some(_), Some(_)) => SizeHint::default(),
        }
    }
}
