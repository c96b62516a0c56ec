//! Calls of the whole API, as bytes, on a node over a volatile store.
//!
//! An input is a list of calls: who calls, which RPC, and the bytes of its request; time passes between them. What
//! must hold after each: it was answered with success or with a reason of the table, never INTERNAL; what was refused
//! changed no match that time alone did not; nobody but its sealer was told a salt whose turn is open; and at the end
//! every match's transcript holds, and every live match has a due time.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::FutureExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use middleware::{
    AgeMark, BackendPrincipal, LiveApiKeys, PlayerPrincipal, Principal, Rpc, Scope, TokenIssuer,
};
use prost::Message as _;
use referee::{Match, NewMatch, Now, Phase, SealMode, Settings, Spectators, Stamp};
use rules::PerSeat;
use sealing::{MatchId, Party};
use service::{InProcess, NodeConfig, Operators, Server};
use store::keys::Keys;
use store::{Clock, MatchStore as _, NodeId, Store, StoreError, Stored};
use store_embedded::VolatileStore;
use tokio::sync::watch;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::{Code, Status};
use tower::ServiceExt as _;
use whattheshell::Transcript;
use wire::v1::{self, ErrorReason};
use wire::{ApiError, Collection};

/// Calls of one input: more would only make inputs slow.
const CALLS_MAX: usize = 64;

/// Messages that are taken of a stream before it is dropped.
const MESSAGES_MAX: usize = 8;

/// In the place of an RPC: time passes.
pub(crate) const TIME: u8 = 0xf0;

/// In the place of an RPC, and above: time passes in which the service is out.
pub(crate) const OUTAGE: u8 = 0xf1;

/// How often somebody comes by while time passes, ms: more than the store takes for an outage would be one.
const COMES_BY_MS: u64 = 2_000;

/// What a caller's byte is multiplied by there, ms.
const TIME_UNIT_MS: u64 = 250;

/// When every input begins, ms since 1970.
const START_MS: u64 = 1_700_000_000_000;

/// The two matches that are there, between p1 (black) and p2, with live spectators. Both wait for their players.
pub(crate) const MATCHES: [[u8; 16]; 2] = [[0x11; 16], [0x22; 16]];
const SEAL_MODES: [SealMode; 2] = [SealMode::ServerSealed, SealMode::CommitReveal { reveal_ms: 10_000 }];

/// Players, the third of whom sits in no match, and a back end.
pub(crate) const CALLERS: [&str; 4] = ["players/p1", "players/p2", "players/p3", "backend"];

/// A clock that stands still between calls.
struct Script(AtomicU64);

#[async_trait]
impl Clock for Script {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    async fn sleep_until_ms(&self, at_ms: u64) {
        if self.now_ms() < at_ms {
            pending().await
        }
    }
}

/// Makes the calls that the bytes say.
///
/// # Panics
///
/// If something does not hold.
pub fn service(data: &[u8]) {
    drop(run(data));
}

/// What came of an input.
#[derive(Debug)]
pub struct Run {
    /// What each call came to.
    pub answers: Vec<(&'static str, Code)>,
    /// The transcripts of the matches as they are then, without the server's signature.
    pub transcripts: Vec<Transcript>,
}

/// The same, and what came of it.
///
/// # Panics
///
/// If something does not hold.
#[must_use]
pub fn run(data: &[u8]) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let rpcs = rpcs();
        let (mut node, mut answers, mut rest) = (Node::begin().await, Vec::new(), data);
        for _ in 0..CALLS_MAX {
            let Some(([rpc, caller, high, low], after)) = rest.split_first_chunk() else { break };
            let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
            let (request, after) = after.split_at(length);
            rest = after;
            let ms = u64::from(*caller) * TIME_UNIT_MS;
            match *rpc {
                TIME => node.pass(ms).await,
                OUTAGE.. => node.advance(ms),
                rpc => {
                    let rpc = rpcs[usize::from(rpc) % rpcs.len()];
                    answers.push((rpc.method, node.call(rpc, usize::from(*caller), request).await));
                }
            }
        }
        Run { answers, transcripts: node.judge().await }
    })
}

/// The RPCs that are fuzzed: those of the public API.
pub(crate) fn rpcs() -> Vec<&'static Rpc> {
    Rpc::all().iter().filter(|rpc| rpc.service.starts_with("whattheshell.v1.")).collect()
}

/// A salt that its sealer alone knows, as long as its turn is open.
struct Secret {
    game: MatchId,
    turn: u32,
    sealer: usize,
    salt: Vec<u8>,
}

struct Node {
    clock: Arc<Script>,
    store: Arc<VolatileStore>,
    routes: Routes,
    /// Without it the node would be about to stop.
    _drain: watch::Sender<bool>,
    secrets: Vec<Secret>,
}

impl Node {
    async fn begin() -> Self {
        let clock = Arc::new(Script(AtomicU64::new(START_MS)));
        let store = Arc::new(VolatileStore::new(Arc::clone(&clock) as Arc<dyn Clock>));
        for at in 0..MATCHES.len() {
            store.create(new_match(at), [1; 8]).await.expect("it is made");
        }
        let keys = Keys::generate(Stamp::from_ms(START_MS));
        let server = Server {
            store: Arc::clone(&store) as Arc<dyn Store>,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            config: NodeConfig::default(),
            issuer: TokenIssuer::new(&[7; 32], "fuzz", "fuzz"),
            trusted_issuer: None,
            signer: keys.signer(),
            api_keys: LiveApiKeys::default(),
            request_secret: [9; 32],
            reflection: false,
            operators: Operators::default(),
        };
        let InProcess { routes, drain, .. } = server.in_process(NodeId(1)).await.expect("a node");
        Self { clock, store, routes, _drain: drain, secrets: Vec::new() }
    }

    fn advance(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    async fn pass(&self, ms: u64) {
        let mut left_ms = ms;
        while left_ms > 0 {
            let step_ms = left_ms.min(COMES_BY_MS);
            self.advance(step_ms);
            left_ms -= step_ms;
            self.matches().await;
        }
    }

    async fn call(&mut self, rpc: &'static Rpc, caller: usize, request: &[u8]) -> Code {
        let caller = caller % CALLERS.len();
        let before = self.matches().await;
        let (messages, status) = self.answer(rpc, caller, request).await;
        let after = self.matches().await;
        self.learn(rpc, caller, request, &status);
        self.check_status(rpc, &status);
        if status.code() != Code::Ok {
            for (before, after) in before.iter().zip(&after) {
                let is_due = before.head.due().is_some_and(|due| due.as_ms() <= self.clock.now_ms());
                assert!(
                    is_due || before == after,
                    "{}: refused, and changed a match: {status:?}",
                    rpc.method
                );
            }
        }
        self.check_secrets(rpc, caller, &after, &messages);
        status.code()
    }

    /// The messages of the answer, and what it ended with; OK for a stream that goes on.
    async fn answer(&self, rpc: &Rpc, caller: usize, request: &[u8]) -> (Vec<Bytes>, Status) {
        let mut body = BytesMut::new();
        body.put_u8(0);
        body.put_u32(request.len() as u32);
        body.put_slice(request);
        let mut call = Request::post(rpc.path())
            .header("content-type", "application/grpc")
            .body(Body::new(Full::new(body.freeze())))
            .expect("a request");
        call.extensions_mut().insert(principal(caller));
        let answer = self.routes.clone().oneshot(call);
        // Nothing here waits for anything but time, which stands still.
        let Some(answer) = answer.now_or_never() else {
            return (Vec::new(), Status::deadline_exceeded("it waits"));
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        if let Some(status) = Status::from_header_map(answer.headers()) {
            return (Vec::new(), status);
        }
        let (mut body, mut messages) = (answer.into_body(), Vec::new());
        while messages.len() < MESSAGES_MAX {
            match body.frame().now_or_never() {
                None => return (messages, Status::ok("it goes on")),
                Some(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => messages.push(data),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        let status = Status::from_header_map(&trailers);
                        return (messages, status.unwrap_or_else(|| Status::ok("")));
                    }
                },
                Some(Some(Err(status))) => return (messages, Status::unknown(status.to_string())),
                Some(None) => return (messages, Status::ok("")),
            }
        }
        (messages, Status::ok("it goes on"))
    }

    fn check_status(&self, rpc: &Rpc, status: &Status) {
        if status.code() == Code::Ok {
            return;
        }
        // What the transport refuses gets its reason from a layer that is not here.
        if !status.details().is_empty() {
            let error = ApiError::from_status(status).expect("a reason");
            assert_ne!(error.reason(), ErrorReason::Internal, "{}: {status:?}", rpc.method);
        } else {
            let of_transport =
                [Code::Internal, Code::OutOfRange, Code::Unimplemented, Code::DeadlineExceeded];
            assert!(of_transport.contains(&status.code()), "{}: no reason: {status:?}", rpc.method);
        }
    }

    /// Keeps the salt of a move that was accepted.
    fn learn(&mut self, rpc: &Rpc, caller: usize, request: &[u8], status: &Status) {
        if rpc.method != "SealMove" || status.code() != Code::Ok {
            return;
        }
        let Ok(seal) = v1::SealMoveRequest::decode(request) else { return };
        let Some(v1::seal_move_request::Move::Open(open)) = seal.r#move else { return };
        let game = MATCHES.into_iter().map(MatchId::from_bytes).find(|id| name(*id) == seal.name);
        // A back end acts for a player, and is told no more than a spectator.
        let sealer = CALLERS.iter().position(|caller| *caller == seal.player).unwrap_or(caller);
        self.secrets.extend(game.map(|game| Secret { game, turn: seal.turn, sealer, salt: open.salt }));
    }

    fn check_secrets(&self, rpc: &Rpc, caller: usize, matches: &[Stored], messages: &[Bytes]) {
        let is_open = |secret: &&Secret| {
            let game = matches.iter().find(|stored| stored.head.id == secret.game);
            game.is_some_and(|stored| stored.head.resolved < secret.turn)
        };
        for secret in self.secrets.iter().filter(is_open).filter(|secret| secret.sealer != caller) {
            let told = messages.iter().any(|message| contains(message, &secret.salt));
            assert!(!told, "{} tells {} a salt", rpc.method, CALLERS[caller]);
        }
    }

    async fn matches(&self) -> Vec<Stored> {
        let mut matches = Vec::new();
        for id in MATCHES {
            match self.store.load(MatchId::from_bytes(id)).await {
                Ok(loaded) => matches.push(loaded.stored),
                // Its retention has passed.
                Err(StoreError::NotFound) => {}
                Err(error) => panic!("{error}"),
            }
        }
        matches
    }

    async fn judge(&self) -> Vec<Transcript> {
        let mut transcripts = Vec::new();
        for stored in self.matches().await {
            let game: &Match = &stored.head;
            assert_eq!(game.due().is_none(), matches!(game.phase, Phase::Finished(_)), "{:?}", game.phase);
            let request = v1::GetTranscriptRequest { name: name(game.id), player: String::new() };
            let rpc = Rpc::by_path("/whattheshell.v1.MatchService/GetTranscript").expect("it is there");
            let (messages, status) = self.answer(rpc, 0, &request.encode_to_vec()).await;
            assert_eq!(status.code(), Code::Ok, "{status:?}");
            let answer = v1::GetTranscriptResponse::decode(&messages[0][5..]).expect("a message");
            let unsigned = v1::Transcript {
                signature: Vec::new(),
                key_id: String::new(),
                ..answer.transcript.expect("a transcript")
            };
            let transcript = Transcript::from(unsigned);
            let verified = transcript.verify().expect("it holds");
            assert_eq!(verified.position, game.position);
            transcripts.push(transcript);
        }
        transcripts
    }
}

/// The match at its beginning.
pub(crate) fn new_match(at: usize) -> referee::Change {
    let party = |at: usize| Party { player: CALLERS[at].to_owned(), public_key: None };
    let new = NewMatch {
        id: MatchId::from_bytes(MATCHES[at]),
        settings: Settings { seal_mode: SEAL_MODES[at], spectators: Spectators::Live, ..Settings::default() },
        parties: PerSeat { black: party(0), white: party(1) },
        rematch_of: None,
        origin: None,
    };
    Match::create(new, Now::at_ms(START_MS))
}

fn principal(caller: usize) -> Principal {
    match CALLERS[caller] {
        "backend" => Principal::Backend(BackendPrincipal { name: "fuzz".into() }),
        player => Principal::Player(PlayerPrincipal {
            player: player.to_owned(),
            scopes: Scope::ALL.to_vec(),
            public_key: None,
            issued_ms: 0,
            expires_ms: u64::MAX,
            age: Some(AgeMark::Adult),
            is_sheltered: false,
        }),
    }
}

/// `matches/{match}`.
pub(crate) fn name(id: MatchId) -> String {
    Collection::Matches.name(&id.to_string()).expect("an id")
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    !wanted.is_empty() && bytes.windows(wanted.len()).any(|window| window == wanted)
}
