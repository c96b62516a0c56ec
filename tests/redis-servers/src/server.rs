//! One server process.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::launch::launch;
use crate::patience::until;
use crate::{Error, Flavor, Options, Reply, reply};

/// The longest a process may take until it answers: a busy machine loads a program slowly.
const START_MAX: Duration = Duration::from_secs(30);

/// The end of a log that an error shows, in bytes: some dozen lines.
const LOG_BYTES_SHOWN: usize = 4_000;

/// Which program a process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Data,
    Sentinel,
}

/// What its process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It runs.
    Running,
    /// It is there and does nothing: [`Server::stop`].
    Stopped,
    /// There is none.
    Dead,
}

/// Where a server is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Where others find it.
    pub(crate) public: SocketAddr,
}

/// A server on one address and one directory, through all its processes.
///
/// Dropping it ends the process.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    role: Role,
    place: Place,
    dir: PathBuf,
    process: Mutex<Process>,
}

#[derive(Debug)]
struct Process {
    child: Option<Child>,
    stopped: bool,
}

impl Server {
    /// Starts a server that keeps everything in `dir`, and waits until it answers.
    pub(crate) async fn start(
        flavor: Flavor,
        role: Role,
        place: Place,
        dir: PathBuf,
        options: &Options,
    ) -> Result<Self, Error> {
        let program = flavor.binary()?;
        fs::create_dir_all(&dir).map_err(Error::io(format!("making {}", dir.display())))?;
        let configuration = configuration(role, place, &dir) + &options.lines();
        fs::write(dir.join(CONFIGURATION), configuration).map_err(Error::io("writing a configuration"))?;
        let process = Mutex::new(Process { child: None, stopped: false });
        let server = Self { program, role, place, dir, process };
        server.spawn().await?;
        Ok(server)
    }

    /// Where it listens. What is asked here goes past a proxy.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.place.address
    }

    /// Where clients and other servers find it: at its proxy, if it has one.
    #[must_use]
    pub const fn public(&self) -> SocketAddr {
        self.place.public
    }

    /// The folder of its files and its log.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What its process does now.
    #[must_use]
    pub fn life(&self) -> Life {
        let mut process = self.process();
        let stopped = process.stopped;
        match process.child.as_mut().map(Child::try_wait) {
            Some(Ok(None)) if stopped => Life::Stopped,
            Some(Ok(None)) => Life::Running,
            Some(Ok(Some(_)) | Err(_)) | None => Life::Dead,
        }
    }

    /// The id of its process, if there is one.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process().child.as_ref().map(Child::id)
    }

    /// Sends one command over a connection of its own.
    ///
    /// # Errors
    /// [`Error::Refused`] if the answer is an error, [`Error::Io`] if there is none.
    pub async fn ask<W: AsRef<[u8]>>(&self, command: &[W]) -> Result<Reply, Error> {
        match self.try_ask(command).await? {
            Reply::Error(answer) => {
                Err(Error::Refused { server: self.to_string(), command: shown(command), answer })
            }
            reply => Ok(reply),
        }
    }

    /// As [`Self::ask`], but an error is an answer like others.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no answer.
    pub async fn try_ask<W: AsRef<[u8]>>(&self, command: &[W]) -> Result<Reply, Error> {
        let what = || format!("asking {self}");
        reply::ask(self.address(), command).await.map_err(|error| Error::io(what())(error))
    }

    /// Ends its process by SIGKILL; without a process, nothing happens.
    pub fn kill(&self) {
        let mut process = self.process();
        process.stopped = false;
        if let Some(mut child) = process.child.take() {
            // Neither fails for a child that nobody has waited for.
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Stops its process by SIGSTOP: connections stay open and nothing is answered.
    ///
    /// # Errors
    /// [`Error::Nobody`] without a process.
    pub fn stop(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)
    }

    /// Lets a stopped process go on, by SIGCONT.
    ///
    /// # Errors
    /// [`Error::Nobody`] without a process.
    pub fn cont(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)
    }

    /// Kills its process, if there is one, and starts another on the same address and directory.
    ///
    /// # Errors
    /// It does not start.
    pub async fn restart(&self) -> Result<(), Error> {
        self.kill();
        self.spawn().await
    }

    /// Waits until a command is answered as `wanted` says.
    ///
    /// # Errors
    /// [`Error::TooLate`] after `bound`.
    pub async fn wait_for<W: AsRef<[u8]>>(
        &self,
        command: &[W],
        bound: Duration,
        wanted: impl Fn(&Reply) -> bool,
    ) -> Result<Reply, Error> {
        let what = format!("the awaited answer of {self} to `{}`", shown(command));
        until(&what, bound, async || {
            Ok(match self.try_ask(command).await {
                Ok(reply) if wanted(&reply) => Ok(reply),
                Ok(reply) => Err(format!("{reply:?}")),
                Err(error) => Err(error.to_string()),
            })
        })
        .await
    }

    async fn spawn(&self) -> Result<(), Error> {
        let configuration = self.dir.join(CONFIGURATION);
        let configuration = configuration.to_string_lossy();
        let arguments: &[&str] = match self.role {
            Role::Data => &[&configuration],
            Role::Sentinel => &[&configuration, "--sentinel"],
        };
        let child = launch(&self.program, arguments).await?;
        *self.process() = Process { child: Some(child), stopped: false };
        until(&format!("the first answer of {self}"), START_MAX, async || {
            if self.life() == Life::Dead {
                return Err(Error::Start { server: self.to_string(), log: self.end_of_log() });
            }
            Ok(match self.try_ask(&["PING"]).await {
                Ok(reply) if reply.text() == "PONG" => Ok(()),
                Ok(reply) => Err(format!("{reply:?}")),
                Err(error) => Err(error.to_string()),
            })
        })
        .await
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        let mut process = self.process();
        let child = process.child.as_ref().ok_or_else(|| Error::Nobody(format!("process of {self}")))?;
        kill_process(Pid::from_child(child), signal)
            .map_err(|error| Error::io(format!("a signal to {self}"))(error.into()))?;
        process.stopped = signal == Signal::STOP;
        Ok(())
    }

    /// The last lines that it wrote.
    #[must_use]
    pub fn end_of_log(&self) -> String {
        let log = fs::read(self.dir.join(LOG)).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_BYTES_SHOWN)..]).into_owned()
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let role = match self.role {
            Role::Data => "server",
            Role::Sentinel => "sentinel",
        };
        write!(f, "the {role} at {}", self.address())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The words of a command that an error shows: those that say what it was about.
const WORDS_SHOWN: usize = 4;

fn shown<W: AsRef<[u8]>>(command: &[W]) -> String {
    let words = command.iter().take(WORDS_SHOWN).map(|word| String::from_utf8_lossy(word.as_ref()));
    words.collect::<Vec<_>>().join(" ")
}

const CONFIGURATION: &str = "server.conf";
const LOG: &str = "server.log";

/// What every server of a test has.
fn configuration(role: Role, place: Place, dir: &Path) -> String {
    let (ip, port, public) = (place.address.ip(), place.address.port(), place.public.port());
    let dir = dir.display();
    // With the same source address as it listens on, others see it under the address that it has.
    let mut lines = format!(
        "bind {ip}\nbind-source-addr {ip}\nport {port}\nprotected-mode no\ndir \"{dir}\"\nlogfile {LOG}\n"
    );
    if role == Role::Data {
        // A replica's first copy waits for nobody else, and a primary looks for lost ones every second.
        lines += "save \"\"\nmaxmemory-policy noeviction\nrepl-diskless-sync-delay 0\n\
                  repl-ping-replica-period 1\n";
        lines += &format!("replica-announce-ip {ip}\nreplica-announce-port {public}\n");
    }
    lines
}
