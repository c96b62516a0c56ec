//! The measured servers, each in a process of its own: this program started again.

use std::env;
use std::fs;
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::Context as _;
use middleware::{ApiKeys, TokenIssuer};
use referee::Stamp;
use service::{NodeConfig, Server};
use store::keys::Keys;
use store::{Clock, SystemClock};
use store_embedded::VolatileStore;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tracing_subscriber::EnvFilter;

use crate::floor;

/// The argument that makes this program a server.
pub(crate) const SERVE: &str = "--serve";

/// The key of the back end that the bench calls as. The server is gone when the bench ends.
pub(crate) const API_KEY: &str = "5d0c7f0f0b5e4e0f8a4b2f6d9c3a1e77";

/// Unit of the times in `/proc/PID/stat`, µs: Linux shows programs 100 ticks a second whatever its own.
const TICK_US: f64 = 10_000.0;

/// Which server a process is.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// The whole service on the volatile store, as `wts serve` puts it together.
    Service,
    /// The floor.
    Floor {
        /// Bytes of each answer's message.
        answer_bytes: usize,
    },
}

/// A server under way. It ends when this is dropped, or when this process does.
pub(crate) struct ServerProcess {
    /// Held for its stdin, which the server reads to the end.
    _child: Child,
    pid: u32,
    pub(crate) address: String,
}

impl ServerProcess {
    pub(crate) async fn start(role: Role) -> anyhow::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        if let Role::Floor { answer_bytes } = role {
            command.arg(answer_bytes.to_string());
        }
        let mut child = command.spawn()?;
        let pid = child.id().context("a server ended at once")?;
        let stdout = child.stdout.take().context("a server has no stdout")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address).await?;
        Ok(Self { _child: child, pid, address: address.trim_end().to_owned() })
    }

    /// CPU time that the process has taken so far, in user and kernel, µs.
    pub(crate) fn cpu_us(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The program's name, in parentheses, may hold anything; utime and stime are the 12th and 13th
        // field after it.
        let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat has no name")?;
        let ticks = fields.split_ascii_whitespace().skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? * TICK_US)
    }
}

/// Serves in this process until stdin ends. `answer_bytes` is that of the floor; none: the service.
///
/// The runtime is that of `wts serve`.
pub(crate) fn run(answer_bytes: Option<usize>) -> anyhow::Result<()> {
    // As of `wts serve`: a subscriber has its price even where nothing is logged.
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_new("info")?)
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut out = tokio::io::stdout();
        out.write_all(format!("{}\n", listener.local_addr()?).as_bytes()).await?;
        out.flush().await?;
        match answer_bytes {
            Some(answer_bytes) => floor::serve(listener, answer_bytes, stdin_ends()).await,
            None => Ok(service().serve(listener, stdin_ends()).await?),
        }
    })
}

fn service() -> Server {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let now = Stamp::from_ms(clock.now_ms());
    Server {
        store: Arc::new(VolatileStore::new(Arc::clone(&clock))),
        clock,
        config: NodeConfig::default(),
        issuer: TokenIssuer::new(&rand::random(), "whattheshell", "whattheshell"),
        signer: Keys::generate(now).signer(),
        api_keys: ApiKeys::new().backend("bench", ApiKeys::digest(API_KEY.as_bytes())),
        request_secret: rand::random(),
        reflection: true,
    }
}

/// Whoever started this process has ended, or wants it to end.
async fn stdin_ends() {
    let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
}
