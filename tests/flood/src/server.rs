//! The server under attack: `wts serve` as a process.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The longest a start may take on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);

/// A server in memory with its own limits, but for development mode, which mints for everyone. It ends with this.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Server {
    pub(crate) async fn start(wts: &Path) -> anyhow::Result<Self> {
        // The kernel kills it when this process is gone, however it ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(wts);
        command.args(["serve", "--dev", "--volatile", "--listen", "127.0.0.1:0"]);
        command.args(["--log", &std::env::var("WTS_LOG").unwrap_or_else(|_| "off".to_owned())]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("the server cannot be started")?;
        let mut lines = BufReader::new(child.stdout.take().context("it has an output")?).lines();
        let line = timeout(START_MAX, lines.next_line()).await.context("the server does not start")??;
        let address = line.as_deref().and_then(|line| line.strip_prefix("listening on http://"));
        let address = address.context("the server does not say where it listens")?.parse()?;
        // Somebody must read on, or it would wait for room.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { address, child })
    }

    /// Its resident memory, bytes.
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    }
}
