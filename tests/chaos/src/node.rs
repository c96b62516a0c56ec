//! One node: `wts serve` as a process that is killed, stopped and started again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The longest a start may take on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);

/// The longest a node may take to end that is told to.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// What the first line begins with.
const LISTENING: &str = "listening on ";

/// What a node serves, and by which clock.
pub(crate) struct Order {
    pub(crate) wts: PathBuf,
    pub(crate) store: String,
    pub(crate) durability: String,
    pub(crate) keys: PathBuf,
    pub(crate) address: SocketAddr,
    /// Silence after which a stream sends a heartbeat, whole seconds.
    pub(crate) heartbeat: Duration,
    /// The library that sets its wall clock off, and by how many seconds.
    pub(crate) skew: Option<(PathBuf, i64)>,
}

/// A node on one address, through all its processes.
pub(crate) struct Node {
    order: Order,
    child: Option<Child>,
}

impl Node {
    /// A node that does not run yet.
    pub(crate) fn new(order: Order) -> Self {
        Self { order, child: None }
    }

    /// Starts a process and waits until it listens.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        let mut child = self.command().spawn().context("a node cannot be started")?;
        let stdout = child.stdout.take().context("a node has an output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = timeout(START_MAX, lines.next_line()).await.context("a node does not start")??;
        if !line.as_deref().is_some_and(|line| line.starts_with(LISTENING)) {
            bail!("a node ended at its start with {}: {line:?}", child.wait().await?);
        }
        // Somebody must read on, or the node would wait for room.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.child = Some(child);
        Ok(())
    }

    fn command(&self) -> Command {
        let Order { wts, store, durability, keys, address, heartbeat, skew } = &self.order;
        // The kernel kills it when this process is gone, however it ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(wts);
        command.args(["serve", "--dev", "--no-reflection"]);
        command.args(["--heartbeat-s", &heartbeat.as_secs().to_string()]);
        command.args(["--listen", &address.to_string(), "--store", store, "--durability", durability]);
        command.arg("--keys").arg(keys);
        // A few players do what thousands do, all from one address.
        command.args(["--player-calls-per-s", "1000000", "--anonymous-calls-per-s", "1000000"]);
        command.args(["--connections-per-peer-max", "10000"]);
        command.args(["--log", &std::env::var("WTS_LOG").unwrap_or_else(|_| "off".to_owned())]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        if let Some((shim, seconds)) = skew {
            command.env("LD_PRELOAD", shim).env("CLOCK_SKEW_S", seconds.to_string());
        }
        command
    }

    /// Ends its process by SIGKILL.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        let mut child = self.child.take().context("a node runs")?;
        if let Some(status) = child.try_wait()? {
            bail!("a node ended by itself with {status}");
        }
        Ok(child.kill().await?)
    }

    /// Tells its process to end and waits until it has.
    pub(crate) async fn drain(&mut self) -> anyhow::Result<()> {
        let mut child = self.child.take().context("a node runs")?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(id.context("a node ended by itself")?, Signal::TERM)?;
        let status = timeout(DRAIN_MAX, child.wait()).await.context("a node does not end")??;
        if !status.success() {
            bail!("a node that was told to end did so with {status}");
        }
        Ok(())
    }
}

/// Builds the library that sets a process's wall clock off.
pub(crate) fn build_shim(directory: &Path) -> anyhow::Result<PathBuf> {
    let (source, shim) = (directory.join("clock.c"), directory.join("clock.so"));
    std::fs::write(&source, include_str!("../shim/clock.c"))?;
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&shim).arg(&source);
    if !compiler.status().context("cannot start cc")?.success() {
        bail!("the shim does not compile");
    }
    Ok(shim)
}
