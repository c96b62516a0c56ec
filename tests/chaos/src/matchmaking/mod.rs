//! The scenario `matchmaking`: many clients queue, cancel, die, join, stay away and resign while nodes are
//! killed, and every answer that they get is judged.
//!
//! A [`Client`] does what a player's device does, and notes what it is told in the [`ledger`]. Once nothing goes
//! wrong any more each survivor must be matched or queued, and the time until then is taken. Then all leave, and
//! the [`audit`] asks the service what became of every ticket and every match.

mod audit;
mod client;
mod ledger;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::sleep;
use whattheshell::prost_types::Duration as Span;
use whattheshell::v1::time_control::Control;
use whattheshell::{Error, Player, v1};

use self::client::{Client, Wish};
use self::ledger::{Breach, Ledger};
use crate::arena::CALL_MAX;
use crate::fleet::{Fleet, NODES};
use crate::secrets::Secrets;
use crate::tap;
use crate::{Order, Report, WARM_UP, ms};

/// Players of a long run, and of a short one.
const CLIENTS: usize = 1_000;
const CLIENTS_SHORT: usize = 100;

/// Players of a long run who ask for a match that nobody else wants, and die; and as many who ask for the same
/// once those are surely gone.
const GHOSTS: usize = 8;

/// How long a ticket lives that nobody renews.
const LEASE: Duration = Duration::from_secs(20);

/// How long after the start the ghosts have been dead for long enough, for certain.
const GHOSTS_GONE: Duration = Duration::from_secs(25);

/// Connections that the clients share: some to each node.
const CONNECTIONS: usize = 8 * NODES;

/// Clients that are let in at the same time.
const LET_IN_AT_ONCE: usize = 32;

/// How long players may take until they are matched or queued once nothing goes wrong any more.
const PLACED_MAX: Duration = Duration::from_secs(30);

/// How long matches may take to come to rest that time ends: the ready check, and a lease before it.
const AT_REST_MAX: Duration = Duration::from_secs(90);

/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The pool in which everybody looks for an opponent.
const POOL: &str = "ranked";

/// Where a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Things go wrong.
    Trouble,
    /// The last thing has gone wrong, at this moment.
    Calm(Instant),
}

/// What all clients of a run share.
struct Hall {
    fleet: Fleet,
    ledger: Ledger,
    stage: watch::Sender<Stage>,
}

impl Hall {
    fn stage(&self) -> Stage {
        *self.stage.borrow()
    }
}

/// Runs the scenario.
///
/// # Errors
/// Servers or nodes cannot be started, or end by themselves.
pub(crate) async fn run(order: &Order) -> anyhow::Result<Report> {
    let mut random = StdRng::seed_from_u64(order.seed);
    let fleet = Fleet::start(&order.wts, order.scenario, order.flavor).await?;
    let (ledger, stage) = (Ledger::default(), watch::Sender::new(Stage::Trouble));
    let hall = Rc::new(Hall { fleet, ledger, stage });
    let clients = let_in(&hall, order.is_short, &mut random).await.context("nobody is let in")?;
    let players: Vec<Player> = clients.iter().map(|client| client.sessions[0].clone()).collect();
    let clients: Vec<_> = clients.into_iter().map(|client| spawn_local(client.live())).collect();

    sleep(WARM_UP).await;
    kill_nodes(&hall, order, &mut random).await?;
    hall.stage.send_replace(Stage::Calm(Instant::now()));
    let mut survivors = Vec::new();
    for client in clients {
        survivors.extend(client.await.context("a client ended badly")?);
    }
    futures::future::join_all(survivors.into_iter().map(Client::leave)).await;
    if !order.is_short {
        come_to_rest(&hall).await?;
    }
    let found = audit::audit(&hall.ledger, &players).await?;
    Ok(report(order, &hall.ledger, &found))
}

/// Players who know how to be let in, each with a session over two nodes.
async fn let_in(hall: &Rc<Hall>, is_short: bool, random: &mut StdRng) -> Result<Vec<Client>, Error> {
    let addresses = hall.fleet.addresses();
    // Nobody moves in a match here, so there is nothing to overhear.
    let secrets = Arc::new(Secrets::default());
    let connection = |number| {
        let channel = tap::channel(&addresses, number % NODES, number, &secrets);
        whattheshell::Client::builder().deadline(CALL_MAX).over(channel)
    };
    let connections: Vec<_> = (0..CONNECTIONS).map(connection).collect();
    let wishes = wishes(is_short, random);
    let seeds: Vec<u64> = wishes.iter().map(|_| random.random()).collect();
    let clients = wishes.into_iter().zip(seeds).enumerate().map(|(who, (wish, seed))| {
        let over = [who, who + 1].map(|number| connections[number % CONNECTIONS].clone());
        async move {
            let token = over[0].mint_token(&name(who)).await?.token;
            let sessions = [over[0].player(&token)?, over[1].player(&token)?];
            let random = StdRng::seed_from_u64(seed);
            Ok::<_, Error>(Client::new(Rc::clone(hall), who, sessions, wish, random))
        }
    });
    let clients: Vec<Client> = stream::iter(clients).buffered(LET_IN_AT_ONCE).try_collect().await?;
    hall.ledger.knows(clients.len());
    Ok(clients)
}

fn name(who: usize) -> String {
    format!("players/queuer-{who}")
}

/// What each player wants.
fn wishes(is_short: bool, random: &mut StdRng) -> Vec<Wish> {
    let turn_time =
        |seconds| v1::TimeControl { control: Some(Control::TurnTime(Span { seconds, nanos: 0 })) };
    let [quick, slow, daily] = [10, 30, 24 * 60 * 60].map(turn_time);
    let mut wishes: Vec<Wish> = (0..if is_short { CLIENTS_SHORT } else { CLIENTS })
        .map(|_| Wish {
            time_controls: match random.random_range(0..3) {
                0 => vec![quick],
                1 => vec![slow],
                _ => vec![quick, slow],
            },
            ..Wish::default()
        })
        .collect();
    if !is_short {
        let first = wishes.len();
        let ghosts: Vec<String> = (first..first + GHOSTS).map(name).collect();
        let ghost =
            Wish { time_controls: vec![daily], excluded: ghosts, dies_at_once: true, ..Wish::default() };
        let seeker = Wish { excluded: Vec::new(), dies_at_once: false, after: GHOSTS_GONE, ..ghost.clone() };
        wishes.extend(std::iter::repeat_n(ghost, GHOSTS).chain(std::iter::repeat_n(seeker, GHOSTS)));
    }
    wishes
}

/// Kills one node or two of three, again and again, and starts them again.
async fn kill_nodes(hall: &Hall, order: &Order, random: &mut StdRng) -> anyhow::Result<()> {
    let until = Instant::now() + order.span;
    let life_ms = if order.is_short { 300..1_200 } else { 1_000..3_500 };
    while Instant::now() < until {
        sleep(Duration::from_millis(random.random_range(life_ms.clone()))).await;
        let first = Fleet::any(random);
        let second = random.random_ratio(1, 4).then_some((first + 1) % NODES);
        let nodes = || std::iter::once(first).chain(second);
        for node in nodes() {
            hall.ledger.fault();
            hall.fleet.kill(node).await?;
        }
        sleep(Duration::from_millis(random.random_range(0..1_000))).await;
        for node in nodes() {
            hall.fleet.start_again(node).await?;
        }
    }
    Ok(())
}

/// Waits until every match is over, and what follows from that is done.
async fn come_to_rest(hall: &Hall) -> anyhow::Result<()> {
    let until = Instant::now() + AT_REST_MAX;
    loop {
        let waiting = hall.fleet.backing.waiting().await?;
        if waiting == 0 {
            return Ok(());
        }
        if Instant::now() > until {
            hall.ledger.complain(Breach::Stuck, format!("{waiting} matches are neither over nor at rest"));
            return Ok(());
        }
        sleep(LOOK_EVERY).await;
    }
}

fn report(order: &Order, ledger: &Ledger, found: &audit::Found) -> Report {
    let counts = ledger.counts();
    let breaches = |breach| counts.breaches.get(&breach).copied().unwrap_or_default();
    let placed = |at: usize| counts.placed.get(at).copied().unwrap_or_default();
    let mut broken = counts.shown;
    // A run in which nothing happens shows nothing. In a short one hardly anybody sees that he waits again.
    let mut least = vec![(counts.cancelled, "cancelled"), (found.rated, "ended with a result")];
    least.extend((!order.is_short).then_some((counts.requeued, "requeued")));
    broken
        .extend(least.iter().filter(|(count, _)| *count == 0).map(|(_, what)| format!("nothing was {what}")));
    Report {
        scenario: order.scenario.name(),
        server: order.flavor.name(),
        store: order.scenario.store().name(),
        seed: order.seed,
        figures: vec![
            // Nodes that were killed.
            ("faults", counts.faults),
            // Calls of clients; a call that its client repeats by itself is one.
            ("calls", counts.calls),
            // Tickets that players were told of.
            ("queued", counts.queued),
            // Cancels that were confirmed.
            ("cancelled", counts.cancelled),
            // Players who stopped in the middle of it.
            ("died", counts.died),
            // Matches that there were, and those of them that ended with a result.
            ("matches", found.matches),
            ("rated", found.rated),
            // How often a player was told that he waits again.
            ("requeued", counts.requeued),
            // Two matches from a ticket, two tickets or two matches at a time, a player against himself.
            ("double", breaches(Breach::Double)),
            // Matches of those who had cancelled or were dead.
            ("ghost", breaches(Breach::Ghost)),
            // Players who were neither matched nor queued in time, and matches that did not end.
            ("stuck", breaches(Breach::Stuck)),
            // Ages that were lost, aborts at another time than the ready check's, matches not counted once.
            ("misjudged", breaches(Breach::Misjudged)),
            // From the last fault until a player was matched or queued: half of them took less.
            ("placed_ms_p50", ms(placed(counts.placed.len() / 2))),
            ("longest_ms", ms(placed(counts.placed.len().saturating_sub(1)))),
        ],
        broken,
        notes: Vec::new(),
    }
}
