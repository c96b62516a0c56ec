//! `/metrics`: what Prometheus scrapes, on a listener of its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Encoder as _, Registry, TextEncoder};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Scrapes at once: there are a few scrapers, and each keeps a whole answer in memory.
const SCRAPES_MAX: usize = 8;

/// How long a connection may live: a scrape takes milliseconds, and what is left open is not waited for.
const CONNECTION_MAX: Duration = Duration::from_secs(10);

/// The pause after a failed accept: without descriptors it fails again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where scrapes come.
pub(crate) struct Scrapes {
    listener: std::net::TcpListener,
    registry: Registry,
}

impl Scrapes {
    /// Listens, and serves nobody yet.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn listen(address: SocketAddr, registry: Registry) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, registry })
    }

    /// The address, with its real port.
    pub(crate) fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves, on the runtime that polls this, until it is dropped.
    pub(crate) async fn serve(self) {
        let Ok(listener) = TcpListener::from_std(self.listener) else { return };
        let places = Arc::new(Semaphore::new(SCRAPES_MAX));
        loop {
            // Nobody closes the semaphore.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let registry = self.registry.clone();
            tokio::spawn(async move {
                // What goes wrong on the connection is the scraper's to notice.
                let _ = timeout(CONNECTION_MAX, connection(stream, registry)).await;
                drop(place);
            });
        }
    }
}

async fn connection(stream: TcpStream, registry: Registry) -> hyper::Result<()> {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answer(&request, &registry);
        async move { Ok::<_, Infallible>(answer) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

fn answer(request: &Request<Incoming>, registry: &Registry) -> Response<Full<Bytes>> {
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "there is only GET /metrics\n");
    }
    let (encoder, mut text) = (TextEncoder::new(), Vec::new());
    if encoder.encode(&registry.gather(), &mut text).is_err() {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n");
    }
    let mut response = Response::new(Full::new(Bytes::from(text)));
    if let Ok(form) = encoder.format_type().parse() {
        response.headers_mut().insert(CONTENT_TYPE, form);
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}
