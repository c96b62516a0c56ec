//! One run: nodes over a store, players over a network, faults at their times, and the judge beside them.

use std::sync::{Arc, Mutex, OnceLock};

use middleware::{LiveApiKeys, TokenIssuer};
use referee::Stamp;
use rules::Seat;
use sealing::MatchId;
use service::{NodeConfig, Operators, Pools, Server};
use store::keys::{Keys, Signer};
use store::{Clock, NodeId, Store};
use tokio::sync::watch;
use wire::v1;

use crate::START_MS;
use crate::back_end::BackEnd;
use crate::caller::Caller;
use crate::flaw::Flawed;
use crate::link::Link;
use crate::model_store::ModelStore;
use crate::network::{Live, Network};
use crate::node_clock::NodeClock;
use crate::oracle::{Oracle, Violation};
use crate::plan::{FaultKind, GamePlan, Plan};
use crate::player::{Player, milliseconds};
use crate::primary::Primary;
use crate::reader::{Reader, View};
use crate::scheduler::{Handle, Owner, Progress, Scheduler, lock};
use crate::weather::Weather;

/// How long after the last fault every match must be over, ms: far longer than all turns of one take.
const END_MAX_MS: u64 = 15 * 60 * 1_000;

/// Steps after which a run is taken to go in circles.
const STEPS_MAX: u64 = 5_000_000;

/// How long a draining node lives on, ms.
const DRAIN_MS: u64 = 300;

/// Pause between two looks at whether a match is over, ms.
const LOOK_MS: u64 = 500;

/// How often a node is asked for a transcript at the end, and how often follow-ups and what the feed has told are
/// looked for.
const LOOKS_MAX: u32 = 60;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Steps of all tasks.
    pub steps: u64,
    /// What went wrong on purpose.
    pub faults: u64,
    /// What went wrong in earnest.
    pub violation: Option<Violation>,
    /// What happened, if it was to be noted.
    pub trace: Vec<String>,
}

/// Everything that tasks of a run share.
struct World {
    handle: Handle,
    weather: Arc<Weather>,
    primary: Arc<Primary>,
    network: Arc<Network>,
    oracle: Arc<Oracle>,
    plan: Plan,
    signer: Signer,
    /// Lives of nodes so far, and matches that are over.
    lives: Mutex<u32>,
    over: Mutex<Vec<bool>>,
}

/// Runs a plan. With `traced`, what happens is noted.
#[must_use]
pub fn run(plan: &Plan, traced: bool) -> Outcome {
    let mut scheduler = Scheduler::new(plan.seed, START_MS, traced);
    let handle = scheduler.handle();
    let weather = Arc::new(Weather::new(handle.clone(), plan.rates));
    let oracle = Arc::new(Oracle::new(plan.games.len(), plan.back_ends, plan.is_lossless()));
    let true_time = Arc::new(NodeClock { handle: handle.clone(), skew_ms: 0 });
    // One shard: which one a match is in depends on its id, and ids are drawn by the product.
    let primary = Arc::new(Primary::new(true_time, 1, plan.durability));
    let network = Arc::new(Network {
        handle: handle.clone(),
        weather: Arc::clone(&weather),
        oracle: Arc::clone(&oracle),
        nodes: plan.skews_ms.iter().map(|_| Mutex::new(None)).collect(),
    });
    let world = Arc::new(World {
        handle: handle.clone(),
        weather: Arc::clone(&weather),
        primary: Arc::clone(&primary),
        network,
        oracle: Arc::clone(&oracle),
        plan: plan.clone(),
        signer: signer(),
        lives: Mutex::new(0),
        over: Mutex::new(vec![false; plan.games.len()]),
    });
    world.begin();
    let end_ms = START_MS + plan.calm_ms + END_MAX_MS;
    while oracle.violation().is_none() && !world.is_over() {
        if scheduler.step() == Progress::Silent || handle.now_ms() > end_ms || handle.steps() > STEPS_MAX {
            oracle.complain(7, format!("a match does not end: {:?} are over", lock(&world.over)));
        }
        world.judge();
    }
    world.end();
    let (steps, faults) = (handle.steps(), weather.faults());
    Outcome { steps, faults, violation: oracle.violation(), trace: handle.take_trace() }
}

/// Keys cost more than a whole match; which ones they are matters to nobody.
fn signer() -> Signer {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| Keys::generate(Stamp::from_ms(START_MS))).signer()
}

impl World {
    fn begin(self: &Arc<Self>) {
        for node in 0..self.plan.skews_ms.len() {
            self.go(move |world| async move { world.start_node(node).await });
        }
        for game in 0..self.plan.games.len() {
            self.go(move |world| async move { world.play(game).await });
        }
        for number in 0..self.plan.back_ends {
            let back_end = BackEnd { network: Arc::clone(&self.network), number };
            self.handle.spawn(Owner::World, back_end.read());
        }
        self.go(|world| async move { world.replicate().await });
        for fault in 0..self.plan.faults.len() {
            self.go(move |world| async move {
                let fault = world.plan.faults[fault].clone();
                world.handle.sleep(fault.at_ms).await;
                world.meet(fault.kind).await;
            });
        }
        self.go(|world| async move {
            world.handle.sleep(world.plan.calm_ms).await;
            world.handle.note(|| "calm".to_owned());
            world.weather.calm();
        });
    }

    fn go<F: Future<Output = ()> + Send + 'static>(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) -> F) {
        self.handle.spawn(Owner::World, work(Arc::clone(self)));
    }

    fn is_over(&self) -> bool {
        lock(&self.over).iter().all(|over| *over)
    }

    /// Lets the judge see what the last step has done.
    fn judge(&self) {
        for made in self.primary.take_made() {
            let stored = self.primary.now_stored();
            self.oracle.made(&made, stored.matches.get(&made.id).map(AsRef::as_ref));
        }
    }

    /// Nodes hold what holds them: takes the knot apart.
    fn end(&self) {
        self.network.nodes.iter().for_each(|node| drop(lock(node).take()));
    }

    async fn start_node(self: Arc<Self>, node: usize) {
        let life = {
            let mut lives = lock(&self.lives);
            *lives += 1;
            *lives
        };
        let owner = Owner::Node(node, life);
        let link = Link {
            handle: self.handle.clone(),
            weather: Arc::clone(&self.weather),
            primary: Arc::clone(&self.primary),
            node,
        };
        let sound: Arc<dyn Store> = Arc::new(ModelStore::over(Arc::clone(&self.primary), Some(link)));
        let store: Arc<dyn Store> = match self.plan.flaw {
            Some(flaw) => Arc::new(Flawed::new(sound, flaw)),
            None => sound,
        };
        let clock: Arc<dyn Clock> =
            Arc::new(NodeClock { handle: self.handle.clone(), skew_ms: self.plan.skews_ms[node] });
        let server = Server {
            store,
            clock,
            // Whoever keeps pools draws when he reads them again, and a run is to be one to the byte.
            config: NodeConfig { pools: Pools::none(), ..NodeConfig::default() },
            issuer: TokenIssuer::new(&[7; 32], "simulation", "simulation"),
            signer: self.signer.clone(),
            trusted_issuer: None,
            api_keys: LiveApiKeys::default(),
            request_secret: [9; 32],
            reflection: false,
            operators: Operators::default(),
        };
        match server.in_process(NodeId(life.into())).await {
            Ok(parts) => {
                self.handle.note(|| format!("node {node} is up"));
                self.handle.spawn(owner, parts.clockwork);
                *lock(&self.network.nodes[node]) =
                    Some(Live { routes: parts.routes, drain: parts.drain, owner });
            }
            Err(error) => self.oracle.complain(0, format!("node {node} does not start: {error}")),
        }
    }

    /// Ends a node's life, wherever its tasks are.
    fn kill_node(&self, node: usize) -> bool {
        let live = lock(&self.network.nodes[node]).take();
        if let Some(live) = &live {
            self.handle.kill(live.owner);
        }
        live.is_some()
    }

    async fn meet(self: Arc<Self>, fault: FaultKind) {
        self.handle.note(|| format!("{fault:?}"));
        match fault {
            FaultKind::Crash { node, down_ms } => self.restart(node, down_ms).await,
            FaultKind::Drain { node, down_ms } => {
                if let Some(live) = &*lock(&self.network.nodes[node]) {
                    live.drain.send_replace(true);
                }
                self.handle.sleep(self.handle.below(DRAIN_MS)).await;
                self.restart(node, down_ms).await;
            }
            FaultKind::CutOff { node, ms } => {
                self.weather.cut_off(node, true);
                self.handle.sleep(ms).await;
                self.weather.cut_off(node, false);
            }
            FaultKind::Stall { ms } => self.weather.stall_store(self.handle.now_ms() + ms),
            FaultKind::Stop { ms } => self.weather.stop_store(self.handle.now_ms() + ms),
            FaultKind::FailOver { skew_ms } => {
                self.weather.count();
                self.primary.fail_over(skew_ms);
                self.primary.feed_listeners().into_iter().for_each(|ears| self.primary.look_at_feed(ears));
            }
        }
    }

    async fn restart(self: Arc<Self>, node: usize, down_ms: u64) {
        if self.kill_node(node) {
            self.weather.count();
            self.handle.sleep(down_ms).await;
            self.start_node(node).await;
        }
    }

    async fn replicate(self: Arc<Self>) {
        loop {
            self.handle.sleep(self.handle.below(self.plan.lag_ms)).await;
            self.primary.replicate();
        }
    }

    /// One match, from its invite to its audit.
    async fn play(self: Arc<Self>, game: usize) {
        let plan = self.plan.games[game].clone();
        let players = Seat::BOTH.map(|seat| Caller {
            network: Arc::clone(&self.network),
            player: format!("players/{seat}-{game}"),
        });
        if let Some(name) = self.agree(game, &plan, &players).await {
            if let Some(id) = name.strip_prefix("matches/").and_then(|id| id.parse::<MatchId>().ok()) {
                self.oracle.meet(game, id);
                self.seat(game, &plan, &players, &name, id).await;
                self.audit(game, &name, id, &players[0]).await;
            }
        } else if self.oracle.lossless() {
            self.oracle.complain(5, format!("match {game}: its invite was refused"));
        }
        lock(&self.over)[game] = true;
    }

    /// Black invites and white accepts. The match's name, if the invite was not lost.
    async fn agree(&self, game: usize, plan: &GamePlan, players: &[Caller; 2]) -> Option<String> {
        let request = v1::CreateInviteRequest {
            request_id: format!("invite-{game}"),
            invitee: players[1].player.clone(),
            settings: Some(settings(plan)),
            inviter_seat: v1::Seat::Black.into(),
            ..Default::default()
        };
        let create = |mut clients: crate::caller::Clients, request| async move {
            clients.matchmaking.create_invite(request).await
        };
        let invite = players[0].ask("invite", &request, create).await?.ok()?.invite?;
        let again = players[0].ask("invite again", &request, create).await?.ok()?.invite?;
        if self.oracle.lossless() && again.name != invite.name {
            self.oracle.complain(5, format!("match {game}: one request has made two invites"));
        }
        let request = v1::AcceptInviteRequest {
            name: invite.name,
            request_id: format!("accept-{game}"),
            ..Default::default()
        };
        let accept = |mut clients: crate::caller::Clients, request| async move {
            clients.matchmaking.accept_invite(request).await
        };
        let first = players[1].ask("accept", &request, accept).await?.ok()?.invite?;
        let again = players[1].ask("accept again", &request, accept).await?.ok()?.invite?;
        if self.oracle.lossless() && first.r#match != again.r#match {
            self.oracle.complain(5, format!("match {game}: one invite has led to two matches"));
        }
        if !self.oracle.lossless() {
            // A match that is lost as a whole shows nothing: from here on only its end can be.
            self.primary.replicate();
        }
        Some(again.r#match)
    }

    /// Players and readers sit down. Returns when both players know the end.
    async fn seat(
        self: &Arc<Self>,
        game: usize,
        plan: &GamePlan,
        players: &[Caller; 2],
        name: &str,
        id: MatchId,
    ) {
        let mut views = Vec::new();
        let read = |caller: Caller, seat: Option<Seat>| {
            let (view, seen) = watch::channel(View::default());
            let hidden = plan.hidden;
            let reader = Reader { caller, game, name: name.to_owned(), seat, hidden, view };
            self.handle.spawn(Owner::World, reader.read());
            seen
        };
        for (index, seat) in Seat::BOTH.into_iter().enumerate() {
            let caller = players[index].clone();
            let view = read(caller.clone(), Some(seat));
            views.push(view.clone());
            let player = Player {
                caller,
                game,
                plan: plan.clone(),
                seat,
                habits: plan.habits[index].clone(),
                name: name.to_owned(),
                id,
                view,
                random: Player::random(plan, seat),
            };
            self.handle.spawn(Owner::World, player.play());
        }
        if plan.spectator {
            let player = format!("players/spectator-{game}");
            views.push(read(Caller { network: Arc::clone(&self.network), player }, None));
        }
        while views.iter().any(|view| !view.borrow().finished) && !self.is_lost(id) {
            self.handle.sleep(LOOK_MS).await;
        }
    }

    /// Whether a failover has taken a whole match with it.
    fn is_lost(&self, id: MatchId) -> bool {
        let calm = self.handle.now_ms() > START_MS + self.plan.calm_ms;
        !self.oracle.lossless() && calm && !self.primary.now_stored().matches.contains_key(&id)
    }

    /// Compares what every node tells of a finished match with what is stored, once all is calm.
    async fn audit(&self, game: usize, name: &str, id: MatchId, player: &Caller) {
        self.handle.sleep_until(START_MS + self.plan.calm_ms).await;
        let mut transcripts = Vec::new();
        for node in 0..self.network.nodes.len() {
            for _ in 0..LOOKS_MAX {
                let request = v1::GetTranscriptRequest { name: name.to_owned(), ..Default::default() };
                let asked = player.clients_to(node, false).matches.get_transcript(request).await;
                if let Ok(response) = asked {
                    transcripts.extend(response.into_inner().transcript);
                    break;
                }
                self.handle.sleep(LOOK_MS).await;
            }
        }
        for _ in 0..LOOKS_MAX {
            let stored = self.primary.now_stored();
            let Some(entry) = stored.matches.get(&id) else { break };
            if entry.stored.follow_ups.is_empty() {
                break;
            }
            self.handle.sleep(LOOK_MS).await;
        }
        match self.primary.now_stored().matches.get(&id) {
            Some(entry) => self.oracle.audit(game, entry, &transcripts),
            None if self.oracle.lossless() => {
                self.oracle.complain(2, format!("match {game}: it is gone"));
            }
            None => {}
        }
        self.tell_all(game, id).await;
    }

    /// Waits until every reader of the feed has been told the whole match.
    async fn tell_all(&self, game: usize, id: MatchId) {
        let untold = || self.oracle.untold(self.primary.now_stored().matches.get(&id)?);
        for _ in 0..LOOKS_MAX {
            if untold().is_none() {
                return;
            }
            self.handle.sleep(LOOK_MS).await;
        }
        if let Some(what) = untold() {
            self.oracle.complain(4, format!("match {game}: {what}"));
        }
    }
}

/// The settings that a plan asks for.
fn settings(plan: &GamePlan) -> v1::MatchSettings {
    let time_control = match plan.turn_ms {
        Some(turn_ms) => v1::match_settings::TimeControl::TurnTime(milliseconds(turn_ms)),
        None => v1::match_settings::TimeControl::Bank(v1::BankClock {
            initial: Some(milliseconds(12_000)),
            increment: Some(milliseconds(500)),
        }),
    };
    let seal_mode = match plan.reveal_ms {
        Some(_) => v1::SealMode::CommitReveal,
        None => v1::SealMode::ServerSealed,
    };
    let seal_status = if plan.hidden { v1::SealStatus::Hidden } else { v1::SealStatus::Visible };
    let spectators = if plan.spectator { v1::Spectators::Live } else { v1::Spectators::None };
    v1::MatchSettings {
        time_control: Some(time_control),
        seal_mode: seal_mode.into(),
        reveal_time: plan.reveal_ms.map(milliseconds),
        spectators: spectators.into(),
        seal_status: seal_status.into(),
        start_time: plan.start_ms.map(milliseconds),
        turn_limit: plan.turn_limit,
        ..Default::default()
    }
}
