//! The network between players and nodes: calls take time, get lost, arrive twice, and end when their node
//! does. What a player hears passes through here, byte for byte.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body as _, Frame};
use middleware::Principal;
use tokio::sync::{mpsc, watch};
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tower::{Service, ServiceExt as _};

use crate::oracle::Oracle;
use crate::scheduler::{Handle, Owner, TaskId, lock};
use crate::weather::Weather;

/// How long one way takes at most, ms; now and then so long that calls overtake each other.
const WAY_MS: u64 = 10;
const LONG_WAY_MS: u64 = 700;

/// How often a way is a long one, in a thousand times.
const LONG_WAYS: u32 = 30;

/// Messages after which a stream breaks at the latest, where it does.
const MESSAGES_TO_CUT: u64 = 12;

/// A node that can be called.
pub(crate) struct Live {
    pub(crate) routes: Routes,
    pub(crate) drain: watch::Sender<bool>,
    /// What the node's tasks belong to.
    pub(crate) owner: Owner,
}

/// All nodes and the ways to them.
pub(crate) struct Network {
    pub(crate) handle: Handle,
    pub(crate) weather: Arc<Weather>,
    pub(crate) oracle: Arc<Oracle>,
    /// None: the node is down.
    pub(crate) nodes: Vec<Mutex<Option<Live>>>,
}

/// A player's connection to one node.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) network: Arc<Network>,
    pub(crate) node: usize,
    pub(crate) principal: Principal,
    /// Whether calls over it change something that a second arrival must not change again.
    pub(crate) doubles: bool,
}

fn lost() -> Status {
    Status::unavailable("the connection is lost")
}

impl Network {
    async fn way(&self) {
        let most_ms = if self.handle.happens(LONG_WAYS) { LONG_WAY_MS } else { WAY_MS };
        self.handle.sleep(self.handle.below(most_ms)).await;
    }

    /// Hands a request to a node, for an answer if anybody waits for one.
    fn hand_over(
        &self,
        node: usize,
        request: Request<Body>,
        answer: Option<oneshot::Sender<Response<Relay>>>,
    ) -> Option<Hangup> {
        let live = lock(&self.nodes[node]);
        let live = live.as_ref()?;
        let cut = self.weather.strikes(|rates| rates.cut_streams);
        let left = if cut { self.handle.below(MESSAGES_TO_CUT) } else { u64::MAX };
        let (sender, frames) = mpsc::channel(1);
        let relay = Relay { frames, left, ended: false, oracle: Arc::clone(&self.oracle), _hangup: None };
        let work = serve(live.routes.clone(), request, answer.map(|answer| (answer, relay)), sender);
        let task = self.handle.spawn(live.owner, work);
        Some(Hangup { handle: self.handle.clone(), task: Some(task) })
    }
}

/// A node's side of a call: it answers, then sends what there is to send.
async fn serve(
    routes: Routes,
    request: Request<Body>,
    answer: Option<(oneshot::Sender<Response<Relay>>, Relay)>,
    frames: mpsc::Sender<Option<Frame<Bytes>>>,
) {
    let response: Result<Response<Body>, Infallible> = routes.oneshot(request).await;
    let Ok(response) = response;
    let Some((answer, relay)) = answer else { return };
    let (parts, mut body) = response.into_parts();
    if answer.send(Response::from_parts(parts, relay)).is_err() {
        return;
    }
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        if frames.send(Some(frame)).await.is_err() {
            return;
        }
    }
    // Nobody may be left to hear it.
    let _ = frames.send(None).await;
}

/// Ends a call at its node when the caller gives it up.
struct Hangup {
    handle: Handle,
    task: Option<TaskId>,
}

impl Hangup {
    /// Nobody waits for this call, and nobody gives it up.
    fn let_go(mut self) {
        self.task = None;
    }
}

impl Drop for Hangup {
    fn drop(&mut self) {
        if let Some(task) = self.task {
            self.handle.abort(task);
        }
    }
}

/// A player's side of an answer.
pub(crate) struct Relay {
    frames: mpsc::Receiver<Option<Frame<Bytes>>>,
    /// Frames until the connection breaks.
    left: u64,
    ended: bool,
    oracle: Arc<Oracle>,
    _hangup: Option<Hangup>,
}

impl http_body::Body for Relay {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if self.left == 0 {
            self.ended = true;
            return Poll::Ready(Some(Err(lost())));
        }
        let Poll::Ready(frame) = self.frames.poll_recv(cx) else { return Poll::Pending };
        match frame {
            Some(Some(frame)) => {
                self.left -= 1;
                if let Some(data) = frame.data_ref() {
                    self.oracle.overhears(data);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(None) => {
                self.ended = true;
                Poll::Ready(None)
            }
            // The node went down in the middle of it.
            None => {
                self.ended = true;
                Poll::Ready(Some(Err(lost())))
            }
        }
    }
}

impl Line {
    async fn call(self, request: Request<Body>) -> Result<Response<Relay>, Status> {
        let network = &self.network;
        network.way().await;
        if network.weather.strikes(|rates| rates.lost_calls / 2) {
            return Err(lost());
        }
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(self.principal.clone());
        let bytes = collect(body).await?;
        let again = || Request::from_parts(parts.clone(), whole(bytes.clone()));
        if self.doubles && network.weather.strikes(|rates| rates.doubled_calls) {
            let (line, twin) = (self.clone(), again());
            network.handle.spawn(Owner::World, async move {
                line.network.way().await;
                if let Some(hangup) = line.network.hand_over(line.node, twin, None) {
                    hangup.let_go();
                }
            });
        }
        let (sender, answer) = oneshot::channel();
        let hangup = network.hand_over(self.node, again(), Some(sender)).ok_or_else(lost)?;
        let answer = answer.await.map_err(|_| lost())?;
        network.way().await;
        if network.weather.strikes(|rates| rates.lost_calls / 2) {
            return Err(lost());
        }
        let (parts, relay) = answer.into_parts();
        Ok(Response::from_parts(parts, Relay { _hangup: Some(hangup), ..relay }))
    }
}

impl Service<Request<Body>> for Line {
    type Response = Response<Relay>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Response<Relay>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(Self::call(self.clone(), request))
    }
}

/// All bytes of a request, which is one message.
async fn collect(body: Body) -> Result<Bytes, Status> {
    let mut body = body;
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.into())
}

fn whole(bytes: Bytes) -> Body {
    Body::new(Whole(Some(bytes)))
}

struct Whole(Option<Bytes>);

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}
