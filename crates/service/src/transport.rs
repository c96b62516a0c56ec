//! One connection, from its handshake to its end: what it may cost, how old it may get, and how it goes.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::StreamExt as _;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use middleware::{Bucket, Limit, Peer, PeerAddress, Refusals, status_code};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::Code;
use tonic::body::Body;
use tower::Service;
use tracing::error;

use crate::first_bytes::FirstBytes;
use crate::listener::Connection;
use crate::node::NodeConfig;
use crate::tls::{Handshaken, Tls};
use crate::workers::Dealt;

/// Calls and streams open at once on one connection: a back end's whole fan-out, and a bound on what one
/// peer can make the server keep.
pub(crate) const STREAMS_PER_CONNECTION_MAX: u32 = 4_096;

/// Bytes of a request's headers: a token is at most 4 KiB. Headers that go on beyond this, in however many frames,
/// end their connection.
pub(crate) const HEADER_BYTES_MAX: u32 = 16 * 1024;

/// Silence on a connection after which the server asks whether anybody is there, and how long it waits
/// for an answer. Phones vanish without a word.
pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// See [`KEEPALIVE_INTERVAL`].
pub(crate) const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a connection may be without a call before it is told to go: longer than anybody thinks about a move
/// with his stream closed, and than ten idle minutes of a client that pings.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(15 * 60);

/// How long what is open on a connection may take to end once it was told to go. Streams end at once, and calls have
/// their deadlines; only who watches the health or asks for descriptors is cut off by it.
pub(crate) const GOING_MAX: Duration = Duration::from_secs(30);

/// How much earlier than its age a connection may be told to go, as a part of that: those that came together, after
/// a restart, are not to go together.
const AGE_JITTER: f64 = 0.2;

/// How long a TLS handshake may take: the slowest network and a packet lost more than once.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the headers of an HTTP/1 request may take, from the end of the one before: a page that asks now and then
/// keeps its connection.
const HTTP1_HEADERS_TIMEOUT: Duration = Duration::from_secs(30);

/// TLS handshakes under way at once on a node. Each costs some 0.3 ms of a core; more than this only make all of
/// them late, and calls with them.
pub(crate) const HANDSHAKES_MAX: usize = 256;

/// Bytes that a peer may send of a stream, and of a whole connection, before the service has read them. A request
/// fits into the first; 16 that are not read, into the second.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 128 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 2 * 1024 * 1024;

/// Bytes of a stream that wait for a peer to take them: some dozens of turns. Streams are pulled, so a slow reader
/// holds no more than this.
pub(crate) const STREAM_BUFFER_BYTES: usize = 64 * 1024;

/// Streams that a peer has opened and taken back before the server has looked at them. One that hedges or gives up
/// comes to a few; a flood is told to calm down (GOAWAY).
pub(crate) const RESETS_PENDING_MAX: usize = 128;

/// Streams that a peer's own mistakes have ended on one connection; then the connection ends.
pub(crate) const MISTAKES_MAX: usize = 256;

/// Calls of one connection that were taken back before their answer, a second and at once. A back end whose calls
/// all run into their deadline in an outage comes to as many as it has open.
pub(crate) const TAKEN_BACK_PER_S: u32 = 1_000;
pub(crate) const TAKEN_BACK_BURST: u32 = 10_000;

/// Calls of one connection with a credential that is not valid, a second and at once. A back end that passes on the
/// calls of many players sees them expire together.
pub(crate) const NOT_VALID_PER_S: u32 = 50;
pub(crate) const NOT_VALID_BURST: u32 = 500;

/// Connections of one worker that are told to go at once when it drains, and a second if there are more, so that they
/// do not all come to other nodes at once.
const GOING_AT_ONCE: usize = 50;
const GOING_PER_S: f64 = 100.0;

/// A node's rules for its connections.
#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) tls: Option<Tls>,
    pub(crate) handshakes: Arc<Semaphore>,
    pub(crate) first_bytes_timeout: Duration,
    /// How old a connection gets before it is told to go.
    pub(crate) age_max: Duration,
    /// How long connections have to go, once the node drains.
    pub(crate) grace: Duration,
    pub(crate) refusals: Arc<Refusals>,
}

impl Transport {
    /// As a node's configuration has it.
    pub(crate) fn of(config: &NodeConfig) -> Self {
        Self {
            tls: config.tls.clone(),
            handshakes: Arc::new(Semaphore::new(HANDSHAKES_MAX)),
            first_bytes_timeout: config.first_bytes_timeout,
            age_max: config.connection_age_max,
            grace: config.grace,
            refusals: Arc::clone(&config.refusals),
        }
    }

    /// The time over which this many connections are told to go: half of the grace at most, since what is open on
    /// the last one has to end, too.
    pub(crate) fn going_spread(&self, connections: usize) -> Duration {
        let connections = u32::try_from(connections.saturating_sub(GOING_AT_ONCE)).unwrap_or(u32::MAX);
        Duration::from_secs_f64(f64::from(connections) / GOING_PER_S).min(self.grace / 2)
    }

    /// Serves these connections until `draining` is set, or there are no more, and the last one has ended.
    pub(crate) async fn serve_all<S>(
        &self,
        mut incoming: Dealt,
        service: S,
        mut draining: watch::Receiver<bool>,
    ) where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        let (go, going) = watch::channel(None);
        let mut open = JoinSet::new();
        let (mut is_draining, mut is_over) = (false, false);
        while !(open.is_empty() && (is_draining || is_over)) {
            tokio::select! {
                connection = incoming.next(), if !is_over => match connection {
                    Some(connection) => {
                        let transport = self.clone();
                        open.spawn(transport.serve(connection, service.clone(), going.clone()));
                    }
                    None => is_over = true,
                },
                Some(ended) = open.join_next() => {
                    if ended.is_err() {
                        error!("what serves a connection panicked");
                    }
                }
                _ = draining.wait_for(|draining| *draining), if !is_draining => {
                    is_draining = true;
                    go.send_replace(Some(self.going_spread(open.len())));
                }
            }
        }
    }

    /// Serves a connection until its end. `draining` comes to the time over which connections are told to go.
    pub(crate) async fn serve<S>(
        self,
        connection: Connection,
        service: S,
        mut draining: watch::Receiver<Option<Duration>>,
    ) where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        let address = connection.address();
        let Some(tls) = &self.tls else {
            return self.speak(connection, (address, None), service, draining).await;
        };
        let shaken = tokio::select! {
            shaken = self.handshake(tls, connection) => shaken,
            // Nobody has asked anything yet.
            _ = told(&mut draining) => return,
        };
        match shaken {
            Some(Handshaken { stream, backend }) => {
                self.speak(stream, (address, backend), service, draining).await;
            }
            None => self.refusals.count(Limit::Handshake),
        }
    }

    /// The time for a handshake includes that of waiting for its turn.
    async fn handshake(&self, tls: &Tls, connection: Connection) -> Option<Handshaken<Connection>> {
        let shake = async {
            let _turn = self.handshakes.acquire().await.ok()?;
            tls.accept(connection).await.ok()
        };
        timeout(HANDSHAKE_TIMEOUT, shake).await.ok().flatten()
    }

    async fn speak<Io, S>(
        &self,
        io: Io,
        (address, backend): (PeerAddress, Option<Arc<str>>),
        service: S,
        draining: watch::Receiver<Option<Duration>>,
    ) where
        Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        let (leave, leaving) = watch::channel(false);
        let peer = Arc::new(Peer::new(address, backend, leaving));
        let conduct = Arc::new(Conduct::new(Arc::clone(&self.refusals)));
        let calls = Calls { service, peer: Arc::clone(&peer), conduct: Arc::clone(&conduct) };
        let io = TokioIo::new(FirstBytes::within(self.first_bytes_timeout, io));
        let http = http();
        let mut serving = pin!(http.serve_connection(io, TowerToHyperService::new(calls)));
        tokio::select! {
            // However it has ended, the peer knows or is gone.
            _ = &mut serving => return,
            () = conduct.is_too_bad() => return,
            () = self.over(draining, &peer, &conduct) => {}
        }
        leave.send_replace(true);
        serving.as_mut().graceful_shutdown();
        tokio::select! {
            _ = &mut serving => {}
            () = conduct.is_too_bad() => {}
            () = sleep(GOING_MAX) => {}
        }
    }

    /// Comes when the connection is to go.
    async fn over(&self, draining: watch::Receiver<Option<Duration>>, peer: &Arc<Peer>, conduct: &Conduct) {
        let age = self.age_max.mul_f64(1.0 - AGE_JITTER * rand::random::<f64>());
        tokio::select! {
            () = turn_to_go(draining) => {}
            () = sleep(age) => {}
            () = unused(peer, conduct) => {}
        }
    }
}

/// Comes once the node drains, with the time over which connections are to go.
async fn told(draining: &mut watch::Receiver<Option<Duration>>) -> Duration {
    // Where the sender is gone, so is the node.
    draining.wait_for(Option::is_some).await.ok().and_then(|spread| *spread).unwrap_or_default()
}

/// Comes when it is one connection's turn to go, once the node drains.
async fn turn_to_go(mut draining: watch::Receiver<Option<Duration>>) {
    let spread = told(&mut draining).await;
    // Even the shortest sleep takes a moment, in which a stream may go on.
    if !spread.is_zero() {
        sleep(spread.mul_f64(rand::random())).await;
    }
}

/// Comes once a connection has been without a call for too long.
async fn unused(peer: &Arc<Peer>, conduct: &Conduct) {
    // The connection's own, and that of its service. Calls and open streams have more.
    const OWN: usize = 2;
    loop {
        let calls = conduct.calls();
        sleep(IDLE_MAX).await;
        if conduct.calls() == calls && Arc::strong_count(peer) <= OWN {
            return;
        }
    }
}

/// HTTP/2, and HTTP/1 for gRPC-Web, with the bounds of this file.
fn http() -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .max_header_list_size(HEADER_BYTES_MAX)
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(STREAM_BUFFER_BYTES)
        .max_pending_accept_reset_streams(RESETS_PENDING_MAX)
        .max_local_error_reset_streams(MISTAKES_MAX);
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HTTP1_HEADERS_TIMEOUT)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    http
}

/// How a peer behaves on one connection.
struct Conduct {
    calls: AtomicU64,
    taken_back: Bucket,
    not_valid: Bucket,
    is_too_bad: Notify,
    refusals: Arc<Refusals>,
}

impl Conduct {
    fn new(refusals: Arc<Refusals>) -> Self {
        Self {
            calls: AtomicU64::new(0),
            taken_back: Bucket::new(TAKEN_BACK_PER_S, TAKEN_BACK_BURST),
            not_valid: Bucket::new(NOT_VALID_PER_S, NOT_VALID_BURST),
            is_too_bad: Notify::new(),
            refusals,
        }
    }

    /// How many calls have begun.
    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Comes once there was too much of something.
    async fn is_too_bad(&self) {
        self.is_too_bad.notified().await;
        self.refusals.count(Limit::Conduct);
    }

    fn count(&self, bucket: &Bucket) {
        if bucket.take(1).is_err() {
            self.is_too_bad.notify_one();
        }
    }
}

/// The calls of one connection.
#[derive(Clone)]
struct Calls<S> {
    service: S,
    peer: Arc<Peer>,
    conduct: Arc<Conduct>,
}

impl<S> Service<Request<Incoming>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Call<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        self.conduct.calls.fetch_add(1, Ordering::Relaxed);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Arc::clone(&self.peer));
        let conduct = Awaited { conduct: Arc::clone(&self.conduct), is_answered: false };
        Call { answer: self.service.call(request), awaited: conduct }
    }
}

pin_project! {
    /// A call under way.
    struct Call<F> {
        #[pin]
        answer: F,
        awaited: Awaited,
    }
}

/// Dropped before the answer, the peer has taken the call back.
struct Awaited {
    conduct: Arc<Conduct>,
    is_answered: bool,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if !self.is_answered {
            self.conduct.count(&self.conduct.taken_back);
        }
    }
}

impl<F, E> Future for Call<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(cx));
        this.awaited.is_answered = true;
        if answer.as_ref().is_ok_and(is_not_valid) {
            this.awaited.conduct.count(&this.awaited.conduct.not_valid);
        }
        Poll::Ready(answer)
    }
}

/// Whether an answer says that the credential is not valid.
fn is_not_valid(answer: &Response<Body>) -> bool {
    status_code(answer.headers()) == Some(Code::Unauthenticated)
}
