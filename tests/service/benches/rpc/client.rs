//! A gRPC client that costs little: it sends frames made ahead and looks at sizes and status only.
//!
//! On a machine that client and server share, a full client's 10 µs a call would be measured along.

use std::future::poll_fn;

use anyhow::{Context as _, bail, ensure};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::RecvStream;
use h2::client::SendRequest;
use http::{HeaderMap, HeaderName, Method, Request, StatusCode};
use prost::Message;
use tokio::net::TcpStream;

/// One call at a time on a connection that other lanes share.
#[derive(Clone)]
pub(crate) struct Lane {
    requests: SendRequest<Bytes>,
}

/// Opens `lanes` lanes over `connections` connections, dealt out in turn.
pub(crate) async fn lanes(address: &str, connections: usize, lanes: usize) -> anyhow::Result<Vec<Lane>> {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        opened.push(Lane::connect(address).await?);
    }
    Ok(opened.iter().cycle().take(lanes).cloned().collect())
}

/// The head of a unary call to `path` with a credential. The same head again is a few bytes on the
/// wire: each header has been indexed by then.
pub(crate) fn head(path: &str, credential: (HeaderName, &str)) -> anyhow::Result<Request<()>> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("http://localhost{path}"))
        .header(http::header::CONTENT_TYPE, "application/grpc")
        .header(http::header::TE, "trailers")
        .header(credential.0, credential.1);
    Ok(request.body(())?)
}

/// A message as gRPC frames it: not compressed, its length, itself.
pub(crate) fn frame(message: &impl Message) -> anyhow::Result<Bytes> {
    let length = message.encoded_len();
    let mut frame = BytesMut::with_capacity(FRAME_HEAD_BYTES + length);
    frame.put_u8(0);
    frame.put_u32(u32::try_from(length)?);
    message.encode(&mut frame)?;
    Ok(frame.freeze())
}

const FRAME_HEAD_BYTES: usize = 5;

impl Lane {
    /// A lane of a connection of its own.
    pub(crate) async fn connect(address: &str) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (requests, connection) = h2::client::handshake(socket).await?;
        // A connection that fails fails the calls on it, which say so.
        tokio::spawn(connection);
        Ok(Self { requests })
    }

    /// Makes one call and returns the bytes of the answer's message.
    ///
    /// # Errors
    /// The call fails in any way: a bench of failed calls measures nothing.
    pub(crate) async fn call(&mut self, head: &Request<()>, frame: Bytes) -> anyhow::Result<usize> {
        poll_fn(|cx| self.requests.poll_ready(cx)).await?;
        let (answer, mut body) = self.requests.send_request(head.clone(), false)?;
        body.send_data(frame, true)?;
        let (parts, mut body) = answer.await?.into_parts();
        ensure!(parts.status == StatusCode::OK, "answered with HTTP status {}", parts.status);
        let mut received = 0;
        while let Some(data) = body.data().await {
            let length = data?.len();
            body.flow_control().release_capacity(length)?;
            received += length;
        }
        let trailers = body.trailers().await?;
        check_status(trailers.as_ref().unwrap_or(&parts.headers))?;
        received.checked_sub(FRAME_HEAD_BYTES).context("answered without a message")
    }

    /// Opens a stream of answers.
    ///
    /// # Errors
    /// It is refused before its first message.
    pub(crate) async fn open(&mut self, head: &Request<()>, frame: Bytes) -> anyhow::Result<Messages> {
        poll_fn(|cx| self.requests.poll_ready(cx)).await?;
        let (answer, mut body) = self.requests.send_request(head.clone(), false)?;
        body.send_data(frame, true)?;
        let (parts, body) = answer.await?.into_parts();
        ensure!(parts.status == StatusCode::OK, "answered with HTTP status {}", parts.status);
        if parts.headers.contains_key("grpc-status") {
            check_status(&parts.headers)?;
        }
        Ok(Messages { body, received: BytesMut::new() })
    }
}

/// The messages of a stream, as they come.
pub(crate) struct Messages {
    body: RecvStream,
    received: BytesMut,
}

impl Messages {
    /// Waits for a message and returns its bytes.
    ///
    /// # Errors
    /// The stream ends.
    pub(crate) async fn next(&mut self) -> anyhow::Result<usize> {
        Ok(self.next_bytes().await?.len())
    }

    /// Waits for a message and reads it.
    ///
    /// # Errors
    /// The stream ends, or has another message.
    pub(crate) async fn next_message<M: Message + Default>(&mut self) -> anyhow::Result<M> {
        Ok(M::decode(self.next_bytes().await?)?)
    }

    /// Reads the only message of an answer, to its end.
    ///
    /// # Errors
    /// The call fails, or is answered by another message.
    pub(crate) async fn only<M: Message + Default>(mut self) -> anyhow::Result<M> {
        let message = self.next_message().await?;
        ensure!(self.body.data().await.is_none(), "answered with more than a message");
        check_status(&self.body.trailers().await?.unwrap_or_default())?;
        Ok(message)
    }

    async fn next_bytes(&mut self) -> anyhow::Result<Bytes> {
        loop {
            if let Some(message) = self.take() {
                return Ok(message);
            }
            let Some(data) = self.body.data().await else {
                check_status(&self.body.trailers().await?.unwrap_or_default())?;
                bail!("a stream ended");
            };
            let data = data?;
            self.body.flow_control().release_capacity(data.len())?;
            self.received.extend_from_slice(&data);
        }
    }

    /// Takes a message off, if one is there as a whole.
    fn take(&mut self) -> Option<Bytes> {
        let length = self.received.get(1..FRAME_HEAD_BYTES)?.get_u32() as usize;
        if self.received.len() < FRAME_HEAD_BYTES + length {
            return None;
        }
        self.received.advance(FRAME_HEAD_BYTES);
        let message = self.received.split_to(length).freeze();
        if self.received.is_empty() {
            // Thousands of streams wait in this process.
            self.received = BytesMut::new();
        }
        Some(message)
    }
}

fn check_status(headers: &HeaderMap) -> anyhow::Result<()> {
    match headers.get("grpc-status") {
        Some(status) if status == "0" => Ok(()),
        status => bail!("answered with gRPC status {status:?}, message {:?}", headers.get("grpc-message")),
    }
}
