//! Kills a server at random moments while clients play, and checks that nothing it acknowledged is lost,
//! nothing happened twice, and every match goes on.
//!
//! With `--power` each kill is a power cut: what the server had not synced is dropped, torn or kept at
//! random. A process that is only killed leaves its writes to the operating system, so a kill alone does
//! not show whether anything was synced at all.
//!
//! With `--fail-syncs` a sync of the journal fails in each process: it must end by itself, and must not
//! have acknowledged anything that the sync was to save. With `--ignore-syncs` the journal is never synced,
//! as if the store had forgotten to: a run that loses nothing then shows that losses are not found.
//!
//! With `--queue` players look for each other instead, and each process is killed right after the Nth thing that it
//! has stored: see [`queue`].

mod account;
mod pair;
mod power;
mod queue;
mod server;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use account::Account;
use anyhow::{Context as _, ensure};
use clap::Parser;
use pair::Pair;
use power::Power;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use server::Server;
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};
use whattheshell::Client;

/// Pairs that play at the same time: enough that commits share an fsync.
const PAIRS: usize = 8;

/// How long a server is let live once it listens, ms: from its first calls to some turns.
const LIFE_MS: std::ops::Range<u64> = 5..250;

/// Of how many kills one comes before the server listens.
const EARLY_KILL_ONE_OF: u32 = 8;

/// How long a server lives that is killed while it starts, ms.
const EARLY_LIFE_MS: std::ops::Range<u64> = 0..120;

/// Which of a process's syncs of its journal fails: from one of its start to one in full play.
const FAILING_SYNC: std::ops::Range<u32> = 1..60;

/// How long all matches may take to go on after the last restart.
const GO_ON_MAX: Duration = Duration::from_secs(60);

/// How long a call may take; a server that was killed is back sooner.
const CALL_MAX: Duration = Duration::from_secs(5);

#[derive(Parser)]
struct Arguments {
    /// The server's binary
    #[arg(long, value_name = "FILE")]
    wts: PathBuf,

    /// How often the server is killed
    #[arg(long)]
    kills: u32,

    /// What moments, moves and losses are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Cut the power: lose what was not synced
    #[arg(long)]
    power: bool,

    /// Have a sync of the journal fail instead of killing; cuts the power then
    #[arg(long, conflicts_with = "ignore_syncs")]
    fail_syncs: bool,

    /// Cut the power of a server whose journal is never synced: something must be lost
    #[arg(long)]
    ignore_syncs: bool,

    /// Have players look for each other, and kill the server after its Nth write, N swept
    #[arg(long, conflicts_with_all = ["power", "fail_syncs", "ignore_syncs"])]
    queue: bool,

    /// One JSON object on stdout
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(LocalSet::new().run_until(run(&arguments)))?;
    report.tell(arguments.json)?;
    Ok(if report.kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What came of it.
#[derive(Default)]
struct Report {
    kills: u32,
    acknowledged: usize,
    lost: usize,
    duplicated: usize,
    stuck: usize,
}

impl Report {
    /// A report without a complaint.
    fn so_far(server: &Server, account: &Account) -> Self {
        let acknowledged = account.acknowledged();
        Self { kills: server.kills(), acknowledged, lost: 0, duplicated: 0, stuck: 0 }
    }

    fn kept(&self) -> bool {
        self.lost == 0 && self.duplicated == 0 && self.stuck == 0
    }

    fn tell(&self, json: bool) -> std::io::Result<()> {
        let figures = [
            ("kills", self.kills as usize),
            ("acknowledged", self.acknowledged),
            ("lost", self.lost),
            ("duplicated", self.duplicated),
            ("stuck", self.stuck),
        ];
        let mut out = std::io::stdout().lock();
        if json {
            let object: serde_json::Map<_, _> =
                figures.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            return writeln!(out, "{}", serde_json::Value::Object(object));
        }
        for (name, value) in figures {
            writeln!(out, "{name:<14} {value}")?;
        }
        Ok(())
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let mut random = StdRng::seed_from_u64(arguments.seed);
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    std::fs::create_dir(&data)?;
    let traced = arguments.power || arguments.fail_syncs || arguments.ignore_syncs || arguments.queue;
    let power = traced.then(|| Power::prepare(place.path(), &data, arguments.ignore_syncs)).transpose()?;
    let mut server = Server::new(&arguments.wts, &data, power)?;

    if arguments.queue {
        return queue::run(arguments.kills, &mut server, &mut random).await;
    }
    server.start().await?;
    let account = Arc::new(Account::default());
    let client = Client::builder().deadline(CALL_MAX).connect(server.url()).await?;
    let (stop, stopping) = watch::channel(false);
    let mut players = Vec::new();
    for number in 0..PAIRS {
        let pair = Pair::meet(&client, number, random.random(), Arc::clone(&account)).await?;
        players.push(tokio::task::spawn_local(pair.play(stopping.clone())));
    }
    while server.kills() < arguments.kills {
        end_once_or_more(&mut server, arguments, &mut random).await?;
        if let Err(error) = server.start().await {
            writeln!(std::io::stderr(), "after kill {}: {error:#}", server.kills())?;
            return Ok(Report { stuck: PAIRS, ..Report::so_far(&server, &account) });
        }
    }
    stop.send_replace(true);
    let mut pairs = Vec::new();
    for player in players {
        pairs.push(timeout(GO_ON_MAX, player).await.context("a pair does not come to an end")??);
    }
    let mut stuck = 0;
    for pair in pairs {
        let went_on = timeout(GO_ON_MAX, pair.go_on()).await;
        stuck += usize::from(!matches!(went_on, Ok(Ok(()))));
    }
    ensure!(account.moves() > 0, "no move was acknowledged: nobody played");
    let (lost, duplicated) = account.audit().await?;
    server.stop().await?;
    Ok(Report { lost, duplicated, stuck, ..Report::so_far(&server, &account) })
}

/// Ends the process that runs, and some of its successors that do not live long.
async fn end_once_or_more(
    server: &mut Server,
    arguments: &Arguments,
    random: &mut StdRng,
) -> anyhow::Result<()> {
    sleep(Duration::from_millis(random.random_range(LIFE_MS))).await;
    server.kill(random).await?;
    while server.kills() < arguments.kills {
        if arguments.fail_syncs {
            server.start_and_fail(random.random_range(FAILING_SYNC), random).await?;
        } else if random.random_ratio(1, EARLY_KILL_ONE_OF) {
            let life = Duration::from_millis(random.random_range(EARLY_LIFE_MS));
            server.start_and_kill(life, random).await?;
        } else {
            break;
        }
    }
    Ok(())
}
