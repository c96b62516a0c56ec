//! `wts demo`: a whole match between processes, watched and verified.

use std::ffi::OsString;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use futures::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;
use whattheshell::{Client, Finish, Player, Update};

use crate::demo_player::{INVITE_LINE, MATCH_LINE};
use crate::lines::Lines;
use crate::seating;

/// The longest a demo may take: a match of 500 turns on a busy machine.
const DEMO_MAX: Duration = Duration::from_secs(120);

/// The longest a process may take to say what it is asked for.
const LINE_MAX: Duration = Duration::from_secs(30);

/// The longest a process may take to end when its work is done.
const EXIT_MAX: Duration = Duration::from_secs(10);

/// What the server's first line begins with.
const LISTENING: &str = "listening on ";

const BLACK: &str = "players/demo-black";
const WHITE: &str = "players/demo-white";
const SPECTATOR: &str = "players/demo-spectator";

/// Options of `wts demo`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// What the players' choices are drawn from; the same seed plays the same match. Random if not given
    #[arg(long)]
    seed: Option<u64>,

    /// Play by commit and reveal: the server learns no move before both players are bound to theirs
    #[arg(long)]
    commit_reveal: bool,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Plays the demo.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let stage = Stage { lines: Lines { json: arguments.json }, commit_reveal: arguments.commit_reveal };
    runtime.block_on(async {
        // Whatever ends this block drops the processes, and a dropped process is killed.
        tokio::select! {
            played = timeout(DEMO_MAX, play(&stage, seed)) => {
                played.with_context(|| format!("the demo took longer than {} s", DEMO_MAX.as_secs()))??;
            }
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn play(stage: &Stage, seed: u64) -> anyhow::Result<()> {
    let mut server = Process::start(
        "server",
        &["serve", "--dev", "--volatile", "--listen", "127.0.0.1:0", "--log", "warn"],
    )?;
    let url = server.line(LISTENING).await?;
    let seeds = [seed, seed.wrapping_add(1)].map(|seed| seed.to_string());
    let common = ["demo-player", "--server", &url];
    let black = ["--as", BLACK, "--invite", WHITE, "--seed", &seeds[0]];
    let mode: &[&str] = if stage.commit_reveal { &["--commit-reveal"] } else { &[] };
    let mut black = Process::start("black", &[&common[..], &black, mode].concat())?;
    let invite = black.line(INVITE_LINE).await?;
    let white = ["--as", WHITE, "--accept", &invite, "--seed", &seeds[1]];
    let mut white = Process::start("white", &[&common[..], &white].concat())?;
    let name = white.line(MATCH_LINE).await?;
    stage.begin(&url, &name, seed)?;

    let client = Client::connect(&url).await.map_err(seating::explain)?;
    let spectator = seating::session(&client, None, Some(SPECTATOR)).await?;
    let finish = watch(stage, &spectator, &name).await?;
    let transcript = spectator.transcript(&name).await.map_err(seating::explain)?;
    let verified = spectator.verify_signed(&transcript).await.context("the transcript is not verified")?;
    ensure!(verified.finish.as_ref() == Some(&finish), "the transcript ends otherwise than the stream");
    stage.lines.verified(&verified)?;

    black.ended().await?;
    white.ended().await?;
    server.stop().await
}

/// Shows the match from its first turn to its end.
async fn watch(stage: &Stage, spectator: &Player, name: &str) -> anyhow::Result<Finish> {
    let mut updates = spectator.watch(name);
    while let Some(update) = updates.next().await {
        match update.map_err(seating::explain)? {
            Update::Turn(turn) => stage.lines.turn(&turn)?,
            Update::Finished(finish) => {
                stage.lines.finish(&finish)?;
                return Ok(finish);
            }
            _ => {}
        }
    }
    bail!("the stream ended before the match")
}

/// A process of the demo; killed when it is dropped.
struct Process {
    name: &'static str,
    child: Child,
    lines: tokio::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts this program again with other arguments.
    fn start(name: &'static str, arguments: &[&str]) -> anyhow::Result<Self> {
        let program: OsString = std::env::current_exe().context("the program does not find itself")?.into();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("the {name} process does not start"))?;
        let stdout = child.stdout.take().context("a process has no output")?;
        Ok(Self { name, child, lines: BufReader::new(stdout).lines() })
    }

    /// The rest of the next line of its output that begins with `what`.
    async fn line(&mut self, what: &str) -> anyhow::Result<String> {
        let wanted = async {
            while let Some(line) = self.lines.next_line().await? {
                if let Some(value) = line.strip_prefix(what) {
                    return Ok(value.to_owned());
                }
            }
            bail!("the {} process ended without a word", self.name)
        };
        timeout(LINE_MAX, wanted).await.with_context(|| format!("the {} process says nothing", self.name))?
    }

    /// Waits until it has done its work.
    async fn ended(mut self) -> anyhow::Result<()> {
        let status = timeout(EXIT_MAX, self.child.wait()).await;
        let status = status.with_context(|| format!("the {} process does not end", self.name))??;
        ensure!(status.success(), "the {} process failed: {status}", self.name);
        Ok(())
    }

    /// Ends it.
    async fn stop(mut self) -> anyhow::Result<()> {
        self.child.kill().await.with_context(|| format!("the {} process cannot be stopped", self.name))
    }
}

/// Where the match is shown: to people, or line by line to programs.
struct Stage {
    lines: Lines,
    commit_reveal: bool,
}

impl Stage {
    fn begin(&self, url: &str, name: &str, seed: u64) -> std::io::Result<()> {
        self.lines.show(
            &format!(
                "server {url}, {name}\n{BLACK} (B) against {WHITE} (W), each in a process of his own\
                 {}; --seed {seed} plays it again\n",
                if self.commit_reveal { ", by commit and reveal" } else { "" },
            ),
            json!({ "event": "begin", "server": url, "match": name, "black": BLACK, "white": WHITE,
                    "seed": seed, "commit_reveal": self.commit_reveal }),
        )
    }
}
