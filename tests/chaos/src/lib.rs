//! Several nodes over one Redis, whatever breaks while clients play.
//!
//! A run has real Redis servers, three `wts serve` processes over them, a network between clients and nodes,
//! and clients: pairs of players who play random matches in both seal modes and repeat what they asked,
//! also through other nodes; spectators, who resume by themselves; forgers, whose requests must be refused;
//! and matches that are left alone. A [`Scenario`] says what goes wrong meanwhile.
//!
//! Every answer is noted and judged by an account that knows the API alone: a turn is told once and alike by
//! every stream, an acknowledged seal is in the history, a request repeated gets the same answer, a refused
//! one changes nothing, a match ends when its stamps say so. Nobody receives the salt of a move before both
//! players have sent theirs: everything that a client sends and receives is overheard on its connection.
//! In the end the transcripts that each node gives are compared with each other and with what was told.
//!
//! The scenario `matchmaking` has other clients and an account of its own: players who look for each other.

mod abandoned;
mod account;
mod arena;
mod audit;
mod backing;
mod faults;
mod fleet;
mod forger;
mod lane;
mod matchmaking;
mod node;
mod report;
mod scenario;
mod seat;
mod secrets;
mod spectator;
mod tap;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use redis_servers::Flavor;
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

use crate::account::{Account, Break, Counts};
use crate::arena::{Arena, Phase};
use crate::faults::Span;
use crate::fleet::Fleet;
use crate::lane::Lane;
pub use crate::report::Report;
pub use crate::scenario::{Goal, Scenario};
use crate::secrets::Secrets;

/// Pairs that play at the same time: enough that commits share a batch.
const LANES: usize = 8;

/// Play before the first thing goes wrong.
const WARM_UP: Duration = Duration::from_millis(500);

/// How long all lanes may take to play on and come to an end once nothing goes wrong any more.
const FINISH_MAX: Duration = Duration::from_secs(60);

/// Time for a turn of a match that nobody plays.
const ABANDONED_TURN: Duration = Duration::from_secs(2);

/// What a run is to be.
#[derive(Clone, Debug)]
pub struct Order {
    /// The server's binary.
    pub wts: PathBuf,
    /// What goes wrong.
    pub scenario: Scenario,
    /// The servers' make.
    pub flavor: Flavor,
    /// How long things go wrong at least.
    pub span: Duration,
    /// What must have happened before they stop going wrong.
    pub goal: Goal,
    /// What moves and moments are drawn from.
    pub seed: u64,
    /// A run of some seconds: shorter faults, shorter clocks.
    pub is_short: bool,
}

/// Runs a scenario. To be called within a `LocalSet` on a runtime of one thread, which lives as long as the
/// process: the nodes end with the thread that starts them.
///
/// # Errors
/// Servers or nodes cannot be started, or end by themselves.
pub async fn run(order: &Order) -> anyhow::Result<Report> {
    if order.scenario == Scenario::Matchmaking {
        return matchmaking::run(order).await;
    }
    let Order { wts, scenario, flavor, span, goal, seed, is_short } = order;
    let mut random = StdRng::seed_from_u64(*seed);
    let secrets = Arc::new(Secrets::default());
    let fleet = Fleet::start(wts, *scenario, *flavor).await?;
    let arena = Arc::new(Arena {
        fleet,
        account: Account::new(Arc::clone(&secrets), scenario.is_lossless()),
        secrets,
        phase: watch::Sender::new(Phase::Play),
        manner: scenario.manner(*is_short),
    });
    let mut lanes = Vec::new();
    for number in 0..LANES {
        let lane = Lane::meet(&arena, number, random.random()).await.context("nobody is let in")?;
        lanes.push(spawn_local(lane.play()));
    }
    let left = abandoned::begin_and_leave(Arc::clone(&arena), LANES * 3, ABANDONED_TURN);
    let left = spawn_local(left);

    sleep(WARM_UP).await;
    let span = Span::new(*span, *goal, *is_short);
    faults::go_wrong(*scenario, &arena, &mut random, &span).await?;
    arena.fleet.backing.heal().await?;
    arena.phase.send_replace(Phase::Finish);
    let until = Instant::now() + FINISH_MAX;
    for lane in lanes {
        match tokio::time::timeout_at(until, lane).await {
            Ok(ended) => ended.context("a lane ended badly")?,
            Err(_) => {
                let what = format!("a match does not go on, one of {:?}", arena.account.held_up());
                arena.account.complain(Break::Stuck, what);
            }
        }
    }
    timeout(FINISH_MAX, left).await.context("matches are still begun")???;
    let notes = audit::audit(&arena, scenario.time()).await?;
    Ok(report(order, &arena, notes))
}

fn report(order: &Order, arena: &Arena, notes: Vec<String>) -> Report {
    let Counts { calls, failed, first_failed, reached, faults, broken, mut shown, mut recoveries } =
        arena.account.counts();
    let (leaked, leaks) = arena.secrets.leaks();
    shown.extend(leaks);
    let count = |how| broken.get(&how).copied().unwrap_or_default();
    recoveries.sort_unstable();
    let recovery_max = recoveries.last().copied().unwrap_or_default();
    if let Some(allowed) = order.scenario.recovery_allowed().filter(|allowed| recovery_max > *allowed) {
        shown.push(format!("a player was back after {recovery_max:?}, not within {allowed:?}"));
    }
    if order.scenario.answers_all() {
        shown.extend(first_failed);
    }
    if !reached.covers(order.goal) {
        shown.push(format!("it came to {reached:?} only, not to {:?}", order.goal));
    }
    Report {
        scenario: order.scenario.name(),
        server: order.flavor.name(),
        store: order.scenario.store().name(),
        seed: order.seed,
        figures: vec![
            // Things that were made to go wrong.
            ("faults", faults),
            // Calls of clients; a call that its client repeats by itself is one.
            ("calls", calls),
            // Calls of the Rust client that got no answer, for all its retries.
            ("failed", failed),
            // Seals that were acknowledged.
            ("acknowledged", reached.acknowledged),
            // Turns in which both players asked to seal at the same instant.
            ("at_once", reached.at_once),
            // What was acknowledged or told and is gone, without a word about it.
            ("lost", count(Break::Lost)),
            // What happened, was decided or was told in two ways.
            ("duplicated", count(Break::Duplicated)),
            // What somebody was told of another's unresolved move.
            ("leaked", leaked),
            // Matches, streams and follow-ups that did not go on.
            ("stuck", count(Break::Stuck)),
            // Decisions that the stamps do not lead to, and refused requests that had an effect.
            ("misjudged", count(Break::Misjudged)),
            // From a fault until a player's next acknowledged seal; half of them took less.
            ("recovery_ms_p50", ms(recoveries.get(recoveries.len() / 2).copied().unwrap_or_default())),
            // The longest of these.
            ("recovery_ms_max", ms(recovery_max)),
        ],
        broken: shown,
        notes,
    }
}

/// Whole milliseconds, for a report.
fn ms(duration: Duration) -> usize {
    usize::try_from(duration.as_millis()).unwrap_or(usize::MAX)
}
