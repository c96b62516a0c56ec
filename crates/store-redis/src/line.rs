//! A supervised connection to one server.
//!
//! It is made again whenever it breaks, with growing pauses of random length, so that nodes do not come
//! all at once. A call never waits for a dead server: once there has been no connection for
//! [`PATIENCE_MS`], calls fail at once. That is the circuit breaker; the attempts to connect close it.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{AsyncConnectionConfig, ConnectionAddr, IntoConnectionInfo as _, RedisResult, Value};
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

/// How long a ping may take, ms.
const PONG_MS: u64 = 1_000;

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
    /// A server that is no primary is no use.
    primary_only: bool,
}

impl Dialer {
    pub(crate) fn new(location: Arc<Location>, primary_only: bool) -> Self {
        Self { location, primary_only }
    }

    /// A dialer for sentinels: they have neither the servers' users nor databases.
    pub(crate) fn for_sentinels(location: &Location) -> Self {
        let location = Location { user: None, password: None, database: 0, ..location.clone() };
        Self { location: Arc::new(location), primary_only: false }
    }

    /// Connects. What the server sends unasked goes to `push`.
    pub(crate) async fn dial(
        &self,
        address: &Address,
        push: Option<Push>,
    ) -> RedisResult<MultiplexedConnection> {
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
        let address = ConnectionAddr::Tcp(address.host.clone(), address.port);
        let client = redis::Client::open(address.into_connection_info()?.set_redis_settings(settings))?;
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

/// What calls see of a line.
#[derive(Clone)]
struct State {
    connection: Option<MultiplexedConnection>,
    since: Instant,
}

/// A supervised connection. Dropping it ends it.
pub(crate) struct Line {
    state: watch::Receiver<State>,
    suspect: Arc<Notify>,
    supervisor: AbortHandle,
}

impl Line {
    /// Begins to connect.
    pub(crate) fn start(dialer: Dialer, address: Address) -> Self {
        let suspect = Arc::new(Notify::new());
        let (sender, state) = watch::channel(State { connection: None, since: Instant::now() });
        let supervision = supervise(dialer, address, sender, Arc::clone(&suspect));
        let supervisor = tokio::spawn(supervision).abort_handle();
        Self { state, suspect, supervisor }
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn send(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        let mut connection = self.connection().await?;
        let answer = connection.send_packed_command(command).await;
        match answer.map_err(|error| self.doubt(&error))? {
            Value::ServerError(error) => Err(Fault::of_server_error(&error)),
            value => Ok(value),
        }
    }

    /// Sends commands together and waits for all answers. An answer may be an error of the server.
    pub(crate) async fn send_all(&self, commands: &redis::Pipeline) -> Result<Vec<Value>, Fault> {
        let mut connection = self.connection().await?;
        let count = commands.len();
        let answers = connection.send_packed_commands(commands, 0, count).await;
        let answers = answers.map_err(|error| self.doubt(&error))?;
        if answers.len() == count { Ok(answers) } else { Err(Fault::Lost) }
    }

    /// The connection, or the one that follows it soon.
    async fn connection(&self) -> Result<MultiplexedConnection, Fault> {
        let mut state = self.state.clone();
        let State { connection, since } = state.borrow_and_update().clone();
        if let Some(connection) = connection {
            return Ok(connection);
        }
        let until = since + Duration::from_millis(PATIENCE_MS);
        let soon = tokio::time::timeout_at(until, state.wait_for(|state| state.connection.is_some()));
        let state = soon.await.map_err(|_| Fault::Down)?.map_err(|_| Fault::Down)?;
        state.connection.clone().ok_or(Fault::Down)
    }

    /// Has the connection looked at: something went wrong with it.
    fn doubt(&self, error: &redis::RedisError) -> Fault {
        let fault = Fault::of_error(error);
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
async fn supervise(dialer: Dialer, address: Address, state: watch::Sender<State>, suspect: Arc<Notify>) {
    let mut pause_ms = 0;
    loop {
        match dialer.dial(&address, None).await {
            Ok(connection) => {
                pause_ms = PAUSE_FIRST_MS;
                let up = State { connection: Some(connection.clone()), since: Instant::now() };
                state.send_replace(up);
                hold(connection, &suspect).await;
                state.send_replace(State { connection: None, since: Instant::now() });
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
        let _ = tokio::time::timeout(Duration::from_millis(PING_MS), suspect.notified()).await;
        let ping = redis::cmd("PING");
        let ping = connection.send_packed_command(&ping);
        match tokio::time::timeout(Duration::from_millis(PONG_MS), ping).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}
