//! Deadlines: a call or a stream ends with them, and what it held is free.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use http::{HeaderMap, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use middleware::{Deadline, DeadlineBody, DeadlineLayer};
use tokio::time::{Instant, sleep};
use tonic::body::Body;
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::calls::{GET_MATCH, WATCH_MATCH, error, request};

type Frames = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>;

fn data(text: &'static str) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

/// The answer to a call whose handler never answers, what the handler holds, and when it came.
async fn stuck(path: &str, timeout: Option<&str>) -> (HeaderMap, Weak<()>, Duration) {
    let subscription = Arc::new(());
    let held = Arc::downgrade(&subscription);
    let service = service_fn(move |_| {
        let subscription = Arc::clone(&subscription);
        async move {
            pending::<()>().await;
            drop(subscription);
            Ok::<_, Infallible>(Response::new(Body::empty()))
        }
    });
    let headers: Vec<_> = timeout.iter().map(|timeout| ("grpc-timeout", *timeout)).collect();
    let started = Instant::now();
    let answer = DeadlineLayer::default().layer(service).oneshot(request(path, &headers)).await;
    let response = answer.expect("the layer answers");
    (response.headers().clone(), held, started.elapsed())
}

/// The answer to a `WatchMatch` whose body these frames are.
async fn watch(timeout: Option<&str>, frames: Frames) -> Response<DeadlineBody<StreamBody<Frames>>> {
    let mut frames = Some(frames);
    let service = service_fn(move |_| {
        let frames = frames.take().expect("it is called once");
        async { Ok::<_, Infallible>(Response::new(StreamBody::new(frames))) }
    });
    let headers: Vec<_> = timeout.iter().map(|timeout| ("grpc-timeout", *timeout)).collect();
    let answer = DeadlineLayer::default().layer(service).oneshot(request(WATCH_MATCH, &headers)).await;
    answer.expect("the service answers")
}

fn reason(headers: &HeaderMap) -> Option<String> {
    error(headers).map(|error| error.name().to_owned())
}

/// The deadline that the service sees, from now.
async fn seen(path: &str, timeout: Option<&str>) -> Option<Duration> {
    let service = service_fn(async |request: http::Request<Body>| {
        let mut response = Response::new(Body::empty());
        if let Some(deadline) = request.extensions().get::<Deadline>() {
            response.extensions_mut().insert(*deadline);
        }
        Ok::<_, Infallible>(response)
    });
    let headers: Vec<_> = timeout.iter().map(|timeout| ("grpc-timeout", *timeout)).collect();
    let answer = DeadlineLayer::default().layer(service).oneshot(request(path, &headers)).await;
    let response = answer.expect("the service answers");
    response.extensions().get::<Deadline>().map(|deadline| deadline.at - Instant::now())
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline_and_frees_what_it_held() {
    let (headers, held, took) = stuck(GET_MATCH, Some("2S")).await;
    assert_eq!(reason(&headers).as_deref(), Some("DEADLINE_EXCEEDED"));
    assert_eq!(took, Duration::from_secs(2));
    assert_eq!(held.strong_count(), 0);
    // A stream that has not begun to answer is no different.
    let (headers, _, took) = stuck(WATCH_MATCH, Some("1500m")).await;
    assert_eq!(reason(&headers).as_deref(), Some("DEADLINE_EXCEEDED"));
    assert_eq!(took, Duration::from_millis(1_500));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_deadline_or_with_a_far_one_ends_after_the_maximum() {
    for timeout in [None, Some("2M"), Some("99999999H"), Some("nonsense")] {
        let (headers, _, took) = stuck(GET_MATCH, timeout).await;
        assert_eq!(reason(&headers).as_deref(), Some("DEADLINE_EXCEEDED"), "{timeout:?}");
        assert_eq!(took, Duration::from_secs(60), "{timeout:?}");
    }
    // What the policy table does not know is not a stream either.
    assert_eq!(stuck("/unknown.Service/Method", None).await.2, Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_ends_at_its_deadline_and_frees_its_subscription() {
    let subscription = Arc::new(());
    let held = Arc::downgrade(&subscription);
    let quiet = stream::poll_fn(move |_| {
        let _subscription = &subscription;
        Poll::Pending
    });
    let started = Instant::now();
    let mut body = watch(Some("2S"), Box::pin(quiet)).await.into_body();
    let frame = body.frame().await.expect("there is a frame").expect("it is no transport error");
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    assert_eq!(held.strong_count(), 0);
    let trailers = frame.into_trailers().expect("the frame is the trailers");
    assert_eq!(reason(&trailers).as_deref(), Some("DEADLINE_EXCEEDED"));
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_polls_frees_its_subscription_at_its_deadline() {
    let subscription = Arc::new(());
    let held = Arc::downgrade(&subscription);
    let busy = stream::repeat_with(move || {
        let _subscription = &subscription;
        data("turn")
    });
    let mut body = watch(Some("2S"), Box::pin(busy)).await.into_body();
    assert!(body.frame().await.is_some_and(|frame| frame.is_ok_and(|frame| frame.is_data())));
    sleep(Duration::from_millis(1_999)).await;
    assert_eq!(held.strong_count(), 1);
    sleep(Duration::from_millis(2)).await;
    assert_eq!(held.strong_count(), 0);
    let frame = body.frame().await.expect("there is a frame").expect("it is no transport error");
    let trailers = frame.into_trailers().expect("the frame is the trailers");
    assert_eq!(reason(&trailers).as_deref(), Some("DEADLINE_EXCEEDED"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_gives_what_it_has_until_its_deadline() {
    let ticks = stream::unfold((), |()| async {
        sleep(Duration::from_millis(700)).await;
        Some((data("turn"), ()))
    });
    let body = watch(Some("2S"), Box::pin(ticks)).await.into_body();
    let collected = body.collect().await.expect("it is no transport error");
    let trailers = collected.trailers().expect("the stream ends with a status");
    assert_eq!(reason(trailers).as_deref(), Some("DEADLINE_EXCEEDED"));
    assert_eq!(collected.to_bytes(), "turnturn");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_never_quiet_ends_at_its_deadline_too() {
    let mut body = watch(Some("1S"), Box::pin(stream::repeat_with(|| data("turn")))).await.into_body();
    for _ in 0..1_000 {
        let frame = body.frame().await.expect("there is a frame").expect("it is no transport error");
        assert!(frame.is_data());
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    let frame = body.frame().await.expect("there is a frame").expect("it is no transport error");
    let trailers = frame.into_trailers().expect("the frame is the trailers");
    assert_eq!(reason(&trailers).as_deref(), Some("DEADLINE_EXCEEDED"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_deadline_lives_on() {
    let late = stream::once(async {
        sleep(Duration::from_secs(24 * 60 * 60)).await;
        data("turn")
    });
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let end = stream::iter([Ok(Frame::trailers(trailers.clone()))]);
    let body = watch(None, Box::pin(futures::StreamExt::chain(late, end))).await.into_body();
    let collected = body.collect().await.expect("it is no transport error");
    assert_eq!(collected.trailers(), Some(&trailers));
    assert_eq!(collected.to_bytes(), "turn");
}

#[tokio::test(start_paused = true)]
async fn the_service_sees_the_deadline() {
    for (timeout, expected) in [
        ("30S", Duration::from_secs(30)),
        ("1M", Duration::from_secs(60)),
        ("3H", Duration::from_secs(3 * 60 * 60)),
        ("250m", Duration::from_millis(250)),
        ("00000250m", Duration::from_millis(250)),
        ("99u", Duration::from_micros(99)),
        ("12345678n", Duration::from_nanos(12_345_678)),
        ("0S", Duration::ZERO),
    ] {
        assert_eq!(seen(WATCH_MATCH, Some(timeout)).await, Some(expected), "{timeout}");
    }
    assert_eq!(seen(WATCH_MATCH, None).await, None);
    assert_eq!(seen(GET_MATCH, None).await, Some(Duration::from_secs(60)));
    assert_eq!(seen(GET_MATCH, Some("5S")).await, Some(Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn a_malformed_timeout_is_as_good_as_none() {
    for timeout in ["", "S", "1", "1s", "1 S", " 1S", "+1S", "-1S", "1.5S", "0x1S", "123456789S", "1SS", "H1"]
    {
        assert_eq!(seen(WATCH_MATCH, Some(timeout)).await, None, "{timeout:?}");
    }
}
