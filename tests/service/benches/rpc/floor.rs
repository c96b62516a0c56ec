//! The least that calls and streams over tonic can cost: bytes in, bytes out, no layer.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes};
use futures::stream::{self, BoxStream, StreamExt as _};
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::Status;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tower::Service;

use crate::idle::WATCH_MATCH;
use crate::server::HEARTBEAT;

/// Serves the floor on `listener` until `shutdown` resolves. Every message is of `answer_bytes`: a call
/// is answered with one; a stream begins with one, has one more whenever a call is made, and after each
/// silence of [`HEARTBEAT`].
pub(crate) async fn serve(
    listener: TcpListener,
    answer_bytes: usize,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let answer = Bytes::from(vec![0; answer_bytes]);
    serve_with(Floor { answer, calls: watch::Sender::new(0) }, listener, shutdown).await
}

/// Serves this on `listener` until `shutdown` resolves. The transport is set as the server sets its own.
pub(crate) async fn serve_with<S>(
    service: S,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + NamedService,
    S: Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tonic::transport::Server::builder()
        .accept_http1(true)
        .max_concurrent_streams(4_096)
        .http2_max_header_list_size(16 * 1024)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, shutdown)
        .await?;
    Ok(())
}

/// It goes by the name of the real service, so that both are sent the same bytes.
#[derive(Clone)]
struct Floor {
    answer: Bytes,
    /// How many calls were made.
    calls: watch::Sender<u64>,
}

impl NamedService for Floor {
    const NAME: &'static str = wire::v1::match_service_server::SERVICE_NAME;
}

impl Service<Request<Body>> for Floor {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let floor = self.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(RawCodec);
            Ok(match request.uri().path() {
                WATCH_MATCH => grpc.server_streaming(floor, request).await,
                _ => grpc.unary(floor, request).await,
            })
        })
    }
}

impl UnaryService<Bytes> for Floor {
    type Response = Bytes;
    type Future = Ready<Result<tonic::Response<Bytes>, Status>>;

    fn call(&mut self, _request: tonic::Request<Bytes>) -> Self::Future {
        self.calls.send_modify(|calls| *calls += 1);
        ready(Ok(tonic::Response::new(self.answer.clone())))
    }
}

impl ServerStreamingService<Bytes> for Floor {
    type Response = Bytes;
    type ResponseStream = BoxStream<'static, Result<Bytes, Status>>;
    type Future = Ready<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, _request: tonic::Request<Bytes>) -> Self::Future {
        let answer = self.answer.clone();
        let first = stream::once(ready(Ok(answer.clone())));
        let rest = stream::unfold(self.calls.subscribe(), move |mut calls| {
            let answer = answer.clone();
            async move {
                // Either way there is something to send.
                let _ = timeout(HEARTBEAT, calls.changed()).await;
                Some((Ok(answer), calls))
            }
        });
        ready(Ok(tonic::Response::new(first.chain(rest).boxed())))
    }
}

/// Messages as they come, neither encoded nor decoded.
pub(crate) struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
