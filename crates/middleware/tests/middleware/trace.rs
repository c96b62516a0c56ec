//! Logs: one span a call, with what helps and nothing that hurts.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use middleware::{AuthLayer, DeadlineLayer, TraceLayer};
use tonic::body::Body;
use tower::{ServiceBuilder, ServiceExt as _, service_fn};
use tracing::Level;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::calls::{BACKEND_KEY, GET_MATCH, SEAL_MOVE, WATCH_MATCH, auth, request, token};

/// What is logged, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One message, and then the status if there is one.
fn answer(status: Option<&'static str>) -> Response<Body> {
    let mut frames = vec![Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"marked-answer")))];
    if let Some(status) = status {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static(status));
        frames.push(Ok(Frame::trailers(trailers)));
    }
    Response::new(Body::new(StreamBody::new(stream::iter(frames))))
}

/// Everything that is logged at TRACE while the call runs through all layers to the end of its body. The
/// service [answers](answer).
async fn logged(call: Request<Body>, status: Option<&'static str>) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let service = ServiceBuilder::new()
        .layer(TraceLayer::default())
        .layer(DeadlineLayer::default())
        .layer(AuthLayer::new(auth()))
        .service(service_fn(|_: Request<Body>| ready(Ok::<_, Infallible>(answer(status)))));
    let mut body = service.oneshot(call).await.expect("the layers answer").into_body();
    while let Some(Ok(_)) = body.frame().await {}
    drop(body);
    log.text()
}

#[tokio::test]
async fn a_call_is_one_span_with_its_name_its_kind_of_caller_and_its_end() {
    let bearer = format!("Bearer {}", token(&[]));
    let text = logged(request(SEAL_MOVE, &[("authorization", &bearer)]), Some("9")).await;
    for part in [
        "rpc.system=\"grpc\"",
        "rpc.service=\"whattheshell.v1.MatchService\"",
        "rpc.method=\"SealMove\"",
        "principal=\"player\"",
        "code=FailedPrecondition",
        "latency_us=",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    assert_eq!(text.matches("call ended").count(), 1, "{text}");
}

#[tokio::test]
async fn the_end_that_is_logged_is_the_one_that_the_client_saw() {
    let key = [("x-api-key", BACKEND_KEY)];
    for (call, status, expected) in [
        (request(GET_MATCH, &key), Some("0"), "code=Ok"),
        (request(WATCH_MATCH, &key), Some("14"), "code=Unavailable"),
        (request(GET_MATCH, &key), None, "code=Unknown"),
        (request(GET_MATCH, &[]), None, "code=Unauthenticated"),
        (request("/whattheshell.v1.MatchService/Unseal", &[]), None, "code=Unimplemented"),
    ] {
        let text = logged(call, status).await;
        assert!(text.contains(expected), "{expected} is missing: {text}");
        assert_eq!(text.matches("call ended").count(), 1, "{text}");
    }
}

#[tokio::test]
async fn no_credential_no_body_and_no_text_of_the_caller_is_logged_at_trace() {
    let token = token(&[]);
    let signature = token.rsplit_once('.').expect("a token has a signature").1;
    let forged = format!("Bearer {}AAAA", &token[..token.len() - 4]);
    let bearer = format!("Bearer {token}");
    let mut text = String::new();
    for headers in [
        &[("authorization", bearer.as_str()), ("x-marked", "marked-header")][..],
        &[("authorization", &forged)],
        &[("authorization", &bearer), ("x-api-key", BACKEND_KEY)],
        &[("x-api-key", BACKEND_KEY)],
        &[("x-api-key", "marked-wrong-key")],
        &[("authorization", "Basic marked-basic")],
        &[("grpc-timeout", "marked-timeout")],
    ] {
        for path in [SEAL_MOVE, "/marked.Service/MarkedMethod", "/whattheshell.v1.MatchService/MarkedMethod"]
        {
            let mut call = request(path, headers);
            *call.body_mut() = Body::new(http_body_util::Full::new(Bytes::from_static(b"marked-cell")));
            text.push_str(&logged(call, Some("0")).await);
        }
    }
    assert!(text.contains("call ended"), "nothing was logged");
    for secret in [&token, signature, BACKEND_KEY, "marked", "Marked", "p1"] {
        assert!(!text.contains(secret), "{secret} was logged");
    }
}

#[tokio::test]
async fn a_call_that_its_client_gives_up_is_logged_as_cancelled() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let service =
        ServiceBuilder::new().layer(TraceLayer::default()).service(service_fn(async |_: Request<Body>| {
            pending::<()>().await;
            Ok::<_, Infallible>(Response::new(Body::empty()))
        }));
    let mut call = Box::pin(service.oneshot(request(GET_MATCH, &[])));
    assert!(futures::poll!(&mut call).is_pending());
    drop(call);
    assert!(log.text().contains("code=Cancelled"), "{}", log.text());
}
