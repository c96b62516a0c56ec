//! The layer that only browsers need: gRPC-Web and CORS.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, Either, FutureExt as _, Map};
use http::{HeaderName, Method, Request, Response, header};
use tonic::body::Body;
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::util::Oneshot;
use tower::{Layer, Service, ServiceExt as _};
use tower_http::cors::{AllowHeaders, Any, Cors, CorsLayer};

/// How long a browser may remember that it may call.
const CORS_MAX_AGE: Duration = Duration::from_secs(2 * 60 * 60);

/// What a browser may read of an answer: without these an error has neither code nor reason.
const EXPOSED_HEADERS: [HeaderName; 4] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
    HeaderName::from_static("grpc-retry-pushback-ms"),
];

/// Speaks gRPC-Web and answers CORS where a browser calls; everyone else's call goes through untouched
/// and does not pay for it.
///
/// Browsers may call from any page: what lets a caller in is a token, which no page sends by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct BrowserLayer;

impl<S> Layer<S> for BrowserLayer {
    type Service = BrowserService<S>;

    fn layer(&self, native: S) -> Self::Service {
        BrowserService { native }
    }
}

/// The service of [`BrowserLayer`].
#[derive(Clone)]
pub struct BrowserService<S> {
    native: S,
}

impl<S> fmt::Debug for BrowserService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserService").finish_non_exhaustive()
    }
}

/// The service as a browser needs it. Made for its call: every call has a copy of all services, and those of
/// others should have no more than they use.
fn web<S>(native: S) -> Cors<GrpcWebService<S>> {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED_HEADERS)
        .max_age(CORS_MAX_AGE);
    cors.layer(GrpcWebLayer::new().layer(native))
}

/// Whether a call is plain gRPC from a client that is no page in a browser.
fn is_native(request: &Request<Body>) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    let plain = content_type
        .is_some_and(|value| value == b"application/grpc" || value.starts_with(b"application/grpc+"));
    plain && request.method() == Method::POST && !request.headers().contains_key(header::ORIGIN)
}

/// Gives a native answer the type of body that a browser's has.
fn boxed<B, E>(answer: Result<Response<B>, E>) -> Answer<E>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    answer.map(|response| response.map(Body::new))
}

type Answer<E> = Result<Response<Body>, E>;

impl<S, B> Service<Request<Body>> for BrowserService<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    Cors<GrpcWebService<S>>: Service<Request<Body>, Response = Response<Body>, Error = S::Error>,
    Oneshot<Cors<GrpcWebService<S>>, Request<Body>>: Future<Output = Answer<S::Error>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<
        BoxFuture<'static, Answer<S::Error>>,
        Map<S::Future, fn(Result<Response<B>, S::Error>) -> Answer<S::Error>>,
    >;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.native.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if is_native(&request) {
            Either::Right(self.native.call(request).map(boxed::<B, S::Error>))
        } else {
            Either::Left(web(self.native.clone()).oneshot(request).boxed())
        }
    }
}
