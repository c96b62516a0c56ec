//! The measured servers, each in a process of its own: this program started again.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use middleware::{Allowances, ApiKeys, TokenIssuer};
use referee::{Settings, Stamp};
use service::{NodeConfig, Operators, Pool, Pools, Server};
use store::keys::Keys;
use store::{Clock, Store, SystemClock};
use store_embedded::{Durability, EmbeddedStore, VolatileStore};
use store_redis::RedisStore;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::{floor, store_floor};

/// The argument that makes this program a server.
pub(crate) const SERVE: &str = "--serve";

/// The key of the back end that the bench calls as. The server is gone when the bench ends.
pub(crate) const API_KEY: &str = "5d0c7f0f0b5e4e0f8a4b2f6d9c3a1e77";

/// Unit of the times in `/proc/PID/stat`, µs: Linux shows programs 100 ticks a second whatever its own.
const TICK_US: f64 = 10_000.0;

/// Silence after which a stream has a heartbeat: short, so that a bench of idle streams need not wait
/// long until each has had one.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);

/// Which server a process is.
#[derive(Clone, Copy)]
pub(crate) enum Role<'a> {
    /// The whole service on the volatile store, as `wts serve` puts it together.
    Volatile,
    /// The whole service on a store in a directory.
    Embedded(Durability),
    /// The floor.
    Floor {
        /// Bytes of each answer's message.
        answer_bytes: usize,
    },
    /// The whole service on a Redis.
    Redis {
        url: &'a str,
        /// The file of the keys that all nodes of the store have.
        keys: &'a Path,
    },
    /// The same, which tells this collector and whoever scrapes all of itself, as `wts serve` does by default.
    ToldRedis { url: &'a str, keys: &'a Path, collector: &'a str },
    /// The floor with one script a call, on a Redis that [`store_floor::prepare`] has been at.
    StoreFloor { url: &'a str },
}

impl Role<'_> {
    /// The words that tell a process its role.
    fn arguments(self, directory: Option<&TempDir>) -> Vec<OsString> {
        let directory = || directory.map_or_else(OsString::new, |at| at.path().into());
        match self {
            Self::Volatile => vec!["volatile".into()],
            Self::Embedded(Durability::Power) => vec!["power".into(), directory()],
            Self::Embedded(Durability::Process) => vec!["process".into(), directory()],
            Self::Floor { answer_bytes } => vec!["floor".into(), answer_bytes.to_string().into()],
            Self::Redis { url, keys } => vec!["redis".into(), url.into(), keys.into()],
            Self::ToldRedis { url, keys, collector } => {
                vec!["told-redis".into(), url.into(), keys.into(), collector.into()]
            }
            Self::StoreFloor { url } => vec!["store-floor".into(), url.into()],
        }
    }
}

/// A server under way. It ends when this is dropped, or when this process does.
pub(crate) struct ServerProcess {
    child: Child,
    pid: u32,
    pub(crate) address: String,
    /// Where its metrics are, if it tells any.
    pub(crate) metrics: Option<SocketAddr>,
    /// What it stores; the last to go.
    _directory: Option<TempDir>,
}

impl ServerProcess {
    pub(crate) async fn start(role: Role<'_>) -> anyhow::Result<Self> {
        let directory = match role {
            // On the disk that the program was built on: what `/tmp` is differs.
            Role::Embedded(_) => Some(TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?),
            _ => None,
        };
        let mut command = Command::new(env::current_exe()?);
        command.arg(SERVE).args(role.arguments(directory.as_ref()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let pid = child.id().context("a server ended at once")?;
        let stdout = child.stdout.take().context("a server has no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let mut words = line.split_whitespace();
        let address = words.next().context("a server does not say where it is")?.to_owned();
        let metrics = words.next().map(str::parse).transpose()?;
        Ok(Self { child, pid, address, metrics, _directory: directory })
    }

    /// Ends the process, and then removes what it has stored.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Memory of the process that is in RAM, bytes.
    pub(crate) fn resident_bytes(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
        Ok(kib.context("/proc/PID/status has no VmRSS")?.trim().parse::<f64>()? * 1_024.0)
    }

    /// CPU time that the process has taken so far, in user and kernel, µs.
    pub(crate) fn cpu_us(&self) -> anyhow::Result<f64> {
        cpu_us(self.pid)
    }
}

/// CPU time that a process has taken so far, in user and kernel, µs.
pub(crate) fn cpu_us(pid: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The program's name, in parentheses, may hold anything; utime and stime are the 12th and 13th field
    // after it.
    let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat has no name")?;
    let ticks = fields.split_ascii_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? * TICK_US)
}

/// Serves in this process until stdin ends, in the role that the arguments say: its name and what belongs
/// to it.
///
/// The service is put together as by `wts serve`. The floors are served as tonic's documentation does it, on
/// one runtime whose threads share all tasks.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let (role, details) = arguments.split_first().context("no role")?;
    let role = role.to_str().context("no role")?;
    // As of `wts serve`: a subscriber has its price even where nothing is logged.
    let telemetry = telemetry::start(&telemetry(role, details)?)?;
    let runtime = match role {
        "floor" | "store-floor" => tokio::runtime::Builder::new_multi_thread().enable_all().build()?,
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build()?,
    };
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut out = tokio::io::stdout();
        let metrics = telemetry.metrics_address().map_or(String::new(), |address| address.to_string());
        out.write_all(format!("{} {metrics}\n", listener.local_addr()?).as_bytes()).await?;
        out.flush().await?;
        match role {
            "floor" => floor::serve(listener, word(details, 0)?.parse()?, stdin_ends()).await,
            "store-floor" => store_floor::serve(listener, word(details, 0)?, stdin_ends()).await,
            _ => {
                let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
                let keys = keys(role, details, &clock)?;
                let store = store(role, details, &clock, &keys).await?;
                Ok(service(store, clock, &keys).serve(listener, stdin_ends()).await?)
            }
        }
    })
}

/// What a server says of itself: nothing but a log, or everything, with traces as by default.
fn telemetry(role: &str, details: &[OsString]) -> anyhow::Result<telemetry::Options> {
    let collector = if role == "told-redis" { Some(word(details, 2)?.to_owned()) } else { None };
    Ok(telemetry::Options {
        service: "bench",
        version: "0",
        log_filter: "info".to_owned(),
        audit_target: middleware::AUDIT_TARGET,
        audit_log: None,
        log_format: telemetry::LogFormat::Pretty,
        metrics_listen: collector.is_some().then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        otlp_endpoint: collector,
        trace_ratio: 0.01,
    })
}

/// What belongs to the role, by its place.
fn word(details: &[OsString], place: usize) -> anyhow::Result<&str> {
    details.get(place).and_then(|word| word.to_str()).context("a role lacks a word")
}

fn keys(role: &str, details: &[OsString], clock: &Arc<dyn Clock>) -> anyhow::Result<Keys> {
    match role {
        "redis" | "told-redis" => Ok(Keys::load(Path::new(word(details, 1)?))?),
        _ => Ok(Keys::generate(Stamp::from_ms(clock.now_ms()))),
    }
}

async fn store(
    role: &str,
    details: &[OsString],
    clock: &Arc<dyn Clock>,
    keys: &Keys,
) -> anyhow::Result<Arc<dyn Store>> {
    let durability = match role {
        "volatile" => return Ok(Arc::new(VolatileStore::new(Arc::clone(clock)))),
        "redis" | "told-redis" => {
            let options = store_redis::Options::new(word(details, 0)?.parse()?);
            return Ok(Arc::new(RedisStore::open(options, keys.keyring()).await?));
        }
        "power" => Durability::Power,
        "process" => Durability::Process,
        other => anyhow::bail!("no server is called {other}"),
    };
    let directory = PathBuf::from(word(details, 0)?);
    let store = EmbeddedStore::open_with(&directory, Arc::clone(clock), keys.keyring(), durability)?;
    // As of `wts serve`, which keeps a feed only where a back end is named.
    Ok(Arc::new(store.with_feed(None)))
}

fn service(store: Arc<dyn Store>, clock: Arc<dyn Clock>, keys: &Keys) -> Server {
    Server {
        store,
        clock,
        config: NodeConfig {
            heartbeat: HEARTBEAT,
            workers: cores(),
            pools: pools(),
            // A few players do what thousands do.
            allowances: Allowances::UNBOUNDED,
            calls_in_flight_max: usize::MAX,
            connections_per_peer_max: usize::MAX,
            ..NodeConfig::default()
        },
        issuer: TokenIssuer::new(keys.token_seed(), "whattheshell", "whattheshell"),
        signer: keys.signer(),
        trusted_issuer: None,
        api_keys: ApiKeys::new().backend("bench", ApiKeys::digest(API_KEY.as_bytes())).into(),
        request_secret: *keys.request_secret(),
        reflection: true,
        operators: Operators::default(),
    }
}

/// The pools of `wts serve`, but that nobody who was paired has to come before the bench is over: what it takes to
/// end a match that nobody joined is not what is measured.
fn pools() -> Pools {
    let usual = Pools::default();
    let pools = usual.iter().cloned().map(|pool| {
        let start_ms = Some(Pools::START_MAX_MS);
        Pool { settings: Settings { start_ms, ..pool.settings.clone() }, ..pool }
    });
    Pools::new(pools.collect()).unwrap_or_default()
}

/// Cores of the machine, each of which has a thread that serves.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Whoever started this process has ended, or wants it to end.
async fn stdin_ends() {
    let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
}
