//! The server, as a process that is killed.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rand::rngs::StdRng;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::power::Power;

/// The longest a start may take: what a crash left is read back first.
const START_MAX: Duration = Duration::from_secs(30);

/// The longest a process may live on that a sync of its journal fails in: players keep it busy.
const FAILING_LIFE_MAX: Duration = Duration::from_secs(30);

/// The longest a process may live on that is killed by one of its syncs: players keep it busy.
const DYING_LIFE_MAX: Duration = Duration::from_secs(60);

/// The signal that nobody can catch.
const KILLED: i32 = 9;

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

    /// Starts a process in which this one of the journal's syncs fails, and waits until it has ended by
    /// itself; then the power is off as well, and what the sync was to save is lost.
    pub(crate) async fn start_and_fail(&mut self, sync: u32, random: &mut StdRng) -> anyhow::Result<()> {
        self.power.as_mut().context("only a traced process can fail")?.fail_sync(sync);
        let mut command = self.command()?;
        // It says why it ends: that is no news here unless something is wrong.
        let child = command.stderr(Stdio::piped()).spawn()?;
        let ended = timeout(FAILING_LIFE_MAX, child.wait_with_output()).await;
        let ended = ended.context("the server lives on after a failed sync")??;
        let (status, said) = (ended.status, String::from_utf8_lossy(&ended.stderr));
        ensure!(!status.success(), "after a failed sync the server ended as if all were well: {said}");
        self.kills += 1;
        let failed = self.power.as_mut().context("it was traced")?.cut(random)?;
        ensure!(failed, "the server ended with {status} before its sync {sync} failed: {said}");
        Ok(())
    }

    /// Starts a process that is killed right after this one of the journal's syncs, and waits until it is; then
    /// the power is off as well, so that nothing is there which was written later.
    pub(crate) async fn start_and_die(&mut self, sync: u32, random: &mut StdRng) -> anyhow::Result<()> {
        self.power.as_mut().context("only a traced process dies in time")?.kill_after_sync(sync);
        let mut child = self.spawn()?;
        let status = timeout(DYING_LIFE_MAX, child.wait()).await.context("the server is not killed")??;
        ensure!(status.signal() == Some(KILLED), "the server ended by itself with {status}");
        self.kills += 1;
        self.power.as_mut().context("it was traced")?.cut(random)?;
        Ok(())
    }

    fn spawn(&mut self) -> anyhow::Result<Child> {
        self.command()?.spawn().with_context(|| format!("cannot start {}", self.wts.display()))
    }

    /// What starts the next process.
    fn command(&mut self) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.wts);
        command
            .args([
                "serve",
                "--dev",
                "--log",
                "warn",
                "--no-reflection",
                "--listen",
                &self.address,
                "--player-calls-per-s",
                "1000000",
            ])
            .arg("--data")
            .arg(&self.data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(power) = &mut self.power {
            power.attach(&mut command)?;
        }
        Ok(command)
    }

    /// Kills the process; then the power is off as well, if it is to be.
    pub(crate) async fn kill(&mut self, random: &mut StdRng) -> anyhow::Result<()> {
        let mut child = self.child.take().context("the server runs")?;
        if let Some(status) = child.try_wait()? {
            bail!("the server ended by itself with {status}");
        }
        child.kill().await?;
        self.kills += 1;
        if let Some(power) = &mut self.power {
            power.cut(random)?;
        }
        Ok(())
    }

    /// Ends the last process.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        match self.child.take() {
            Some(mut child) => Ok(child.kill().await?),
            None => Ok(()),
        }
    }
}
