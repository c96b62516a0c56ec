//! `wts serve`: the server.

use std::io::Write as _;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::builder::RangedU64ValueParser;
use clap::{ArgMatches, Args};
use middleware::TokenIssuer;
use service::{NodeConfig, Operators, Server};
use store::{Clock, SystemClock};
use store_embedded::EmbeddedStore;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

use crate::credentials::{self, Credentials};
use crate::store_options::{Opened, StoreOptions};
use crate::telemetry_options::TelemetryOptions;
use crate::tls_reload::Reload;
use crate::transport_options::TransportOptions;
use crate::trusted_accounts::{Followed, TrustedAccounts};
use crate::{backup_socket, configuration, pools_file};

/// What tokens name as their maker and as whom they are for.
const TOKEN_ISSUER: &str = "whattheshell";

/// Heartbeats more often than this cost more than they tell; rarer than a minute, phones give up.
const HEARTBEAT_S: std::ops::RangeInclusive<u64> = 1..=60;

/// Descriptors that connections leave to the store, the logs and the runtime. Without one, the store could
/// not open a file and would end the process.
const DESCRIPTORS_RESERVED: u64 = 256;

/// More threads than the cores of any one machine only wait for each other.
const WORKERS_MAX: u64 = 1_024;

/// Options of `wts serve`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Where to listen, ADDRESS:PORT; port 0 takes a free one
    #[arg(long, env = "WTS_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7654")]
    listen: SocketAddr,

    /// Where operators call, ADDRESS:PORT; port 0 takes a free one. Nowhere if not given. Keep it from players
    #[arg(long, env = "WTS_ADMIN_LISTEN", value_name = "ADDRESS:PORT")]
    admin_listen: Option<SocketAddr>,

    #[command(flatten)]
    store: StoreOptions,

    /// Development mode: everyone may mint a token for any player. Not for production
    #[arg(long, env = "WTS_DEV")]
    dev: bool,

    #[command(flatten)]
    credentials: Credentials,

    #[command(flatten)]
    accounts: TrustedAccounts,

    /// Keep players whose token has no age mark (`adult` or `guardian`) from strangers: they neither look for
    /// opponents in pools nor watch matches of others. Back ends answer for the players that they name
    #[arg(long, env = "WTS_REQUIRE_AGE_MARK")]
    require_age_mark: bool,

    /// What operators call this node, 1 to 64 of A-Z a-z 0-9 . _ -. Each node of a store is to have a name of its
    /// own; one that is drawn at each start if not given
    #[arg(long, env = "WTS_NODE_NAME", value_name = "NAME")]
    node_name: Option<String>,

    /// Seconds of silence after which a stream sends a heartbeat, 1 to 60
    #[arg(long, env = "WTS_HEARTBEAT_S", default_value_t = 10)]
    heartbeat_s: u64,

    /// Connections open at once; others wait until one ends. Kept below what the process may open
    #[arg(
        long,
        env = "WTS_CONNECTIONS_MAX",
        value_name = "CONNECTIONS",
        default_value_t = NodeConfig::default().connections_max,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    connections_max: usize,

    #[command(flatten)]
    transport: TransportOptions,

    /// Threads that serve connections, each of which stays with one of them. One a core if not given
    #[arg(
        long,
        env = "WTS_WORKERS",
        value_name = "THREADS",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=WORKERS_MAX)
    )]
    workers: Option<usize>,

    /// The pools that players find opponents in, a file of TOML. `casual` and `ranked` if not given. All nodes
    /// of a store are to have the same
    #[arg(long, env = "WTS_POOLS", value_name = "FILE")]
    pools: Option<PathBuf>,

    /// Do not tell clients the API's descriptors
    #[arg(long, env = "WTS_NO_REFLECTION")]
    no_reflection: bool,

    #[command(flatten)]
    telemetry: TelemetryOptions,

    /// Print every option with its value, its unit and where it came from, and start nothing
    #[arg(long)]
    print_config: bool,
}

/// Serves until it is told to stop. The matches say where the arguments came from.
pub(crate) fn run(arguments: &Arguments, matches: Option<&ArgMatches>) -> anyhow::Result<ExitCode> {
    if arguments.print_config {
        let matches = matches.context("the arguments have no source")?;
        let pools = pools_file::shown(arguments.pools.as_deref())?;
        configuration::print(&mut std::io::stdout().lock(), matches, &pools)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before anything is instrumented, and until everything else has ended.
    let telemetry = telemetry::start(&arguments.telemetry.options()?)?;
    // Connections of clients have threads of their own; what is left is little.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let Made { mut server, embedded, api_keys, accounts } = server(arguments).await?;
        let listener = listen(arguments.listen).await?;
        if let Some(address) = arguments.admin_listen {
            server.operators.listener = Some(listen(address).await?);
        }
        let for_operators = server.operators.listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let mut told = Told::listen()?;
        let reload = Reload::listen(server.config.tls.clone().zip(arguments.transport.tls_files()))?;
        if for_operators.is_some() != api_keys.has_operator() {
            warn!("operators need both: --admin-listen ADDRESS:PORT, and a key (`wts keys create operator NAME`)");
        }
        let doors = Doors {
            public: listener.local_addr()?,
            operators: for_operators,
            metrics: telemetry.metrics_address(),
        };
        greet(arguments, &doors, api_keys.has_backend() || arguments.transport.has_backend())?;
        let accounts = async {
            match accounts {
                Some(accounts) => accounts.follow().await,
                None => std::future::pending().await,
            }
        };
        let backups = async {
            match embedded {
                Some(store) => backup_socket::serve(arguments.store.directory(), store).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            served = server.serve(listener, async move { told.stop().await }) => served?,
            () = backups => {}
            never = api_keys.follow() => match never {},
            never = accounts => match never {},
            () = reload.run() => {}
        }
        Ok(ExitCode::SUCCESS)
    });
    telemetry.shutdown();
    served
}

/// A server that is ready to serve.
struct Made {
    server: Server,
    /// Its store, if that is in a directory.
    embedded: Option<Arc<EmbeddedStore>>,
    api_keys: credentials::Keys,
    accounts: Option<Followed>,
}

async fn server(arguments: &Arguments) -> anyhow::Result<Made> {
    if !HEARTBEAT_S.contains(&arguments.heartbeat_s) {
        bail!("--heartbeat-s is {} to {}", HEARTBEAT_S.start(), HEARTBEAT_S.end());
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let api_keys = arguments.credentials.load(arguments.store.own_directory())?;
    if arguments.node_name.as_deref().is_some_and(|name| !wire::is_id(name)) {
        bail!("--node-name is 1 to 64 of A-Z a-z 0-9 . _ -");
    }
    let heartbeat = Duration::from_secs(arguments.heartbeat_s);
    let pools = pools_file::pools(arguments.pools.as_deref())?;
    let accounts = arguments.accounts.load().await?;
    let has_reader = api_keys.has_backend() || arguments.transport.has_backend();
    let Opened { keys, store, embedded } = arguments.store.open(Arc::clone(&clock), has_reader).await?;
    let config = NodeConfig {
        heartbeat,
        dev: arguments.dev,
        shelters: arguments.require_age_mark,
        connections_max: connections_max(arguments.connections_max)?,
        workers: arguments.workers.unwrap_or_else(cores),
        match_retention: arguments.store.retention(),
        pools,
        name: arguments.node_name.clone(),
        ..NodeConfig::default()
    };
    let server = Server {
        store,
        clock,
        config: arguments.transport.set(config)?,
        issuer: keys
            .token_seeds()
            .fold(TokenIssuer::new(keys.token_seed(), TOKEN_ISSUER, TOKEN_ISSUER), TokenIssuer::accepting),
        signer: keys.signer(),
        trusted_issuer: accounts.as_ref().map(Followed::issuer),
        api_keys: api_keys.live(),
        request_secret: *keys.request_secret(),
        reflection: !arguments.no_reflection,
        operators: Operators { listener: None, key_file: arguments.store.key_file(), keys: keys.facts() },
    };
    Ok(Made { server, embedded, api_keys, accounts })
}

/// Cores that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// How many connections may be open at once: those asked for, as far as descriptors reach. The process
/// takes all that it may have; where that is little, half of it stays for the rest.
fn connections_max(asked: usize) -> anyhow::Result<usize> {
    let descriptors = rlimit::increase_nofile_limit(u64::MAX)
        .or_else(|_| rlimit::Resource::NOFILE.get_soft())
        .context("the limit of open files is not known")?;
    let left = descriptors - DESCRIPTORS_RESERVED.min(descriptors / 2);
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    if asked > left {
        warn!(asked, left, descriptors, "fewer connections than asked for: descriptors do not reach");
    }
    Ok(asked.min(left))
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("{address} cannot be listened on"))
}

/// Where a server can be reached.
struct Doors {
    public: SocketAddr,
    operators: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
}

/// Says where the server is and what to try next. The first lines, one a door, are for programs too.
fn greet(arguments: &Arguments, doors: &Doors, has_backend: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let address = doors.public;
    let url = format!("{}://{address}", arguments.transport.scheme());
    writeln!(out, "listening on {url}")?;
    if let Some(operators) = doors.operators {
        writeln!(out, "operators at http://{operators}")?;
    }
    if let Some(metrics) = doors.metrics {
        writeln!(out, "metrics on http://{metrics}/metrics")?;
    }
    writeln!(out, "{}", arguments.store)?;
    if arguments.dev {
        warn_dev(&mut out, address)?;
        writeln!(out, "\nTry next, in two more terminals:")?;
        writeln!(out, "  wts play --server {url} --as ann --invite bob")?;
        writeln!(out, "  wts play --server {url} --as bob --accept invites/…   (ann is shown it)")?;
        writeln!(out, "Or alone:\n  wts play --server {url} --as ann --bot 3")?;
    } else if !has_backend {
        let what = "start with --dev to try it, or make a key for a back end with";
        writeln!(out, "\nNobody can get a token: {what}\n  wts keys create backend NAME")?;
    }
    if !arguments.no_reflection {
        writeln!(out, "\nAny gRPC client can look around:")?;
        let plain = if url.starts_with("https") { "" } else { "--http2-prior-knowledge " };
        writeln!(out, "  buf curl --protocol grpc {plain}{url} --list-methods")?;
    }
    out.flush()?;
    Ok(())
}

fn warn_dev(out: &mut impl std::io::Write, address: SocketAddr) -> std::io::Result<()> {
    writeln!(out, "\n  !! DEVELOPMENT MODE, NOT FOR PRODUCTION !!")?;
    writeln!(out, "  Everyone may mint a token for any player, so nobody is who he says.")?;
    if !address.ip().is_loopback() {
        writeln!(out, "  This server can be reached from other machines.")?;
    }
    Ok(())
}

/// The signals that tell a process to stop.
struct Told {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Told {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
