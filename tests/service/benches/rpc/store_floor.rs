//! The least that a sealed move can cost with a Redis: a bare tonic call and one run of the script that
//! commits it, with keys and arguments of the sizes that the service was heard to send.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue as _, Value};
use redis_servers::Server as Redis;
use tokio::net::TcpListener;
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tower::Service;

use crate::floor::{self, RawCodec};
use crate::heard::Commits;

/// Matches that take turns: more than calls are in flight.
const MATCHES: usize = 1_024;

/// Shards over which the matches are spread: as many as a store has, so that its keys are as many as there.
const SHARDS: usize = 256;

/// Commands that wait to be written at most, as the store has it.
const WAITING_MAX: usize = 1_024;

/// Tries of a commit: the first one after a pause learns the time.
const TRIES: usize = 8;

/// Where the floor finds what it is to send.
const SCRIPT: &str = "floor:script";
const HEAD: &str = "floor:head";
const ID: &str = "floor:id";
const KEYS: &str = "floor:keys";
const ARGUMENTS: [&str; 2] = ["floor:first", "floor:second"];
const ANSWER_BYTES: &str = "floor:answer-bytes";

/// The arguments that a floor fills in.
const EXPECTED: usize = 1;
const NEXT: usize = 2;
const STAMP: usize = 3;
const OUTAGE: usize = 4;
const NOT_AFTER: usize = 5;
const DEADLINE: usize = 6;

/// How long a commit may take, ms: what was heard is long past.
const PATIENCE_MS: u64 = 10_000;

/// What the script answers.
const COMMITTED: i64 = 1;
const RESTAMP: i64 = 3;

/// Puts what a floor is to send, and the size of its answers, into the Redis that it is to use.
pub(crate) async fn prepare(redis: &Redis, commits: &Commits, answer_bytes: usize) -> anyhow::Result<()> {
    let [first, second] = &commits.arguments;
    for (key, value) in [(SCRIPT, &commits.script), (HEAD, &commits.head)] {
        redis.ask(&[b"SET", key.as_bytes(), value]).await?;
    }
    redis.ask(&["SET", ID, &commits.id]).await?;
    redis.ask(&["SET", ANSWER_BYTES, &answer_bytes.to_string()]).await?;
    for (key, values) in [(KEYS, &commits.keys), (ARGUMENTS[0], first), (ARGUMENTS[1], second)] {
        let words = [b"RPUSH".as_slice(), key.as_bytes()];
        let words: Vec<&[u8]> = words.into_iter().chain(values.iter().map(Vec::as_slice)).collect();
        redis.ask(&words).await?;
    }
    Ok(())
}

/// Serves the floor on `listener` until `shutdown` resolves, over the Redis at `url`.
pub(crate) async fn serve(
    listener: TcpListener,
    url: &str,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    floor::serve_with(StoreFloor(Arc::new(Committer::open(url).await?)), listener, shutdown).await
}

/// It goes by the name of the real service, so that both are sent the same bytes.
#[derive(Clone)]
struct StoreFloor(Arc<Committer>);

impl NamedService for StoreFloor {
    const NAME: &'static str = wire::v1::match_service_server::SERVICE_NAME;
}

impl Service<Request<Body>> for StoreFloor {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let floor = self.clone();
        Box::pin(async move { Ok(Grpc::new(RawCodec).unary(floor, request).await) })
    }
}

impl UnaryService<Bytes> for StoreFloor {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<tonic::Response<Bytes>, Status>>;

    fn call(&mut self, _request: tonic::Request<Bytes>) -> Self::Future {
        let floor = Arc::clone(&self.0);
        Box::pin(async move {
            floor.commit().await.map_err(|error| Status::internal(error.to_string()))?;
            Ok(tonic::Response::new(floor.answer.clone()))
        })
    }
}

/// A match as the floor plays it.
struct Playing {
    shard: usize,
    keys: Vec<Vec<u8>>,
    arguments: [Vec<Vec<u8>>; 2],
    version: u64,
    deadline_ms: u64,
    /// Which of the turn's two seals is next.
    seal: usize,
}

/// The time of a shard as it was read last.
struct Reading {
    now_ms: u64,
    outage_ms: u64,
    at: Instant,
}

/// Makes commits, one a call.
struct Committer {
    connection: MultiplexedConnection,
    sha1: String,
    nonce: Vec<u8>,
    answer: Bytes,
    matches: Mutex<VecDeque<Playing>>,
    times: Vec<Mutex<Reading>>,
}

impl Committer {
    async fn open(url: &str) -> anyhow::Result<Self> {
        let config = AsyncConnectionConfig::new().set_pipeline_buffer_size(WAITING_MAX);
        let client = redis::Client::open(url)?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let script: String = redis::cmd("GET").arg(SCRIPT).query_async(&mut connection).await?;
        let sha1 = redis::cmd("SCRIPT").arg("LOAD").arg(script).query_async(&mut connection).await?;
        let head: Vec<u8> = redis::cmd("GET").arg(HEAD).query_async(&mut connection).await?;
        let id: String = redis::cmd("GET").arg(ID).query_async(&mut connection).await?;
        let answer_bytes: usize = redis::cmd("GET").arg(ANSWER_BYTES).query_async(&mut connection).await?;
        let mut lists = Vec::new();
        for key in [KEYS, ARGUMENTS[0], ARGUMENTS[1]] {
            let all: Vec<Vec<u8>> =
                redis::cmd("LRANGE").arg(key).arg(0).arg(-1).query_async(&mut connection).await?;
            lists.push(all);
        }
        let [keys, first, second] = <[_; 3]>::try_from(lists).ok().context("three lists")?;
        let (counter, nonce) =
            second.get(NEXT).and_then(|next| next.split_at_checked(8)).context("a version")?;
        let (version, nonce) = (u64::from_be_bytes(counter.try_into()?), nonce.to_vec());
        let deadline = second.get(DEADLINE).context("a deadline")?;
        let deadline_ms = std::str::from_utf8(deadline)?.parse()?;
        let heard_shard = shard_of(keys.first().context("a head")?).context("a key of a shard")?;
        let mut matches = VecDeque::with_capacity(MATCHES);
        for number in 0..MATCHES {
            // As long as those heard.
            let (own, shard) = (format!("{number:036}"), number % SHARDS);
            let own_shard = format!("{{s{shard:03}}}");
            let names = [(id.as_str(), own.as_str()), (&heard_shard, &own_shard)];
            let renamed = |words: &[Vec<u8>]| words.iter().map(|word| rename(word, names)).collect();
            let playing = Playing {
                shard,
                keys: renamed(&keys),
                arguments: [renamed(&first), renamed(&second)],
                version,
                deadline_ms,
                seal: 0,
            };
            let key = playing.keys.first().context("a head")?;
            let () = redis::cmd("SET").arg(key).arg(&head).query_async(&mut connection).await?;
            matches.push_back(playing);
        }
        let (s, us): (u64, u64) = redis::cmd("TIME").query_async(&mut connection).await?;
        let reading = || Reading { now_ms: s * 1_000 + us / 1_000, outage_ms: 0, at: Instant::now() };
        let times = (0..SHARDS).map(|_| Mutex::new(reading())).collect();
        let answer = Bytes::from(vec![0; answer_bytes]);
        Ok(Self { connection, sha1, nonce, answer, matches: Mutex::new(matches), times })
    }

    /// Commits the next seal of a match.
    async fn commit(&self) -> anyhow::Result<()> {
        let playing = self.matches.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let mut playing = playing.context("every match is busy")?;
        let next_deadline_ms = playing.deadline_ms + playing.seal as u64;
        for _ in 0..TRIES {
            let command = self.command(&playing, next_deadline_ms);
            let reply = self.connection.clone().req_packed_command(&command).await?;
            match self.read(playing.shard, reply)? {
                COMMITTED => {
                    playing.version += 1;
                    playing.deadline_ms = next_deadline_ms;
                    playing.seal = 1 - playing.seal;
                    self.matches.lock().unwrap_or_else(PoisonError::into_inner).push_back(playing);
                    return Ok(());
                }
                RESTAMP => {}
                status => bail!("a commit came to {status}"),
            }
        }
        bail!("a commit was tried in vain")
    }

    fn command(&self, playing: &Playing, next_deadline_ms: u64) -> Cmd {
        let (stamp_ms, outage_ms) = {
            let time = self.times[playing.shard].lock().unwrap_or_else(PoisonError::into_inner);
            (time.now_ms + time.at.elapsed().as_millis() as u64, time.outage_ms)
        };
        let mut command = redis::cmd("EVALSHA");
        command.arg(&self.sha1).arg(playing.keys.len());
        for key in &playing.keys {
            command.arg(key);
        }
        let version = |counter: u64| [counter.to_be_bytes().as_slice(), &self.nonce].concat();
        for (place, argument) in playing.arguments[playing.seal].iter().enumerate() {
            match place {
                EXPECTED => command.arg(version(playing.version)),
                NEXT => command.arg(version(playing.version + 1)),
                STAMP => command.arg(stamp_ms),
                OUTAGE => command.arg(outage_ms),
                NOT_AFTER => command.arg(stamp_ms + PATIENCE_MS),
                DEADLINE => command.arg(next_deadline_ms),
                _ => command.arg(argument),
            };
        }
        command
    }

    /// Takes note of the shard's time in a reply, and returns its status.
    fn read(&self, shard: usize, reply: Value) -> anyhow::Result<i64> {
        let Value::Array(entries) = reply else { bail!("a script answered {reply:?}") };
        ensure!(entries.len() >= 3, "a script answered too little");
        let mut entries = entries.into_iter().map(i64::from_redis_value);
        let mut number = || entries.next().context("a number").and_then(|number| Ok(number?));
        let (now_ms, outage_ms, status) = (number()? as u64, number()? as u64, number()?);
        let mut time = self.times[shard].lock().unwrap_or_else(PoisonError::into_inner);
        if time.now_ms <= now_ms {
            *time = Reading { now_ms, outage_ms, at: Instant::now() };
        }
        Ok(status)
    }
}

/// The part of a key that says where it lies, `{s007}`.
fn shard_of(key: &[u8]) -> Option<String> {
    let key = std::str::from_utf8(key).ok()?;
    Some(key.get(key.find('{')?..=key.find('}')?)?.to_owned())
}

/// The same word of another match in another shard.
fn rename(word: &[u8], names: [(&str, &str); 2]) -> Vec<u8> {
    match std::str::from_utf8(word) {
        Ok(text) => {
            names.iter().fold(text.to_owned(), |text, (heard, own)| text.replace(heard, own)).into_bytes()
        }
        Err(_) => word.to_vec(),
    }
}
