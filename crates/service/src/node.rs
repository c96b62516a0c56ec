//! What all RPC services of one node share.

use std::sync::Arc;
use std::time::Duration;

use middleware::{Allowances, Refusals, TokenIssuer};
use sealing::MatchId;
use store::keys::Signer;
use store::{Clock, Store, Stored};
use tokio::sync::watch;
use wire::ApiError;

use crate::admission::Admissions;
use crate::bots::Bots;
use crate::history::Histories;
use crate::idempotency::RequestKeys;
use crate::metrics::Instruments;
use crate::pools::Pools;
use crate::readiness::Readiness;
use crate::roster::Roster;
use crate::stats::Stats;
use crate::tls::Tls;
use crate::{admission, clockwork, pool_keeper};

/// Connections open at once: far more than the back ends and players of one node have, and little memory
/// when they are idle.
const CONNECTIONS_MAX: usize = 10_000;

/// How long the first bytes of a connection may take: every client sends them at once, so this is the
/// slowest network and a packet lost more than once.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections of one peer address at once: some hundred players behind one router, and the connections of a back
/// end. Nodes behind a proxy see its address alone.
const CONNECTIONS_PER_PEER_MAX: usize = 1_000;

/// Unary calls in flight on a node: some 0.2 s of what two cores do. What comes on top would only wait.
const CALLS_IN_FLIGHT_MAX: usize = 5_000;

/// How old a connection gets: short enough that a node which has joined has its part of the load within half an
/// hour, long enough that to connect again costs nothing.
const CONNECTION_AGE_MAX: Duration = Duration::from_secs(30 * 60);

/// How long calls in flight may take to finish once the server is told to stop. Then it stops.
const GRACE: Duration = Duration::from_secs(10);

/// How a node behaves where the settings of a match do not say. Every value has a default.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The silence after which a stream sends a heartbeat: short enough that a phone on a dead network
    /// notices, long enough that idle streams cost little.
    pub heartbeat: Duration,
    /// Whether everyone may mint tokens.
    pub dev: bool,
    /// Whether players whose token has no age mark are kept from strangers: from pools, and from matches of others.
    pub shelters: bool,
    /// Connections open at once; others wait until one ends. A descriptor each, so it is to be well below
    /// what the process may open: the store needs some too.
    pub connections_max: usize,
    /// How long a connection may be open without having sent its first bytes. Then it is closed.
    pub first_bytes_timeout: Duration,
    /// Connections of one peer address open at once; more are closed.
    pub connections_per_peer_max: usize,
    /// Unary calls in flight at once; more are refused. Threads that serve have the same part of it each.
    pub calls_in_flight_max: usize,
    /// What principals may use.
    pub allowances: Allowances,
    /// How old a connection may get; it is told to go within the last fifth of that.
    pub connection_age_max: Duration,
    /// How long a node that is told to stop serves on after health checks are told, so that balancers can see it.
    pub drain_delay: Duration,
    /// How long what is open may take to end after that.
    pub grace: Duration,
    /// What connections are encrypted with, if they are.
    pub tls: Option<Tls>,
    /// Counts what is refused.
    pub refusals: Arc<Refusals>,
    /// Threads that serve connections, each with a runtime of its own: one a core where the process is
    /// there for the server. With 0 all is served on the runtime that the server is run on.
    pub workers: usize,
    /// How long a finished match can be read at least; the store keeps it. Nobody is invited for longer.
    pub match_retention: Duration,
    /// The pools that players can queue in.
    pub pools: Pools,
    /// What it measures with: what the process has set up, where nothing else is given.
    pub instruments: Instruments,
    /// What operators call the node, 1 to 64 of `[A-Za-z0-9._-]`; by its id if there is none. Each node of a store
    /// is to have one of its own.
    pub name: Option<String>,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(10),
            dev: false,
            shelters: false,
            connections_max: CONNECTIONS_MAX,
            first_bytes_timeout: FIRST_BYTES_TIMEOUT,
            connections_per_peer_max: CONNECTIONS_PER_PEER_MAX,
            calls_in_flight_max: CALLS_IN_FLIGHT_MAX,
            allowances: Allowances::default(),
            connection_age_max: CONNECTION_AGE_MAX,
            drain_delay: Duration::ZERO,
            grace: GRACE,
            tls: None,
            refusals: Arc::default(),
            workers: 0,
            match_retention: Duration::from_millis(Stored::RETENTION_DEFAULT_MS),
            pools: Pools::default(),
            instruments: Instruments::default(),
            name: None,
        }
    }
}

/// One node: its store, its clock and what it keeps of matches in use.
pub(crate) struct Node {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: NodeConfig,
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) signer: Signer,
    pub(crate) histories: Arc<Histories>,
    pub(crate) keys: RequestKeys,
    pub(crate) bots: Bots,
    pub(crate) roster: Arc<Roster>,
    pub(crate) stats: Arc<Stats>,
    pub(crate) admissions: Arc<Admissions>,
    /// True once the node is about to stop: streams end and say so.
    pub(crate) draining: watch::Receiver<bool>,
}

impl Node {
    pub(crate) fn heartbeat_ms(&self) -> u64 {
        u64::try_from(self.config.heartbeat.as_millis()).unwrap_or(u64::MAX)
    }

    /// All that the node does by itself, without being called: what time drives, its pools, its bots, and the
    /// list of who may not play. It never ends.
    pub(crate) async fn by_itself(&self, readiness: Option<Arc<Readiness>>) {
        let (told, nodes) = watch::channel(Vec::new());
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        futures::join!(
            clockwork::run(self, readiness, told),
            pool_keeper::keep_all(Arc::clone(&self.roster), store, clock, self.config.pools.clone(), nodes),
            self.bots.run(self),
            admission::keep(self),
        );
    }

    /// Whether a player can be brought into a match, whoever acts for him.
    ///
    /// # Errors
    /// PLAYER_BANNED.
    pub(crate) fn may_play(&self, player: &str) -> Result<(), ApiError> {
        self.admissions.may_play(player, self.clock.now_ms())
    }

    /// A new id: its time for order, its random part against guessing.
    pub(crate) fn new_id(&self) -> MatchId {
        new_id(self.clock.now_ms())
    }

    pub(crate) fn match_retention_ms(&self) -> u64 {
        u64::try_from(self.config.match_retention.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A new id of this moment.
pub(crate) fn new_id(now_ms: u64) -> MatchId {
    let id = uuid::Builder::from_unix_timestamp_millis(now_ms, &rand::random()).into_uuid();
    MatchId::from_bytes(id.into_bytes())
}
