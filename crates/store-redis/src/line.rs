//! A supervised connection to one server.
//!
//! It is made again whenever it breaks, with growing pauses of random length, so that nodes do not come
//! all at once. A call never waits for a dead server: once there has been no connection for
//! [`PATIENCE_MS`], calls fail at once. That is the circuit breaker; the attempts to connect close it.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, IntoConnectionInfo as _, RedisResult, TlsCertificates, Value,
};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::fault::Fault;
use crate::location::{Address, Location};

/// How long an answer may take, ms. A script takes some µs; what takes longer is a server in trouble.
pub(crate) const ANSWER_MS: u64 = 1_000;

/// How long it may take to connect, ms.
const CONNECT_MS: u64 = 1_000;

/// Pause between two pings, ms.
const PING_MS: u64 = 500;

/// How long a ping may take, ms; and how long after something went wrong.
const PONG_MS: u64 = 1_000;
const PONG_DOUBTED_MS: u64 = 250;

/// How long a call waits for a connection that has just been lost, ms: making one on a healthy network
/// takes less.
const PATIENCE_MS: u64 = 250;

/// The first and the longest pause between two attempts to connect, ms.
const PAUSE_FIRST_MS: u64 = 20;
const PAUSE_MAX_MS: u64 = 1_000;

/// Commands that wait to be written at most; measured, 1,024 take 0.9 of the CPU of the default 50.
const WAITING_MAX: usize = 1_024;

/// Calls a function with what a server sends unasked.
pub(crate) type Push = Arc<dyn AsyncPushSender>;

/// How to connect to a server.
#[derive(Clone)]
pub(crate) struct Dialer {
    location: Arc<Location>,
    certificates: Arc<TlsCertificates>,
    /// A server that is no primary is no use.
    primary_only: bool,
    /// Where connections live, whoever calls.
    runtime: Handle,
}

impl Dialer {
    /// A dialer whose connections live in the runtime that this is called in.
    pub(crate) fn new(
        location: Arc<Location>,
        certificates: Arc<TlsCertificates>,
        primary_only: bool,
    ) -> Self {
        Self { location, certificates, primary_only, runtime: Handle::current() }
    }

    /// The same, for connections that live on another runtime.
    pub(crate) fn on(&self, runtime: Handle) -> Self {
        Self { runtime, ..self.clone() }
    }

    /// Whether its connections live on this runtime.
    pub(crate) fn is_on(&self, runtime: &Handle) -> bool {
        self.runtime.id() == runtime.id()
    }

    /// Runs something where the connections live.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.runtime.spawn(task).abort_handle()
    }

    /// A dialer for sentinels: they have neither the servers' users nor databases.
    pub(crate) fn for_sentinels(&self) -> Self {
        let location = Location { user: None, password: None, database: 0, ..(*self.location).clone() };
        Self { location: Arc::new(location), primary_only: false, ..self.clone() }
    }

    /// What connects to a server. Fails only if the certificates are none.
    pub(crate) fn client(&self, address: &Address) -> RedisResult<redis::Client> {
        let Location { user, password, database, .. } = self.location.as_ref();
        let mut settings = redis::RedisConnectionInfo::default()
            .set_db(*database)
            .set_protocol(redis::ProtocolVersion::RESP3);
        if let Some(user) = user {
            settings = settings.set_username(user);
        }
        if let Some(password) = password {
            settings = settings.set_password(password);
        }
        let (host, port) = (address.host.clone(), address.port);
        if self.location.tls {
            let address = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
            let info = address.into_connection_info()?.set_redis_settings(settings);
            return redis::Client::build_with_tls(info, (*self.certificates).clone());
        }
        let address = ConnectionAddr::Tcp(host, port);
        redis::Client::open(address.into_connection_info()?.set_redis_settings(settings))
    }

    /// Connects. What the server sends unasked goes to `push`.
    pub(crate) async fn dial(
        &self,
        address: &Address,
        push: Option<Push>,
    ) -> RedisResult<MultiplexedConnection> {
        let client = self.client(address)?;
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(Duration::from_millis(CONNECT_MS)))
            .set_response_timeout(Some(Duration::from_millis(ANSWER_MS)))
            .set_pipeline_buffer_size(WAITING_MAX);
        if let Some(push) = push {
            config = config.set_push_sender(push);
        }
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if self.primary_only && !is_primary(&mut connection).await? {
            let error = std::io::Error::other("the server is no primary");
            return Err(error.into());
        }
        Ok(connection)
    }
}

async fn is_primary(connection: &mut MultiplexedConnection) -> RedisResult<bool> {
    let role = connection.send_packed_command(&redis::cmd("ROLE")).await?;
    let Value::Array(role) = role else { return Ok(false) };
    Ok(matches!(role.first(), Some(Value::BulkString(role)) if role == b"master"))
}

/// A pause before the next attempt, ms: half of `pause_ms` and up to as much again.
pub(crate) fn jittered(pause_ms: u64) -> Duration {
    Duration::from_millis(pause_ms / 2 + rand::rng().random_range(0..=pause_ms.max(1)))
}

/// The next longer pause, ms.
pub(crate) fn longer(pause_ms: u64) -> u64 {
    (pause_ms * 2).clamp(PAUSE_FIRST_MS, PAUSE_MAX_MS)
}

/// Counts the connections that a line has had.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Generation(u64);

/// What calls see of a line.
#[derive(Clone)]
struct State {
    connection: Option<MultiplexedConnection>,
    generation: Generation,
    since: Instant,
}

impl State {
    /// There is no connection any more.
    fn lose(&mut self) {
        if self.connection.take().is_some() {
            self.since = Instant::now();
        }
    }
}

/// A supervised connection. Dropping it ends it.
pub(crate) struct Line {
    state: Arc<watch::Sender<State>>,
    suspect: Arc<Notify>,
    supervisor: AbortHandle,
}

impl Line {
    /// Begins to connect.
    pub(crate) fn start(dialer: &Dialer, address: Address) -> Self {
        let suspect = Arc::new(Notify::new());
        let none = State { connection: None, generation: Generation(0), since: Instant::now() };
        let state = Arc::new(watch::Sender::new(none));
        let supervision = supervise(dialer.clone(), address, Arc::clone(&state), Arc::clone(&suspect));
        let supervisor = dialer.spawn(supervision);
        Self { state, suspect, supervisor }
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn send(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        let (mut connection, generation) = self.connection().await?;
        let answer = connection.send_packed_command(command).await;
        match answer.map_err(|error| self.doubt(generation, &error))? {
            Value::ServerError(error) => Err(Fault::of_server_error(&error)),
            value => Ok(value),
        }
    }

    /// Sends commands together and waits for all answers. An answer may be an error of the server.
    pub(crate) async fn send_all(
        &self,
        commands: &redis::Pipeline,
    ) -> Result<(Vec<Value>, Generation), Fault> {
        let (mut connection, generation) = self.connection().await?;
        let count = commands.len();
        let answers = connection.send_packed_commands(commands, 0, count).await;
        let answers = answers.map_err(|error| self.doubt(generation, &error))?;
        if answers.len() == count { Ok((answers, generation)) } else { Err(Fault::Lost) }
    }

    /// Whether nobody connects any more: the runtime has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.supervisor.is_finished()
    }

    /// Whether calls fail at once.
    pub(crate) fn is_down(&self) -> bool {
        let state = self.state.borrow();
        state.connection.is_none() && state.since.elapsed() > Duration::from_millis(PATIENCE_MS)
    }

    /// The connection, or the one that follows it soon.
    async fn connection(&self) -> Result<(MultiplexedConnection, Generation), Fault> {
        let since = {
            let state = self.state.borrow();
            if let Some(connection) = &state.connection {
                return Ok((connection.clone(), state.generation));
            }
            state.since
        };
        let mut state = self.state.subscribe();
        let until = since + Duration::from_millis(PATIENCE_MS);
        let soon = tokio::time::timeout_at(until, state.wait_for(|state| state.connection.is_some()));
        let state = soon.await.map_err(|_| Fault::Down)?.map_err(|_| Fault::Down)?;
        state.connection.clone().map(|connection| (connection, state.generation)).ok_or(Fault::Down)
    }

    /// Something went wrong with a connection: one that broke is used no more, and another is looked at.
    fn doubt(&self, generation: Generation, error: &redis::RedisError) -> Fault {
        let fault = Fault::of_error(error);
        if fault == Fault::Lost {
            self.state.send_if_modified(|state| {
                let current = state.generation == generation && state.connection.is_some();
                if current {
                    state.lose();
                }
                current
            });
        }
        if fault.may_be_done() {
            self.suspect.notify_one();
        }
        fault
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

/// Connects, pings, and connects again, for ever.
async fn supervise(dialer: Dialer, address: Address, state: Arc<watch::Sender<State>>, suspect: Arc<Notify>) {
    let mut pause_ms = 0;
    for generation in 1.. {
        match dialer.dial(&address, None).await {
            Ok(connection) => {
                pause_ms = PAUSE_FIRST_MS;
                let generation = Generation(generation);
                let up = Some(connection.clone());
                state.send_replace(State { connection: up, generation, since: Instant::now() });
                hold(connection, &suspect).await;
                state.send_modify(State::lose);
                tracing::warn!(server = %address, "a connection was lost");
            }
            Err(error) => {
                pause_ms = longer(pause_ms);
                tracing::debug!(server = %address, kind = %error.category(), "cannot connect");
            }
        }
        tokio::time::sleep(jittered(pause_ms)).await;
    }
}

/// Returns once a connection is no good any more.
async fn hold(mut connection: MultiplexedConnection, suspect: &Notify) {
    loop {
        let doubted = tokio::time::timeout(Duration::from_millis(PING_MS), suspect.notified()).await;
        let pong_ms = if doubted.is_ok() { PONG_DOUBTED_MS } else { PONG_MS };
        let ping = redis::cmd("PING");
        let ping = connection.send_packed_command(&ping);
        match tokio::time::timeout(Duration::from_millis(pong_ms), ping).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}
