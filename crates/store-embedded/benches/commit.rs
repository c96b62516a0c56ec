//! What a durable commit costs, next to the same commit in memory.
//!
//! `cargo bench -p store-embedded --bench commit -- [--only NAME] [--json]`. So many matches are played
//! at once, each by a task that judges a seal and commits it. The three stores take turns, so that a busy
//! machine slows all alike.

// A bench is a program with a clock and a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use referee::{Command, Match, NewMatch, RequestId, SealCommand, SealedMove, Settings};
use rules::{Cell, PerSeat, Seat};
use sealing::{BoxKey, MatchId, Opening, Party, Salt};
use store::codec::Keyring;
use store::{Clock, Commit, CommitOutcome, Store, SystemClock};
use store_embedded::{Durability, EmbeddedStore, VolatileStore};

/// Rounds of which the median counts; odd, so that it is one of them.
const ROUNDS: usize = 11;

/// How long a round is.
const ROUND: Duration = Duration::from_millis(300);

/// Calls in flight at once.
const IN_FLIGHT: [u64; 4] = [1, 8, 64, 256];

/// Threads that make calls, as many as the machine that the figures are compared on has cores.
const THREADS: usize = 2;

/// Turns of a match, on one cell each: the last one fills the board.
const TURNS: u32 = 80;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("commit: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut only = None;
    let mut json = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo says so itself.
            "--bench" => {}
            "--json" => json = true,
            "--only" => only = Some(args.next().ok_or("--only needs a name")?),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    for in_flight in IN_FLIGHT {
        let [memory, process, power] = runtime.block_on(measure(in_flight))?;
        for (name, side) in [("commit_embedded", &power), ("commit_embedded_no_fsync", &process)] {
            if only.as_ref().is_none_or(|only| only == name) {
                side.print(name, &memory, in_flight, json);
            }
        }
    }
    Ok(())
}

/// The rounds of one store.
#[derive(Default)]
struct Side {
    per_s: Vec<f64>,
    cpu_us: Vec<f64>,
}

impl Side {
    fn print(&self, name: &str, floor: &Self, in_flight: u64, json: bool) {
        let (value, floor_value) = (median(&self.per_s), median(&floor.per_s));
        let ratios: Vec<f64> =
            self.per_s.iter().zip(&floor.per_s).map(|(value, floor)| value / floor).collect();
        let (ratio, cpu, floor_cpu) = (median(&ratios), median(&self.cpu_us), median(&floor.cpu_us));
        let conditions = format!(
            "{in_flight} in flight; floor: in memory; CPU {cpu:.1} us a commit, floor {floor_cpu:.1}; {ROUNDS} rounds"
        );
        if json {
            println!(
                r#"{{"name":"{name}","value":{value:.1},"unit":"commits/s","floor":{floor_value:.1},"ratio":{ratio:.3},"conditions":"{conditions}"}}"#
            );
        } else {
            println!("{name}: {value:.0} commits/s, floor {floor_value:.0}, ratio {ratio:.2} ({conditions})");
        }
    }
}

/// In memory, in a directory without fsync, and with it.
async fn measure(in_flight: u64) -> Result<[Side; 3], Box<dyn Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let places = [tempfile::tempdir()?, tempfile::tempdir()?];
    let open = |place: usize, durability| {
        let keyring = Keyring::new("box-1".parse().map_err(|_| "a key id")?, BoxKey::from_bytes(&[7; 32]));
        let store = EmbeddedStore::open_with(places[place].path(), Arc::clone(&clock), keyring, durability)?;
        Ok::<_, Box<dyn Error>>(Arc::new(store) as Arc<dyn Store>)
    };
    let stores = [
        Arc::new(VolatileStore::new(Arc::clone(&clock))) as Arc<dyn Store>,
        open(0, Durability::Process)?,
        open(1, Durability::Power)?,
    ];
    let mut sides = [Side::default(), Side::default(), Side::default()];
    let ids = Arc::new(AtomicU64::new(0));
    for _ in 0..ROUNDS {
        for (side, store) in sides.iter_mut().zip(&stores) {
            let (cpu_before, begin) = (cpu_us()?, Instant::now());
            let commits = round(store, in_flight, &ids).await? as f64;
            side.per_s.push(commits / begin.elapsed().as_secs_f64());
            side.cpu_us.push((cpu_us()? - cpu_before) / commits);
        }
    }
    Ok(sides)
}

/// Plays for a while and says how much was committed.
async fn round(store: &Arc<dyn Store>, in_flight: u64, ids: &Arc<AtomicU64>) -> Result<u64, Box<dyn Error>> {
    let over = Arc::new(AtomicBool::new(false));
    let mut players = Vec::new();
    for _ in 0..in_flight {
        let (store, ids, over) = (Arc::clone(store), Arc::clone(ids), Arc::clone(&over));
        players.push(tokio::spawn(async move {
            let mut commits = 0;
            while !over.load(Ordering::Relaxed) {
                commits += play(store.as_ref(), ids.fetch_add(1, Ordering::Relaxed), &over).await?;
            }
            Ok::<u64, String>(commits)
        }));
    }
    tokio::time::sleep(ROUND).await;
    over.store(true, Ordering::Relaxed);
    let mut commits = 0;
    for player in players {
        commits += player.await??;
    }
    Ok(commits)
}

/// Plays a match, as far as there is time.
async fn play(store: &dyn Store, number: u64, over: &AtomicBool) -> Result<u64, String> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    let id = MatchId::from_bytes(bytes);
    let party = |player: &str| Party { player: player.to_owned(), public_key: None };
    let parties = PerSeat { black: party("players/ann"), white: party("players/bob") };
    let new = NewMatch { id, settings: Settings::default(), parties, rematch_of: None, origin: None };
    let now = store.now(id).await.map_err(|error| error.to_string())?;
    let mut loaded =
        store.create(Match::create(new, now), bytes8(number)).await.map_err(|error| error.to_string())?;
    let joins = Seat::BOTH.map(|seat| Command::Join { seat });
    let seals = (1..=TURNS).flat_map(|turn| Seat::BOTH.map(|seat| seal(seat, turn)));
    let mut commits = 1;
    for command in joins.into_iter().chain(seals) {
        if over.load(Ordering::Relaxed) {
            break;
        }
        loop {
            let change = loaded.stored.head.apply(&command, loaded.now).change.ok_or("nothing changes")?;
            let expected = loaded.stored.version;
            let commit = Commit { expected, nonce: bytes8(commits), judged: loaded.now, change, trace: None };
            match store.commit(commit).await.map_err(|error| error.to_string())? {
                CommitOutcome::Committed(stored) => {
                    loaded.stored = stored;
                    break;
                }
                CommitOutcome::Restamp(now) => loaded.now = now,
                other => return Err(format!("{other:?}")),
            }
        }
        commits += 1;
        // In memory nothing is waited for; the others are to have their turn all the same.
        tokio::task::yield_now().await;
    }
    Ok(commits)
}

fn bytes8(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn seal(seat: Seat, turn: u32) -> Command {
    let cell = u8::try_from(turn).ok().and_then(Cell::from_number);
    let opening = Opening { cell: cell.expect("a turn up to 81"), salt: Salt::from_bytes([turn as u8; 32]) };
    Command::Seal(SealCommand {
        seat,
        turn,
        sealed: SealedMove::Opening(opening),
        previous: None,
        signature: None,
        key_id: "".into(),
        request_id: RequestId::new("0198c5a0-0000-7000-8000-00000000002a").expect("a request id"),
    })
}

/// CPU time of this process so far, all threads, µs.
fn cpu_us() -> Result<f64, Box<dyn Error>> {
    let mut sum_ns = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let ns: f64 = text.split(' ').next().ok_or("no figure")?.parse()?;
        sum_ns += ns;
    }
    Ok(sum_ns / 1_000.0)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
