//! The server, as a process that is killed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rand::rngs::StdRng;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::power::Power;

/// The longest a start may take: what a crash left is read back first.
const START_MAX: Duration = Duration::from_secs(30);

/// What the first line begins with.
const LISTENING: &str = "listening on ";

/// A server on one address and one directory, through all its processes.
pub(crate) struct Server {
    wts: PathBuf,
    data: PathBuf,
    power: Option<Power>,
    address: String,
    url: String,
    child: Option<Child>,
    kills: u32,
}

impl Server {
    pub(crate) fn new(wts: &Path, data: &Path, power: Option<Power>) -> anyhow::Result<Self> {
        // Clients come back to the same address; a port that was free a moment ago is.
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let url = format!("http://{address}");
        Ok(Self { wts: wts.to_owned(), data: data.to_owned(), power, address, url, child: None, kills: 0 })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) const fn kills(&self) -> u32 {
        self.kills
    }

    /// Starts a process and waits until it listens.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        let mut child = self.spawn()?;
        let stdout = child.stdout.take().context("the server has an output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = timeout(START_MAX, lines.next_line()).await.context("the server does not start")??;
        if !line.as_deref().is_some_and(|line| line.starts_with(LISTENING)) {
            let status = child.wait().await?;
            bail!("the server ended at its start with {status}: {line:?}");
        }
        // Somebody must read on, or the server would wait for room.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.child = Some(child);
        Ok(())
    }

    /// Starts a process and kills it after `life`, wherever it is then.
    pub(crate) async fn start_and_kill(&mut self, life: Duration, random: &mut StdRng) -> anyhow::Result<()> {
        self.child = Some(self.spawn()?);
        sleep(life).await;
        self.kill(random).await
    }

    fn spawn(&mut self) -> anyhow::Result<Child> {
        let mut command = Command::new(&self.wts);
        command
            .args(["serve", "--dev", "--log", "warn", "--no-reflection", "--listen", &self.address])
            .arg("--data")
            .arg(&self.data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(power) = &mut self.power {
            power.attach(&mut command)?;
        }
        command.spawn().with_context(|| format!("cannot start {}", self.wts.display()))
    }

    /// Kills the process; then the power is off as well, if it is to be.
    pub(crate) async fn kill(&mut self, random: &mut StdRng) -> anyhow::Result<()> {
        let mut child = self.child.take().context("the server runs")?;
        if let Some(status) = child.try_wait()? {
            bail!("the server ended by itself with {status}");
        }
        child.kill().await?;
        self.kills += 1;
        match &mut self.power {
            Some(power) => power.cut(random),
            None => Ok(()),
        }
    }

    /// Ends the last process.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        match self.child.take() {
            Some(mut child) => Ok(child.kill().await?),
            None => Ok(()),
        }
    }
}
