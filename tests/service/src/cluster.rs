//! Nodes over one store.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use middleware::{Allowances, ApiKeys, NewToken, TokenIssuer};
use referee::{Match, Stamp};
use sealing::MatchId;
use service::metrics::Instruments;
use service::{NodeConfig, Operators, Server};
use store::keys::{KeyFacts, KeySource, Keys, Signer};
use store::{Clock, ScriptedClock, Shard, Store, Stored, SystemClock};
use store_embedded::{Checked, VolatileStore};
use tonic::Status;
use wire::v1;

use crate::keeping::{self, Keeping, Place};
use crate::{Caller, Credential, Duel, TestServer, connect, soon};

/// What the scripted clock shows at first, ms since 1970: the beginning of 2026.
pub const START_MS: u64 = 1_767_225_600_000;

/// The key of the back end that every cluster knows.
pub const API_KEY: &str = "backend-key-of-the-tests-0123456789";

const OPERATOR_KEY: &str = "operator-key-of-the-tests-0123456789";
const TOKEN_SEED: [u8; 32] = [0x5e; 32];
const REQUEST_SECRET: [u8; 32] = [0x1d; 32];

/// The longest step of the scripted clock, ms: a store that nobody visits for 3 s counts the gap as an
/// outage.
const STEP_MS_MAX: u64 = 1_000;

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How many nodes.
    pub nodes: usize,
    /// Whether everyone may mint tokens.
    pub dev: bool,
    /// Whether players without an age mark are kept from strangers.
    pub shelters: bool,
    /// Whether the nodes serve reflection.
    pub reflection: bool,
    /// The silence after which a stream sends a heartbeat.
    pub heartbeat: Duration,
    /// Whether time is the machine's instead of the scripted clock's.
    pub system_time: bool,
    /// Where matches are kept.
    pub keeping: Keeping,
    /// Connections that a node serves at once.
    pub connections_max: usize,
    /// How long a connection may be open without a word.
    pub first_bytes_timeout: Duration,
    /// Threads of a node that serve; with 0 it is served by the test's.
    pub workers: usize,
    /// What else a node is set to. Unless a test says so, nobody is held up by what he may use.
    pub config: NodeConfig,
    /// What all nodes measure with; nothing, where no test says otherwise.
    pub instruments: Instruments,
    /// The file that operators rotate keys in.
    pub key_file: Option<PathBuf>,
    /// What operators call each node.
    pub node_name: Option<String>,
}

impl Default for Setup {
    fn default() -> Self {
        let NodeConfig { heartbeat, connections_max, first_bytes_timeout, workers, instruments, .. } =
            NodeConfig::default();
        Self {
            nodes: 1,
            dev: false,
            shelters: false,
            reflection: true,
            heartbeat,
            system_time: false,
            keeping: Keeping::default(),
            connections_max,
            first_bytes_timeout,
            workers,
            config: NodeConfig { allowances: Allowances::UNBOUNDED, ..NodeConfig::default() },
            instruments,
            key_file: None,
            node_name: None,
        }
    }
}

/// One or more nodes over one store.
pub struct Cluster {
    /// Moves the time of the store and of every node; without effect under system time.
    pub clock: Arc<ScriptedClock>,
    /// The store itself, without the nodes' faults.
    pub store: Arc<dyn Store>,
    /// The nodes.
    pub nodes: Vec<TestServer>,
    issuer: TokenIssuer,
    setup: Setup,
    time: Arc<dyn Clock>,
    place: Place,
    signer: Signer,
}

impl Cluster {
    /// One node.
    pub async fn of_one() -> Self {
        Self::start(Setup::default()).await
    }

    /// Two nodes.
    pub async fn of_two() -> Self {
        Self::start(Setup { nodes: 2, ..Setup::default() }).await
    }

    /// Starts what is asked for.
    pub async fn start(setup: Setup) -> Self {
        let clock = Arc::new(ScriptedClock::at_ms(START_MS));
        let keys = KeySource::Ephemeral.load(Stamp::from_ms(START_MS)).expect("keys in memory can be made");
        let place = Place::new(setup.keeping, keys.keyring());
        Self::over(setup, clock, place, keys.signer()).await
    }

    /// A node over each of these stores, which are views of one. Time is the clock's that they go by, or the
    /// machine's under system time. Such a cluster cannot be stopped and resumed.
    pub async fn on(
        setup: Setup,
        clock: Arc<ScriptedClock>,
        keys: &Keys,
        stores: Vec<Arc<dyn Store>>,
    ) -> Self {
        let setup = Setup { nodes: 0, ..setup };
        let mut cluster = Self::over(setup, clock, Place::nowhere(keys.keyring()), keys.signer()).await;
        for store in stores {
            cluster.store = store;
            let node = cluster.start_node(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await;
            cluster.nodes.push(node);
        }
        cluster
    }

    /// Nodes over the store that is in a place.
    async fn over(setup: Setup, clock: Arc<ScriptedClock>, place: Place, signer: Signer) -> Self {
        let time: Arc<dyn Clock> = match setup.system_time {
            true => Arc::new(SystemClock::start()),
            false => Arc::clone(&clock) as Arc<dyn Clock>,
        };
        let store = place.open(Arc::clone(&time));
        let mut cluster =
            Self { clock, store, nodes: Vec::new(), issuer: issuer(), setup, time, place, signer };
        for _ in 0..cluster.setup.nodes {
            let node = cluster.start_node(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await;
            cluster.nodes.push(node);
        }
        cluster
    }

    async fn start_node(&self, address: SocketAddr) -> TestServer {
        let (store, time) = (Arc::clone(&self.store), Arc::clone(&self.time));
        TestServer::start(node(&self.setup, store, time, self.signer.clone()), address).await
    }

    /// Ends the nodes as a deploy does, and closes the store. Until [`Cluster::resume`] only the clock is
    /// there.
    pub async fn stop(&mut self) {
        self.nodes.iter_mut().for_each(TestServer::stop);
        for node in &mut self.nodes {
            node.stopped().await.expect("a node that is told to stop ends well");
        }
        let nothing = Arc::new(VolatileStore::new(Arc::clone(&self.time)));
        let store = std::mem::replace(&mut self.store, nothing);
        let unused = async {
            while Arc::strong_count(&store) > 1 {
                tokio::task::yield_now().await;
            }
        };
        soon("the end of all that uses the store", unused).await;
    }

    /// Opens the store where it was closed and starts the nodes at their addresses. Callers connect again:
    /// [`Caller::through`], [`Duel::reconnected`].
    pub async fn resume(&mut self) {
        self.store = self.place.open(Arc::clone(&self.time));
        for index in 0..self.nodes.len() {
            self.nodes[index] = self.start_node(self.nodes[index].address).await;
        }
    }

    /// [`Cluster::stop`], then [`Cluster::resume`], in no time.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.resume().await;
    }

    /// Restarts one node while the store and the other nodes go on.
    pub async fn restart_node(&mut self, index: usize) {
        self.nodes[index].stop();
        self.nodes[index].stopped().await.expect("a node that is told to stop ends well");
        self.nodes[index] = self.start_node(self.nodes[index].address).await;
    }

    /// Another cluster on a copy of what this one, which is stopped, has stored: what is done to both from
    /// now on must have the same effect to the byte.
    pub async fn fork(&self) -> Self {
        let clock = Arc::new(ScriptedClock::at_ms(self.clock.now_ms()));
        Self::over(self.setup.clone(), clock, self.place.copy(), self.signer.clone()).await
    }

    /// The directory that everything is kept in.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// What a check of the directory finds while the cluster is stopped.
    #[must_use]
    pub fn checked(&self) -> Checked {
        self.place.checked()
    }

    /// Every file of the directory that everything is kept in.
    #[must_use]
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        keeping::read_all(self.place.path(), &mut files).expect("files can be read");
        files
    }

    /// Moves time on, in steps that no store takes for an outage. What becomes due is done by the nodes
    /// soon after: wait for the effect.
    pub async fn advance_ms(&self, ms: u64) {
        let mut left_ms = ms;
        while left_ms > 0 {
            let step_ms = left_ms.min(STEP_MS_MAX);
            left_ms -= step_ms;
            self.clock.advance_ms(step_ms);
            for shard in 0..self.store.shard_count() {
                self.store.due(Shard(shard), 0).await.expect("the store itself has no faults");
            }
            tokio::task::yield_now().await;
        }
    }

    /// A caller with this credential at this node.
    pub async fn caller(&self, node: usize, name: &str, credential: Credential) -> Caller {
        Caller::new(name, credential, connect(self.nodes[node].address).await)
    }

    /// The player `players/{id}` at this node, with a token that the API minted for him.
    pub async fn player(&self, node: usize, id: &str) -> Caller {
        let name = format!("players/{id}");
        let request = v1::MintPlayerTokenRequest { player: name.clone(), ..Default::default() };
        let backend = self.backend(node).await;
        let minted = soon("MintPlayerToken", backend.players().mint_player_token(request)).await;
        let token = minted.expect("a back end may mint").into_inner().token;
        self.caller(node, &name, Credential::token(&token)).await
    }

    /// A back end at this node.
    pub async fn backend(&self, node: usize) -> Caller {
        self.caller(node, "", Credential::api_key(API_KEY)).await
    }

    /// An operator, at the public port of this node.
    pub async fn operator(&self, node: usize) -> Caller {
        self.caller(node, "", Credential::api_key(OPERATOR_KEY)).await
    }

    /// The operator olga, where this node listens to operators.
    pub async fn admin(&self, node: usize) -> Caller {
        Caller::new("", Credential::api_key(OPERATOR_KEY), connect(self.nodes[node].operators).await)
    }

    /// Somebody without a credential.
    pub async fn stranger(&self, node: usize) -> Caller {
        self.caller(node, "", Credential::none()).await
    }

    /// A token as the nodes' own key makes it, at any time the test likes.
    #[must_use]
    pub fn token(&self, new: &NewToken, now_ms: u64) -> Credential {
        let (token, _) = self.issuer.mint(new, now_ms).expect("the test asks for a token that can be");
        Credential::token(&token)
    }

    /// The players ada (black, first node) and bo (white, last node) in a match that both have joined.
    pub async fn duel(&self, settings: v1::MatchSettings) -> Duel {
        let duel = self.agreed(settings).await;
        duel.join().await;
        duel
    }

    /// The same before anybody has joined.
    pub async fn agreed(&self, settings: v1::MatchSettings) -> Duel {
        let ada = self.player(0, "ada").await;
        let bo = self.player(self.nodes.len() - 1, "bo").await;
        Duel::agree(&ada, &bo, settings).await
    }

    /// What is stored of the match once it is as wanted. It looks at the store alone, so no node is asked
    /// and nothing that a call would do is done.
    pub async fn stored(&self, name: &str, wanted: impl Fn(&Match) -> bool) -> Stored {
        let id: MatchId = name.trim_start_matches("matches/").parse().expect("the name of a match");
        let mut hints = self.store.watch(id).await.expect("the match is stored");
        loop {
            let stored = self.store.load(id).await.expect("the match is stored").stored;
            if wanted(&stored.head) {
                return stored;
            }
            soon("a change of the match", hints.changed()).await.expect("the match is stored");
        }
    }

    /// Moves time on until the nodes have ended the match, whose time has come. When exactly they notice
    /// does not matter: its end goes by the stamps.
    pub async fn ended(&self, name: &str) {
        let ending = async {
            while self.stored(name, |_| true).await.head.finish().is_none() {
                self.advance_ms(100).await;
            }
        };
        soon("the end of the match", ending).await;
    }

    /// Moves time on until the nodes have done all that the last change of the match causes elsewhere: its
    /// place in the players' lists.
    pub async fn settled(&self, name: &str) {
        let settling = async {
            while !self.stored(name, |_| true).await.follow_ups.is_empty() {
                self.advance_ms(100).await;
            }
        };
        soon("the follow-ups of the match", settling).await;
    }

    /// The match as every node tells it to a back end: all must agree.
    ///
    /// # Errors
    /// The refusal, if all nodes refuse.
    pub async fn agreed_view(&self, name: &str) -> Result<v1::Match, Status> {
        let mut first = None;
        for node in 0..self.nodes.len() {
            let seen = self.backend(node).await.get(name).await?;
            let first = first.get_or_insert_with(|| seen.clone());
            assert_eq!(*first, seen, "node {node} tells another match");
        }
        Ok(first.expect("a cluster has nodes"))
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// What a node that is given this file of keys starts with.
fn loaded(file: &Path) -> Vec<KeyFacts> {
    Keys::load(file).expect("the test has made the file").facts()
}

fn issuer() -> TokenIssuer {
    TokenIssuer::new(&TOKEN_SEED, "wts-tests", "wts-tests")
}

fn node(setup: &Setup, store: Arc<dyn Store>, clock: Arc<dyn Clock>, signer: Signer) -> Server {
    Server {
        store,
        clock,
        config: NodeConfig {
            heartbeat: setup.heartbeat,
            dev: setup.dev,
            shelters: setup.shelters,
            connections_max: setup.connections_max,
            first_bytes_timeout: setup.first_bytes_timeout,
            workers: setup.workers,
            instruments: setup.instruments.clone(),
            name: setup.node_name.clone(),
            ..setup.config.clone()
        },
        issuer: issuer(),
        signer,
        trusted_issuer: None,
        api_keys: ApiKeys::new()
            .backend("lobby", ApiKeys::digest(API_KEY.as_bytes()))
            .operator("olga", ApiKeys::digest(OPERATOR_KEY.as_bytes()))
            .into(),
        request_secret: REQUEST_SECRET,
        reflection: setup.reflection,
        operators: Operators {
            key_file: setup.key_file.clone(),
            keys: setup.key_file.iter().flat_map(|file| loaded(file)).collect(),
            ..Operators::default()
        },
    }
}
