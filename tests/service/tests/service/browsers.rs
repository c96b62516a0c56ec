//! A12: a page of any origin calls over gRPC-Web and HTTP/1.1 on the same port, and can read what went
//! wrong, before the first message and after it.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use prost::Message as _;
use service_tests::{Caller, Cluster, soon};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tonic::{Code, Status};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

const ORIGIN: &str = "https://game.example";

/// The flag of a gRPC-Web frame that holds trailers.
const TRAILERS: u8 = 0x80;

/// An HTTP/1.1 exchange as a browser has it.
struct Exchange {
    status: u16,
    headers: HashMap<String, String>,
    body: BufReader<TcpStream>,
}

impl Exchange {
    async fn send(
        cluster: &Cluster,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Self {
        let address = cluster.nodes[0].address;
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\norigin: {ORIGIN}\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        soon("an HTTP answer", Self::read(BufReader::new(stream))).await
    }

    async fn read(mut body: BufReader<TcpStream>) -> Self {
        let status = line(&mut body).await.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            let line = line(&mut body).await;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        Self { status, headers, body }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The next chunk of the body; empty at its end.
    async fn chunk(&mut self) -> Vec<u8> {
        let size = soon("a chunk", line(&mut self.body)).await;
        let mut chunk = vec![0; usize::from_str_radix(&size, 16).unwrap()];
        soon("a chunk", self.body.read_exact(&mut chunk)).await.unwrap();
        soon("the end of a chunk", line(&mut self.body)).await;
        chunk
    }

    /// The whole body.
    async fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.header("transfer-encoding") != "chunked" {
            let length = self.header("content-length").parse().unwrap_or(0);
            bytes.resize(length, 0);
            self.body.read_exact(&mut bytes).await.unwrap();
            return bytes;
        }
        loop {
            let chunk = self.chunk().await;
            if chunk.is_empty() {
                return bytes;
            }
            bytes.extend(chunk);
        }
    }

    /// What a page can read: only headers that the answer exposes to it.
    fn exposed(&self, name: &str) -> Option<&str> {
        let exposed = self.header("access-control-expose-headers").to_ascii_lowercase();
        exposed.split(',').any(|exposed| exposed.trim() == name).then(|| self.header(name))
    }
}

async fn line(body: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    body.read_line(&mut line).await.unwrap();
    line.trim_end().to_owned()
}

/// A gRPC-Web call of a page.
async fn call(
    cluster: &Cluster,
    method: &str,
    caller: Option<&str>,
    message: &impl prost::Message,
) -> Exchange {
    let mut headers = vec![
        ("content-type", "application/grpc-web+proto"),
        ("accept", "application/grpc-web+proto"),
        ("x-grpc-web", "1"),
    ];
    headers.extend(caller.map(|token| ("authorization", token)));
    let path = format!("/whattheshell.v1.{method}");
    Exchange::send(cluster, "POST", &path, &headers, &frame(&message.encode_to_vec())).await
}

fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

/// The frames of a body: flag and content.
fn frames(mut body: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [flag, a, b, c, d, rest @ ..] = body {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        frames.push((*flag, rest[..length].to_vec()));
        body = &rest[length..];
    }
    frames
}

fn trailers(text: &[u8]) -> HashMap<String, String> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

/// The error that these values of `grpc-status`, `grpc-message` and `grpc-status-details-bin` make.
fn error(status: &str, message: &str, details: &str) -> ApiError {
    let details = STANDARD_NO_PAD.decode(details.trim_end_matches('=')).unwrap();
    let code = Code::from(status.parse::<i32>().unwrap());
    ApiError::from_status(&Status::with_details(code, message, details.into())).unwrap()
}

fn bearer(caller: &Caller) -> String {
    use tonic::service::Interceptor as _;
    let request = caller.credential.clone().call(tonic::Request::new(())).unwrap();
    request.metadata().get("authorization").unwrap().to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_page_of_another_origin_may_call() {
    let cluster = Cluster::of_one().await;
    let wanted = "authorization,content-type,grpc-timeout,x-grpc-web,x-user-agent";
    let headers = [("access-control-request-method", "POST"), ("access-control-request-headers", wanted)];
    let path = "/whattheshell.v1.MatchService/SealMove";
    let preflight = Exchange::send(&cluster, "OPTIONS", path, &headers, &[]).await;
    assert_eq!(preflight.status, 200);
    assert_eq!(preflight.header("access-control-allow-origin"), "*");
    assert!(preflight.header("access-control-allow-methods").contains("POST"));
    assert_eq!(preflight.header("access-control-allow-headers"), wanted);
    assert!(preflight.header("access-control-max-age").parse::<u32>().unwrap() > 0);
}

#[tokio::test]
async fn a_page_reads_an_answer_over_http_1() {
    let cluster = Cluster::of_one().await;
    let mut exchange =
        call(&cluster, "PlayerService/GetServerInfo", None, &v1::GetServerInfoRequest {}).await;
    assert_eq!(exchange.status, 200);
    assert_eq!(exchange.header("access-control-allow-origin"), "*");
    assert!(exchange.header("content-type").starts_with("application/grpc-web"));
    let body = frames(&exchange.bytes().await);
    assert_eq!(body.len(), 2, "a message and the trailers");
    let info = v1::GetServerInfoResponse::decode(body[0].1.as_slice()).unwrap();
    assert_eq!(info.rules_versions, ["wts-2026.1"]);
    assert_eq!(body[1].0, TRAILERS);
    assert_eq!(trailers(&body[1].1)["grpc-status"], "0");
}

#[tokio::test]
async fn a_page_reads_why_a_call_was_refused() {
    let cluster = Cluster::of_one().await;
    let ada = cluster.player(0, "ada").await;
    let token = bearer(&ada);
    let absent = v1::GetMatchRequest { name: "matches/none".to_owned(), ..Default::default() };
    for (caller, expected) in [(None, ErrorReason::TokenMissing), (Some(&*token), ErrorReason::NotFound)] {
        let exchange = call(&cluster, "MatchService/GetMatch", caller, &absent).await;
        assert_eq!(exchange.status, 200);
        assert_eq!(exchange.header("access-control-allow-origin"), "*");
        let [status, message, details] = ["grpc-status", "grpc-message", "grpc-status-details-bin"]
            .map(|name| exchange.exposed(name).expect("a page can read it"));
        let error = error(status, message, details);
        assert_eq!(error.reason(), expected);
        assert!(!message.is_empty());
    }
}

#[tokio::test]
async fn a_page_reads_why_a_stream_ended_after_its_first_messages() {
    let mut cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    duel.play(1, "A1", "I9").await;
    let token = bearer(&duel.black);
    let watch = v1::WatchMatchRequest { name: duel.name.clone(), ..Default::default() };
    let mut exchange = call(&cluster, "MatchService/WatchMatch", Some(&token), &watch).await;
    let mut body = Vec::new();
    while frames(&body).len() < 2 {
        body.extend(exchange.chunk().await);
    }
    cluster.nodes[0].stop();
    body.extend(exchange.bytes().await);
    let (flag, last) = frames(&body).pop().unwrap();
    assert_eq!(flag, TRAILERS);
    let trailers = trailers(&last);
    let error =
        error(&trailers["grpc-status"], &trailers["grpc-message"], &trailers["grpc-status-details-bin"]);
    assert_eq!((error.reason(), error.after_turn()), (ErrorReason::ResumeElsewhere, Some(1)));
}
