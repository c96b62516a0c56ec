//! Invariant 3, cell by cell: in both seal modes, with the seal status hidden and not, whoever is not the
//! sealer calls every RPC, makes every mistake and holds a stream, and the marked move is in no message, no
//! refusal, no byte on a socket, no line of the log at TRACE and no file, until its turn resolves; and if it
//! never does, not afterwards either.

use std::time::Duration;

use middleware::Rpc;
use prost::Message as _;
use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Keeping, Log, Setup, Tap, Watching, cell, salt};
use tonic::Code;
use wire::v1::watch_match_response::Update;
use wire::v1::{self, SealMode, SealStatus};

use super::marked::{self, Values};
use super::{every_rpc, reveals, sealed_move};

/// Shorter than any clock of these matches.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// Longer than any clock of these matches, ms.
const LATE_MS: u64 = 31_000;

/// How a match keeps its moves secret.
#[derive(Clone, Copy, Debug)]
struct Mode {
    seal_mode: SealMode,
    seal_status: SealStatus,
}

impl Mode {
    /// Black's marked move is with the server, and the turn waits for white.
    async fn hide(self, scene: &mut Scene) {
        let duel = &scene.duel;
        if self.seal_mode == SealMode::CommitReveal {
            reveals::commit(duel, Seat::Black, &marked::open()).await;
            // The server does not know the move; who commits after it learns no more.
            scene.ask_everything().await;
            reveals::commit(&scene.duel, Seat::White, &whites()).await;
            reveals::reveal(&scene.duel, Seat::Black, &marked::open()).await.unwrap();
        } else {
            let mut seal = duel.seal_request(Seat::Black, 1, marked::CELL);
            seal.r#move = Some(v1::seal_move_request::Move::Open(marked::open()));
            duel.send_seal(Seat::Black, seal).await.unwrap();
        }
    }

    /// White does what the turn waits for.
    async fn resolve(self, duel: &Duel) {
        if self.seal_mode == SealMode::CommitReveal {
            reveals::reveal(duel, Seat::White, &whites()).await.unwrap();
        } else {
            duel.seal(Seat::White, 1, whites().cell).await.unwrap();
        }
    }
}

fn whites() -> v1::OpenMove {
    v1::OpenMove { cell: cell("A1"), salt: salt(1, Seat::White) }
}

/// Somebody who is not the sealer, on a connection of which every byte is kept.
struct Onlooker {
    who: &'static str,
    caller: Caller,
    /// Whom he acts for; empty: himself.
    player: String,
    tap: Tap,
    stream: Watching,
}

impl Onlooker {
    async fn new(cluster: &Cluster, who: &'static str, caller: Caller, player: &str, game: &str) -> Self {
        let tap = Tap::on(cluster.nodes[0].address).await;
        let caller = caller.through(tap.address).await;
        let (name, player) = (game.to_owned(), player.to_owned());
        let request =
            v1::WatchMatchRequest { name, player: player.clone(), after_turn: Some(0), ..Default::default() };
        let stream = caller.watch_with(request).await.unwrap();
        Self { who, caller, player, tap, stream }
    }

    /// Makes every mistake there is to make about the turn that waits, with the marked cell and with another
    /// one: no answer depends on that.
    async fn make_mistakes(&self, game: &str, number: u8) {
        let mut answers = Vec::new();
        for cell in [marked::CELL, marked::CELL + 1] {
            let open = v1::OpenMove { cell, salt: vec![number; 32] };
            let mut told = Vec::new();
            for request in wrong_seals(game, &self.player, number, &open) {
                told.push(self.mistake("SealMove", request.encode_to_vec()).await);
            }
            for turn in [0, 1, 2] {
                let (name, player) = (game.to_owned(), self.player.clone());
                let (request_id, open) = (format!("reveal-{number}"), Some(open.clone()));
                let request = v1::RevealMoveRequest { name, player, request_id, turn, open };
                told.push(self.mistake("RevealMove", request.encode_to_vec()).await);
            }
            answers.push(told);
        }
        assert_eq!(answers[0], answers[1], "the refusals of {}", self.who);
        for turn in [0, 2] {
            let (name, player) = (game.to_owned(), self.player.clone());
            let request_id = format!("offer-{number}");
            let offer = v1::OfferDrawRequest { name, player, request_id, turn };
            self.mistake("OfferDraw", offer.encode_to_vec()).await;
        }
    }

    /// Code, message and details of a refusal. The bytes of the details are sorted: a map in them has a random
    /// order.
    async fn mistake(&self, method: &str, request: Vec<u8>) -> (Code, String, Vec<u8>) {
        let rpc = Rpc::all().iter().find(|rpc| rpc.method == method).unwrap();
        let answer = every_rpc::send(&self.caller, rpc, request).await;
        assert_ne!(answer.status.code(), Code::Ok, "{method} of {} is a mistake", self.who);
        sealed_move::assert_tells_nothing(self.who, &answer);
        let mut details = answer.status.details().to_vec();
        details.sort_unstable();
        (answer.status.code(), answer.status.message().to_owned(), details)
    }

    /// Reads his stream up to a heartbeat that comes after all that has happened.
    async fn read(&mut self) {
        loop {
            let update = self.stream.update().await;
            let last = matches!(update, Update::Heartbeat(_));
            self.assert_tells_nothing(update);
            if last {
                return;
            }
        }
    }

    fn assert_tells_nothing(&self, update: Update) {
        let message = v1::WatchMatchResponse { update: Some(update) }.encode_to_vec();
        let values = Values::of("whattheshell.v1.WatchMatchResponse", &message);
        assert!(!values.have_cell(), "the stream of {} has the cell", self.who);
    }
}

/// Seals that are refused, whoever sends them while black's seal waits in turn 1.
fn wrong_seals(game: &str, player: &str, number: u8, open: &v1::OpenMove) -> Vec<v1::SealMoveRequest> {
    let sound = v1::SealMoveRequest {
        name: game.to_owned(),
        player: player.to_owned(),
        request_id: format!("mistake-{number}"),
        turn: 2,
        r#move: Some(v1::seal_move_request::Move::Open(open.clone())),
        ..Default::default()
    };
    let with = |cell, salt: usize| {
        Some(v1::seal_move_request::Move::Open(v1::OpenMove { cell, salt: vec![number; salt] }))
    };
    let commitment = |length| Some(v1::seal_move_request::Move::Commitment(vec![number; length]));
    vec![
        v1::SealMoveRequest { turn: 0, ..sound.clone() },
        // A claim of its own each: two alike from both seats would be believed.
        v1::SealMoveRequest { turn: 1, previous_hash: vec![number; 32], ..sound.clone() },
        v1::SealMoveRequest { turn: 1, request_id: String::new(), ..sound.clone() },
        v1::SealMoveRequest { turn: 1, player_signature: vec![number; 64], ..sound.clone() },
        v1::SealMoveRequest { turn: 1, r#move: None, ..sound.clone() },
        v1::SealMoveRequest { turn: 1, r#move: with(0, 32), ..sound.clone() },
        v1::SealMoveRequest { turn: 1, r#move: with(82, 32), ..sound.clone() },
        v1::SealMoveRequest { turn: 1, r#move: with(open.cell, 31), ..sound.clone() },
        v1::SealMoveRequest { turn: 1, r#move: commitment(31), ..sound.clone() },
        v1::SealMoveRequest { r#move: commitment(32), ..sound.clone() },
        sound,
    ]
}

/// A match on disk with everybody in place.
struct Scene {
    cluster: Cluster,
    duel: Duel,
    onlookers: Vec<Onlooker>,
}

impl Scene {
    async fn set(mode: Mode) -> Self {
        let keeping = Keeping::Directory;
        let cluster = Cluster::start(Setup { keeping, heartbeat: HEARTBEAT, ..Setup::default() }).await;
        let settings = v1::MatchSettings {
            seal_mode: mode.seal_mode.into(),
            seal_status: mode.seal_status.into(),
            ..reveals::settings()
        };
        let duel = cluster.duel(settings).await;
        let backend = cluster.backend(0).await;
        let mut onlookers = Vec::new();
        for (who, caller, player) in [
            ("the opponent", duel.white.clone(), ""),
            ("a spectator", cluster.player(0, "spectator").await, ""),
            ("a back end", backend.clone(), ""),
            ("a back end for the sealer", backend.clone(), duel.black.name.as_str()),
            ("a back end for the opponent", backend, duel.white.name.as_str()),
        ] {
            onlookers.push(Onlooker::new(&cluster, who, caller, player, &duel.name).await);
        }
        Self { cluster, duel, onlookers }
    }

    /// Everybody calls every RPC.
    async fn ask_everything(&self) {
        for Onlooker { who, caller, player, .. } in &self.onlookers {
            sealed_move::ask(who, caller, player, &self.duel).await;
        }
    }

    /// Everybody makes every mistake.
    async fn make_mistakes(&self) {
        for (number, onlooker) in (1..).zip(&self.onlookers) {
            onlooker.make_mistakes(&self.duel.name, number).await;
        }
    }

    /// Everybody reads what his stream has.
    async fn read(&mut self) {
        self.cluster.advance_ms(HEARTBEAT.as_millis() as u64).await;
        for onlooker in &mut self.onlookers {
            onlooker.read().await;
        }
    }

    /// The salt is on no socket and in no file.
    fn assert_secret(&self) {
        for Onlooker { who, tap, .. } in &self.onlookers {
            assert_eq!(marked::salt_in(&tap.received()), None, "{who} received the salt");
        }
        for (path, bytes) in self.cluster.files() {
            assert_eq!(marked::move_in(&bytes), None, "{}", path.display());
        }
    }
}

async fn nobody_else_learns(mode: Mode) {
    let log = Log::capture();
    let mut scene = Scene::set(mode).await;
    mode.hide(&mut scene).await;
    scene.ask_everything().await;
    scene.read().await;
    scene.assert_secret();
    let before = scene.duel.seen_by(Seat::Black).await;
    scene.make_mistakes().await;
    scene.read().await;
    scene.assert_secret();
    assert_eq!(scene.duel.seen_by(Seat::Black).await, before, "looking changes nothing");
    assert_log_tells_nothing(&log);

    // The same searches find it once it is public.
    mode.resolve(&scene.duel).await;
    for Onlooker { who, stream, tap, .. } in &mut scene.onlookers {
        let turn = stream.turn().await.encode_to_vec();
        assert!(Values::of("whattheshell.v1.ResolvedTurn", &turn).have_cell(), "{who} is told the cell");
        assert_eq!(marked::salt_in(&tap.received()), Some("raw"), "{who} is told the salt");
    }
    assert!(scene.cluster.files().iter().any(|(_, bytes)| marked::move_in(bytes).is_some()));
}

/// The same if white never answers: the turn does not resolve, and the match ends.
async fn nobody_else_ever_learns(mode: Mode) {
    let log = Log::capture();
    let mut scene = Scene::set(mode).await;
    mode.hide(&mut scene).await;
    scene.cluster.advance_ms(LATE_MS).await;
    for onlooker in &mut scene.onlookers {
        loop {
            let update = onlooker.stream.update().await;
            let last = matches!(update, Update::Finished(_));
            onlooker.assert_tells_nothing(update);
            if last {
                break;
            }
        }
    }
    scene.ask_everything().await;
    scene.assert_secret();
    assert_log_tells_nothing(&log);
}

/// The move is in no line, whoever tried its cell.
fn assert_log_tells_nothing(log: &Log) {
    const BYTES_MIN: usize = 1_000_000;
    let text = String::from_utf8(log.text()).unwrap();
    assert!(text.len() > BYTES_MIN, "the log is deaf: {} bytes", text.len());
    assert_eq!(marked::in_log(&text), None);
}

// Without this, the search of the log could be blind.
#[test]
fn the_search_of_a_log_finds_salt_and_cell_but_no_printed_message() {
    let open = marked::open();
    for (heard, planted) in [
        (false, format!("{open:?}")),
        (true, format!("{:?}", open.salt)),
        (true, format!("{:02x?}", open.salt).replace(", ", "")),
        (true, String::from_utf8_lossy(&open.salt).into_owned()),
        (true, format!("cell: {}", open.cell)),
        (true, rules::Cell::from_number(67).unwrap().to_string()),
    ] {
        let log = Log::capture();
        tracing::trace!(%planted);
        let found = marked::in_log(&String::from_utf8(log.text()).unwrap());
        assert_eq!(found.is_some(), heard, "{planted}: {found:?}");
    }
}

/// One test a cell of the grid: they run side by side, and a failure names its mode.
macro_rules! modes {
    ($($learns:ident, $never:ident: $seal_mode:ident, $seal_status:ident;)+) => {$(
        #[tokio::test]
        async fn $learns() {
            let (seal_mode, seal_status) = (SealMode::$seal_mode, SealStatus::$seal_status);
            nobody_else_learns(Mode { seal_mode, seal_status }).await;
        }

        #[tokio::test]
        async fn $never() {
            let (seal_mode, seal_status) = (SealMode::$seal_mode, SealStatus::$seal_status);
            nobody_else_ever_learns(Mode { seal_mode, seal_status }).await;
        }
    )+};
}

modes! {
    nobody_else_learns_a_visible_seal, a_visible_seal_without_an_answer_is_never_told:
        ServerSealed, Visible;
    nobody_else_learns_a_hidden_seal, a_hidden_seal_without_an_answer_is_never_told:
        ServerSealed, Hidden;
    nobody_else_learns_a_first_reveal, a_reveal_without_an_answer_is_never_told:
        CommitReveal, Visible;
    nobody_else_learns_a_first_reveal_of_a_hidden_seal, a_reveal_of_a_hidden_seal_without_an_answer_is_never_told:
        CommitReveal, Hidden;
}
