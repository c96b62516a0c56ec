//! What goes wrong in each scenario.

use std::ops::Range;
use std::time::Duration;

use anyhow::Context as _;
use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use redis_servers::{Direction, Mode, Sentinel, Server, Takeover};
use tokio::time::{Instant, sleep};

use crate::account::Break;
use crate::arena::{Arena, Phase};
use crate::fleet::{Fleet, NODES};
use crate::scenario::{Goal, Scenario};

/// The longest a failover may take that comes about by itself.
const REPLACED_MAX: Duration = Duration::from_secs(30);

/// The longest all servers may take to be in order again.
const IN_ORDER_MAX: Duration = Duration::from_secs(60);

/// Within this after a lost connection the last event must have arrived.
const LAST_EVENT_MAX: Duration = Duration::from_secs(5);

/// What was on its way when replicas were stopped may still arrive.
const UNDER_WAY: Duration = Duration::from_millis(300);

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// How long a run goes on at most for the sake of its goal.
const GOAL_MAX: Duration = Duration::from_secs(1_200);

/// Pause between two looks at how far a run has come.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long things go wrong, and whether that is a short run.
pub(crate) struct Span {
    until: Instant,
    goal: Goal,
    goal_until: Instant,
    is_short: bool,
}

impl Span {
    /// From now on.
    pub(crate) fn new(least: Duration, goal: Goal, is_short: bool) -> Self {
        let now = Instant::now();
        Self { until: now + least, goal, goal_until: now + GOAL_MAX, is_short }
    }

    fn goes_on(&self, arena: &Arena) -> bool {
        let now = Instant::now();
        now < self.until || now < self.goal_until && !arena.account.has_come_to(self.goal)
    }

    /// Waits until it is over.
    async fn pass(&self, arena: &Arena) {
        while self.goes_on(arena) {
            sleep(LOOK_EVERY).await;
        }
    }
}

/// Lets things go wrong until it is time.
pub(crate) async fn go_wrong(
    scenario: Scenario,
    arena: &Arena,
    random: &mut StdRng,
    span: &Span,
) -> anyhow::Result<()> {
    match scenario {
        Scenario::NodeKill => kill_nodes(arena, random, span, 1_000..4_000).await,
        Scenario::KilledBeforeFollowUp => kill_nodes(arena, random, span, 100..700).await,
        Scenario::RollingRestart => restart_nodes(arena, span).await,
        Scenario::PrimaryKillReplicas => kill_primaries(arena, random, span).await,
        Scenario::PrimaryKill => kill_lone_primaries(arena, random, span).await,
        Scenario::RedisStopped => stop_redis(arena, span).await,
        Scenario::ScriptFlush => flush_scripts(arena, random, span).await,
        Scenario::ClientKillAll => kill_clients(arena, random, span).await,
        Scenario::FailoverOldPrimaryAlive => fail_over(arena, random, span).await,
        Scenario::Aba | Scenario::AbaOneOfTwo => stop_primaries(arena, random, span).await,
        Scenario::PublishBeforeDurable => stop_replicas(arena, random, span).await,
        Scenario::SlotMigration => migrate_slots(arena, random, span).await,
        Scenario::SkewedClocks | Scenario::Simultaneous | Scenario::Matchmaking => {
            // The clocks are off from the start, it is the players who seal at the same instant, and who queue
            // see to their faults themselves.
            span.pass(arena).await;
            Ok(())
        }
        Scenario::BadNetwork => disturb_networks(arena, random, span).await,
    }
}

async fn pause(random: &mut StdRng, ms: Range<u64>) {
    sleep(Duration::from_millis(random.random_range(ms))).await;
}

async fn kill_nodes(
    arena: &Arena,
    random: &mut StdRng,
    span: &Span,
    life_ms: Range<u64>,
) -> anyhow::Result<()> {
    while span.goes_on(arena) {
        pause(random, life_ms.clone()).await;
        let node = Fleet::any(random);
        arena.account.fault();
        arena.fleet.kill(node).await?;
        pause(random, 0..1_000).await;
        arena.fleet.start_again(node).await?;
    }
    Ok(())
}

async fn restart_nodes(arena: &Arena, span: &Span) -> anyhow::Result<()> {
    for node in (0..NODES).cycle().take_while(|_| span.goes_on(arena)) {
        arena.account.fault();
        arena.fleet.drain(node).await?;
        arena.fleet.start_again(node).await?;
        sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

async fn kill_primaries(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    let sentinel = arena.fleet.backing.sentinel()?;
    while span.goes_on(arena) {
        let primary = sentinel.primary().await?;
        arena.account.fault();
        primary.kill();
        sentinel.replaced(primary, REPLACED_MAX).await?;
        pause(random, 500..2_000).await;
        take_back(sentinel, primary).await?;
        pause(random, 500..2_000).await;
    }
    Ok(())
}

/// Cuts the replicas off: what the primary takes from now on, nobody else has. Returns it and them.
async fn cut_off(sentinel: &Sentinel) -> anyhow::Result<(&Server, Vec<&Server>)> {
    let (primary, replicas) = (sentinel.primary().await?, sentinel.replicas().await?);
    // Else it would refuse what it alone has, and nothing would be lost.
    primary.ask(&["CONFIG", "SET", "min-replicas-to-write", "0"]).await?;
    replicas.iter().try_for_each(|replica| replica.stop())?;
    primary.ask(&["CLIENT", "KILL", "TYPE", "replica"]).await?;
    Ok((primary, replicas))
}

async fn kill_lone_primaries(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    let sentinel = arena.fleet.backing.sentinel()?;
    while span.goes_on(arena) {
        let (primary, replicas) = cut_off(sentinel).await?;
        pause(random, 20..400).await;
        arena.account.fault();
        primary.kill();
        replicas.iter().try_for_each(|replica| replica.cont())?;
        sentinel.replaced(primary, REPLACED_MAX).await?;
        take_back(sentinel, primary).await?;
        pause(random, 1_000..3_000).await;
    }
    Ok(())
}

/// Starts a server that was killed, as a replica.
async fn take_back(sentinel: &Sentinel, server: &Server) -> anyhow::Result<()> {
    server.restart().await?;
    Ok(sentinel.wait_until_ok(IN_ORDER_MAX).await?)
}

async fn stop_redis(arena: &Arena, span: &Span) -> anyhow::Result<()> {
    let stop = Duration::from_secs(if span.is_short { 5 } else { 20 });
    while span.goes_on(arena) {
        let servers = arena.fleet.backing.primaries().await?;
        servers.iter().try_for_each(|server| server.stop())?;
        sleep(stop).await;
        servers.iter().try_for_each(|server| server.cont())?;
        arena.account.fault();
        // Until every turn that was open then has closed.
        sleep(arena.manner.turn_time + Duration::from_secs(2)).await;
    }
    Ok(())
}

async fn flush_scripts(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    while span.goes_on(arena) {
        pause(random, 20..200).await;
        arena.account.fault();
        arena.fleet.backing.script_flush_all().await?;
    }
    Ok(())
}

async fn kill_clients(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    while span.goes_on(arena) {
        pause(random, 1_000..2_000).await;
        arena.phase.send_replace(Phase::Hush);
        pause(random, 0..20).await;
        arena.account.struck();
        arena.fleet.backing.client_kill_all().await?;
        sleep(LAST_EVENT_MAX).await;
        for late in arena.account.behind() {
            arena.account.complain(Break::Stuck, format!("after {LAST_EVENT_MAX:?}, {late}"));
        }
        arena.phase.send_replace(Phase::Play);
    }
    Ok(())
}

async fn fail_over(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    let cluster = arena.fleet.backing.cluster()?;
    while span.goes_on(arena) {
        let slot = random.random_range(0..SLOTS);
        let takeover =
            *[Takeover::Agreed, Takeover::Forced, Takeover::Seized].choose(random).context("one")?;
        arena.account.fault();
        cluster.failover(slot, takeover).await?;
        cluster.wait_until_ok(IN_ORDER_MAX).await?;
        pause(random, 500..1_500).await;
    }
    Ok(())
}

async fn stop_primaries(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    let sentinel = arena.fleet.backing.sentinel()?;
    while span.goes_on(arena) {
        let primary = sentinel.primary().await?;
        arena.account.fault();
        primary.stop()?;
        sentinel.replaced(primary, REPLACED_MAX).await?;
        // The nodes find the new one now, some before the old one goes on and some after.
        pause(random, 0..500).await;
        primary.cont()?;
        sentinel.wait_until_ok(IN_ORDER_MAX).await?;
        pause(random, 1_000..2_000).await;
    }
    Ok(())
}

async fn stop_replicas(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    let sentinel = arena.fleet.backing.sentinel()?;
    while span.goes_on(arena) {
        pause(random, 500..2_000).await;
        arena.account.fault();
        let (primary, replicas) = cut_off(sentinel).await?;
        sleep(UNDER_WAY).await;
        let before = arena.account.told();
        pause(random, 200..600).await;
        let after = arena.account.told();
        if after != before {
            let what = format!("{before:?} turns and seals became {after:?} while no replica took any");
            arena.account.complain(Break::Misjudged, what);
        }
        // Every other time the primary dies with what nobody else has.
        if random.random_ratio(1, 2) {
            primary.kill();
            replicas.iter().try_for_each(|replica| replica.cont())?;
            sentinel.replaced(primary, REPLACED_MAX).await?;
            take_back(sentinel, primary).await?;
        } else {
            replicas.iter().try_for_each(|replica| replica.cont())?;
            sentinel.wait_until_ok(IN_ORDER_MAX).await?;
        }
    }
    Ok(())
}

async fn migrate_slots(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    let cluster = arena.fleet.backing.cluster()?;
    while span.goes_on(arena) {
        pause(random, 0..300).await;
        let primaries = cluster.primaries().await?;
        let from = *primaries.choose(random).context("a primary")?;
        let to = *primaries
            .iter()
            .filter(|other| other.address() != from.address())
            .choose(random)
            .context("another")?;
        // A slot in which somebody plays.
        let keys = from.ask(&["KEYS", "wts:{s*}:due"]).await?;
        let Some(key) = keys.elements().choose(random) else { continue };
        let slot = from.ask(&["CLUSTER", "KEYSLOT", key.text()]).await?.number().context("a slot")?;
        arena.account.fault();
        cluster.migrate_slot(u16::try_from(slot)?, to).await?;
    }
    Ok(())
}

async fn disturb_networks(arena: &Arena, random: &mut StdRng, span: &Span) -> anyhow::Result<()> {
    while span.goes_on(arena) {
        pause(random, 200..1_000).await;
        let networks = arena.fleet.networks.iter().chain(arena.fleet.backing.networks());
        let network = networks.choose(random).context("a network")?;
        let delay = Duration::from_millis(random.random_range(20..400));
        let mode =
            *[Mode::Delay(delay), Mode::BlackHole, Mode::Drop, Mode::Cut].choose(random).context("one")?;
        arena.account.fault();
        match random.random_range(0..3) {
            0 => network.set_one(Direction::ToServer, mode),
            1 => network.set_one(Direction::ToClient, mode),
            _ => network.set(mode),
        }
        pause(random, 20..1_500).await;
        network.set(Mode::Pass);
    }
    Ok(())
}
