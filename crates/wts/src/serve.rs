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
use middleware::{ApiKeys, TokenIssuer};
use service::{NodeConfig, Operators, Server};
use store::{Clock, SystemClock};
use store_embedded::EmbeddedStore;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;
use tracing_subscriber::EnvFilter;

use crate::store_options::{Opened, StoreOptions};
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

    /// A back end that may act for players and mint their tokens, NAME=SHA256 of its API key in hex;
    /// may be repeated
    #[arg(long = "backend", env = "WTS_BACKENDS", value_delimiter = ',', value_name = "NAME=SHA256")]
    backends: Vec<String>,

    /// An operator who may call at --admin-listen, NAME=SHA256 of his API key in hex; may be repeated
    #[arg(long = "operator", env = "WTS_OPERATORS", value_delimiter = ',', value_name = "NAME=SHA256")]
    operators: Vec<String>,

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

    /// What to log, as tracing's filters say it: `info`, `service=debug`
    #[arg(long, env = "WTS_LOG", value_name = "FILTER", default_value = "info")]
    log: String,

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
    let filter = EnvFilter::try_new(&arguments.log).context("--log is not a filter")?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    // Connections of clients have threads of their own; what is left is little.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut server, embedded) = server(arguments).await?;
        let listener = listen(arguments.listen).await?;
        if let Some(address) = arguments.admin_listen {
            server.operators.listener = Some(listen(address).await?);
        }
        let for_operators = server.operators.listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let mut told = Told::listen()?;
        greet(arguments, listener.local_addr()?, for_operators)?;
        let backups = async {
            match embedded {
                Some(store) => backup_socket::serve(arguments.store.directory(), store).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            served = server.serve(listener, async move { told.stop().await }) => served?,
            () = backups => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The server, and its store if that is in a directory.
async fn server(arguments: &Arguments) -> anyhow::Result<(Server, Option<Arc<EmbeddedStore>>)> {
    if !HEARTBEAT_S.contains(&arguments.heartbeat_s) {
        bail!("--heartbeat-s is {} to {}", HEARTBEAT_S.start(), HEARTBEAT_S.end());
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let api_keys = api_keys(arguments)?;
    if arguments.node_name.as_deref().is_some_and(|name| !wire::is_id(name)) {
        bail!("--node-name is 1 to 64 of A-Z a-z 0-9 . _ -");
    }
    let heartbeat = Duration::from_secs(arguments.heartbeat_s);
    let pools = pools_file::pools(arguments.pools.as_deref())?;
    let has_reader = !arguments.backends.is_empty();
    let Opened { keys, store, embedded } = arguments.store.open(Arc::clone(&clock), has_reader).await?;
    let server = Server {
        store,
        clock,
        config: NodeConfig {
            heartbeat,
            dev: arguments.dev,
            connections_max: connections_max(arguments.connections_max)?,
            workers: arguments.workers.unwrap_or_else(cores),
            match_retention: arguments.store.retention(),
            pools,
            name: arguments.node_name.clone(),
            ..NodeConfig::default()
        },
        issuer: keys
            .token_seeds()
            .fold(TokenIssuer::new(keys.token_seed(), TOKEN_ISSUER, TOKEN_ISSUER), TokenIssuer::accepting),
        signer: keys.signer(),
        api_keys,
        request_secret: *keys.request_secret(),
        reflection: !arguments.no_reflection,
        operators: Operators { listener: None, key_file: arguments.store.key_file(), keys: keys.facts() },
    };
    Ok((server, embedded))
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

/// Who holds which key.
fn api_keys(arguments: &Arguments) -> anyhow::Result<ApiKeys> {
    let mut api_keys = ApiKeys::new();
    for backend in &arguments.backends {
        let (name, digest) = parse_holder("--backend", backend)?;
        api_keys = api_keys.backend(name, digest);
    }
    for operator in &arguments.operators {
        let (name, digest) = parse_holder("--operator", operator)?;
        api_keys = api_keys.operator(name, digest);
    }
    Ok(api_keys)
}

/// `NAME=SHA256`: the key itself is never told to the server.
fn parse_holder<'a>(option: &str, text: &'a str) -> anyhow::Result<(&'a str, [u8; 32])> {
    let wrong = || format!("{option} {text}: it is NAME=SHA256, 64 hexadecimal digits after the name");
    let (name, hex) = text.split_once('=').with_context(wrong)?;
    let digits = hex.as_bytes();
    if !wire::is_id(name) || digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        bail!(wrong());
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair)?, 16).with_context(wrong)?;
    }
    Ok((name, digest))
}

/// Says where the server is and what to try next. The first line is for programs too, and so is the next where there
/// is a listener for operators.
fn greet(
    arguments: &Arguments,
    address: SocketAddr,
    for_operators: Option<SocketAddr>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "listening on http://{address}")?;
    if let Some(address) = for_operators {
        writeln!(out, "operators at http://{address}")?;
    }
    if for_operators.is_some() == arguments.operators.is_empty() {
        warn!("operators need both: --admin-listen ADDRESS:PORT, and --operator NAME=SHA256 for each");
    }
    writeln!(out, "{}", arguments.store)?;
    if arguments.dev {
        warn_dev(&mut out, address)?;
        writeln!(out, "\nTry next, in two more terminals:")?;
        writeln!(out, "  wts play --server http://{address} --as ann --invite bob")?;
        writeln!(
            out,
            "  wts play --server http://{address} --as bob --accept invites/…   (ann is shown it)"
        )?;
        writeln!(out, "Or alone:\n  wts play --server http://{address} --as ann --bot 3")?;
    } else if arguments.backends.is_empty() {
        writeln!(out, "\nNobody can get a token: start with --dev to try it, or name a back end with")?;
        writeln!(out, "  --backend NAME=$(printf %s \"$KEY\" | sha256sum | cut -d' ' -f1)")?;
    }
    if !arguments.no_reflection {
        writeln!(out, "\nAny gRPC client can look around:")?;
        writeln!(out, "  buf curl --protocol grpc --http2-prior-knowledge http://{address} --list-methods")?;
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
