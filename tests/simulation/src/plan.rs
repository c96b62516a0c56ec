//! What a run is made of, drawn from a seed, and how a run that fails is made smaller.

use std::fmt;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::flaw::Flaw;
use crate::primary::Durability;
use crate::weather::Rates;

/// Nodes at most.
const NODES_MAX: usize = 3;

/// Matches of one run at most.
pub(crate) const GAMES_MAX: usize = 3;

/// Back ends that read the feed at most.
const BACK_ENDS_MAX: usize = 2;

/// Scheduled faults at most.
const FAULTS_MAX: usize = 6;

/// How far a node's clock is off at most, ms.
const SKEW_MS: i64 = 30_000;

/// How far the clocks of two primaries are apart at most, ms.
const PRIMARY_SKEW_MS: i64 = 400;

/// When the last fault has come, ms after the start.
const CALM_MS: std::ops::Range<u64> = 3_000..15_000;

/// Time to join where a match must have one, ms.
const START_MS: u64 = 10_000;

/// How far the replica is behind at most, ms.
const LAGS_MS: [u64; 3] = [20, 200, 2_500];

/// A run.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// What everything else is drawn from while it runs.
    pub(crate) seed: u64,
    pub(crate) durability: Durability,
    /// How far the replica is behind at most, ms.
    pub(crate) lag_ms: u64,
    /// One a node: how far its clock is ahead, ms.
    pub(crate) skews_ms: Vec<i64>,
    pub(crate) games: Vec<GamePlan>,
    /// How many back ends read the feed.
    pub(crate) back_ends: usize,
    pub(crate) rates: Rates,
    pub(crate) faults: Vec<Fault>,
    /// From then on nothing goes wrong any more, ms after the start.
    pub(crate) calm_ms: u64,
    /// What is wrong with the store, on purpose.
    pub(crate) flaw: Option<Flaw>,
}

/// A match of a run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GamePlan {
    pub(crate) seed: u64,
    /// The time for a turn, ms; none: bank clocks.
    pub(crate) turn_ms: Option<u64>,
    /// Commit-reveal, with this time to reveal, ms.
    pub(crate) reveal_ms: Option<u64>,
    /// Time to join, ms.
    pub(crate) start_ms: Option<u64>,
    pub(crate) turn_limit: u32,
    pub(crate) hidden: bool,
    /// Whether somebody without a seat looks on.
    pub(crate) spectator: bool,
    /// Among how many cells a player chooses.
    pub(crate) area: usize,
    pub(crate) habits: [Habits; 2],
}

/// What a player does, in a thousand times.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Habits {
    /// How long he thinks at most, ms.
    pub(crate) think_ms: u64,
    /// He never comes.
    pub(crate) absent: bool,
    /// He seals as close to his deadline as he can.
    pub(crate) dallies: u32,
    pub(crate) leaves: u32,
    pub(crate) withholds: u32,
    pub(crate) repeats: u32,
    pub(crate) probes: u32,
    pub(crate) offers: u32,
    pub(crate) accepts: u32,
    pub(crate) resigns: u32,
}

/// Something that goes wrong at its time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fault {
    /// When, ms after the start.
    pub(crate) at_ms: u64,
    pub(crate) kind: FaultKind,
}

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum FaultKind {
    /// A node dies and comes back.
    Crash { node: usize, down_ms: u64 },
    /// A node drains, dies and comes back.
    Drain { node: usize, down_ms: u64 },
    /// A node does not reach the store.
    CutOff { node: usize, ms: u64 },
    /// The store takes calls and answers none.
    Stall { ms: u64 },
    /// The store refuses calls.
    Stop { ms: u64 },
    /// The replica takes over; its clock is so far ahead.
    FailOver { skew_ms: i64 },
}

impl Plan {
    /// The run of a seed, with at most so many matches.
    #[must_use]
    pub fn of(seed: u64, games_max: usize) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let nodes = random.random_range(1..=NODES_MAX);
        let skewed = random.random_bool(0.5);
        let skew = |random: &mut StdRng| if skewed { random.random_range(-SKEW_MS..=SKEW_MS) } else { 0 };
        let skews_ms = (0..nodes).map(|_| skew(&mut random)).collect();
        let games = random.random_range(1..=GAMES_MAX).min(games_max.max(1));
        let calm_ms = random.random_range(CALM_MS);
        let (durability, fails_over) = match random.random_range(0..10) {
            0..4 => (Durability::Primary, false),
            4..6 => (Durability::Primary, true),
            _ => (Durability::Replica, true),
        };
        let mut games: Vec<_> = (0..games).map(|_| GamePlan::draw(&mut random)).collect();
        if durability == Durability::Primary && fails_over {
            // A join can be lost as well, of a player who never looks again.
            games.iter_mut().for_each(|game| game.start_ms = game.start_ms.or(Some(START_MS)));
        }
        let faults = random.random_range(0..=FAULTS_MAX);
        let mut faults: Vec<_> =
            (0..faults).map(|_| Fault::draw(&mut random, nodes, calm_ms, fails_over)).collect();
        if fails_over && durability == Durability::Primary {
            faults.push(Fault {
                at_ms: random.random_range(calm_ms / 4..calm_ms),
                kind: fail_over(&mut random),
            });
        }
        faults.sort_by_key(|fault| fault.at_ms);
        let rates = draw_rates(&mut random);
        let back_ends = random.random_range(0..=BACK_ENDS_MAX);
        let lag_ms = LAGS_MS[random.random_range(0..LAGS_MS.len())];
        Self { seed, durability, lag_ms, skews_ms, games, back_ends, rates, faults, calm_ms, flaw: None }
    }

    /// The same run over a store with a flaw.
    #[must_use]
    pub fn with_flaw(self, flaw: Flaw) -> Self {
        Self { flaw: Some(flaw), ..self }
    }

    /// Whether nothing acknowledged may be lost in it.
    pub(crate) fn is_lossless(&self) -> bool {
        let fails_over = self.faults.iter().any(|fault| matches!(fault.kind, FaultKind::FailOver { .. }));
        self.durability == Durability::Replica || !fails_over
    }

    /// How many matches it plays.
    #[must_use]
    pub fn matches(&self) -> usize {
        self.games.len()
    }

    /// Runs that are a little smaller, the ones that leave out most first.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut plans = Vec::new();
        if self.games.len() > 1 {
            for index in 0..self.games.len() {
                plans.push(self.changed(|plan| plan.games = vec![self.games[index].clone()]));
            }
        }
        plans.push(self.changed(|plan| plan.faults.clear()));
        plans.push(self.changed(|plan| plan.rates = Rates::default()));
        if self.skews_ms.len() > 1 {
            plans.push(self.changed(|plan| {
                plan.skews_ms.truncate(1);
                plan.faults.retain(|fault| fault.kind.node().is_none_or(|node| node == 0));
            }));
        }
        if self.back_ends > 0 {
            plans.push(self.changed(|plan| plan.back_ends -= 1));
        }
        for index in 0..self.faults.len() {
            plans.push(self.changed(|plan| _ = plan.faults.remove(index)));
        }
        for quiet in Rates::EACH_QUIET {
            plans.push(self.changed(|plan| quiet(&mut plan.rates)));
        }
        plans.push(self.changed(|plan| plan.skews_ms.iter_mut().for_each(|skew_ms| *skew_ms = 0)));
        for (index, game) in self.games.iter().enumerate() {
            plans.push(self.changed(|plan| plan.games[index].turn_limit = 1.max(game.turn_limit / 2)));
            plans.push(self.changed(|plan| plan.games[index].spectator = false));
            for seat in 0..2 {
                let plain = Habits::plain(game.habits[seat].think_ms);
                plans.push(self.changed(|plan| plan.games[index].habits[seat] = plain));
            }
        }
        plans.retain(|plan| plan != self);
        plans
    }

    /// The same plan, in which other things are drawn while it runs.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        self.changed(|plan| plan.seed = seed)
    }

    fn changed(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut plan = self.clone();
        change(&mut plan);
        plan
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, calm from {} ms on", self.seed, self.calm_ms)?;
        writeln!(
            f,
            "writes count at the {:?}, the replica is up to {} ms behind",
            self.durability, self.lag_ms
        )?;
        writeln!(f, "back ends that read the feed: {}", self.back_ends)?;
        writeln!(f, "nodes, by how far their clocks are ahead (ms): {:?}", self.skews_ms)?;
        writeln!(f, "{:?}", self.rates)?;
        self.games.iter().try_for_each(|game| writeln!(f, "{game:?}"))?;
        self.faults.iter().try_for_each(|fault| writeln!(f, "at {} ms: {:?}", fault.at_ms, fault.kind))
    }
}

impl GamePlan {
    fn draw(random: &mut StdRng) -> Self {
        let habits = [Habits::draw(random), Habits::draw(random)];
        let absent = habits.iter().any(|habits| habits.absent);
        let bank = random.random_bool(0.3);
        Self {
            seed: random.random(),
            turn_ms: (!bank).then(|| random.random_range(1_000..8_000)),
            reveal_ms: random.random_bool(0.3).then(|| random.random_range(1_000..5_000)),
            start_ms: (absent || random.random_bool(0.3)).then(|| random.random_range(5_000..15_000)),
            turn_limit: random.random_range(1..=16),
            hidden: !bank && random.random_bool(0.4),
            spectator: random.random_bool(0.3),
            area: random.random_range(4..=20),
            habits,
        }
    }
}

impl Habits {
    fn draw(random: &mut StdRng) -> Self {
        let mut rate = |one_of: f64, permille: u32| if random.random_bool(one_of) { permille } else { 0 };
        let dallies = rate(0.3, 300);
        let (leaves, withholds) = (rate(0.1, 150), rate(0.15, 300));
        let (repeats, probes) = (rate(0.5, 200), rate(0.4, 300));
        let (offers, accepts, resigns) = (rate(0.2, 200), rate(0.2, 300), rate(0.1, 100));
        let absent = random.random_bool(0.03);
        let think_ms = *[20, 300, 1_500, 6_000].get(random.random_range(0..4)).unwrap_or(&20);
        Self { think_ms, absent, dallies, leaves, withholds, repeats, probes, offers, accepts, resigns }
    }

    const fn plain(think_ms: u64) -> Self {
        Self {
            think_ms,
            absent: false,
            dallies: 0,
            leaves: 0,
            withholds: 0,
            repeats: 0,
            probes: 0,
            offers: 0,
            accepts: 0,
            resigns: 0,
        }
    }
}

impl Fault {
    fn draw(random: &mut StdRng, nodes: usize, calm_ms: u64, fails_over: bool) -> Self {
        let node = random.random_range(0..nodes);
        let kind = match random.random_range(0..12) {
            0..3 => FaultKind::Crash { node, down_ms: random.random_range(1..4_000) },
            3..5 => FaultKind::Drain { node, down_ms: random.random_range(1..2_000) },
            5..7 => FaultKind::CutOff { node, ms: random.random_range(10..6_000) },
            7 => FaultKind::Stall { ms: random.random_range(50..12_000) },
            8 => FaultKind::Stop { ms: random.random_range(50..12_000) },
            _ if fails_over => fail_over(random),
            _ => FaultKind::Crash { node, down_ms: random.random_range(1..50) },
        };
        Self { at_ms: random.random_range(0..calm_ms), kind }
    }
}

impl FaultKind {
    const fn node(self) -> Option<usize> {
        match self {
            Self::Crash { node, .. } | Self::Drain { node, .. } | Self::CutOff { node, .. } => Some(node),
            Self::Stall { .. } | Self::Stop { .. } | Self::FailOver { .. } => None,
        }
    }
}

fn fail_over(random: &mut StdRng) -> FaultKind {
    FaultKind::FailOver { skew_ms: random.random_range(-PRIMARY_SKEW_MS..=PRIMARY_SKEW_MS) }
}

fn draw_rates(random: &mut StdRng) -> Rates {
    if random.random_bool(0.2) {
        return Rates::default();
    }
    let mut up_to =
        |permille: u32| if random.random_bool(0.5) { random.random_range(0..=permille) } else { 0 };
    Rates {
        lost_calls: up_to(100),
        doubled_calls: up_to(200),
        cut_streams: up_to(300),
        lost_steps: up_to(60),
        doubled_commits: up_to(150),
        slow_steps: up_to(40),
        lost_hints: up_to(500),
        odd_hints: up_to(300),
    }
}
