//! D4: what the opponent, a spectator and a back end receive does not depend on what was sealed or revealed
//! first, and with hidden status not even on whether anything was sealed.

use prost::Message as _;
use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Tap, Watching, cell, salt, seconds};
use tonic::{Response, Status};
use wire::v1::watch_match_response::Update;
use wire::v1::{self, SealMode, SealStatus, Spectators};

use super::reveals;

/// What one onlooker got: every message in order, and the sizes of the frames that carried his stream.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    messages: Vec<Vec<u8>>,
    frames: Vec<usize>,
}

/// Somebody who watches and asks, on connections of which every byte is kept.
struct Onlooker {
    caller: Caller,
    tap: Tap,
    stream: Watching,
    messages: Vec<Vec<u8>>,
}

impl Onlooker {
    async fn new(cluster: &Cluster, caller: Caller, game: &str) -> Self {
        let tap = Tap::on(cluster.nodes[0].address).await;
        let stream = caller.through(tap.address).await.watch_after(game, 0, &[]).await.unwrap();
        let mut onlooker = Self { caller, tap, stream, messages: Vec::new() };
        onlooker.take(1).await;
        onlooker.take(1).await;
        onlooker
    }

    /// Takes this many messages off the stream.
    async fn take(&mut self, count: usize) {
        for _ in 0..count {
            let update = self.stream.update().await;
            self.messages.push(v1::WatchMatchResponse { update: Some(update) }.encode_to_vec());
        }
    }

    /// Asks what there is to ask, and tries what he may not do.
    async fn ask(&mut self, duel: &Duel, random: &[Vec<u8>]) {
        let name = duel.name.clone();
        let get = v1::GetMatchRequest { name: name.clone(), ..Default::default() };
        self.messages.push(told(self.caller.matches().get_match(get).await, random));
        let transcript = v1::GetTranscriptRequest { name, ..Default::default() };
        self.messages.push(told(self.caller.matches().get_transcript(transcript).await, random));
        let list = v1::ListMatchesRequest::default();
        self.messages.push(told(self.caller.matches().list_matches(list).await, random));
        let early = duel.seal_request(Seat::White, 2, cell("A1"));
        self.messages.push(told(self.caller.matches().seal_move(early).await, random));
    }

    /// All of it, with what is random in every match made equal.
    fn seen(self, random: &[Vec<u8>]) -> Seen {
        let messages = self.messages.into_iter().map(|message| without(message, random)).collect();
        Seen { messages, frames: data_frames(&self.tap.received()) }
    }
}

/// An answer as bytes, whatever it is, without what is random.
fn told<T: prost::Message>(answer: Result<Response<T>, Status>, random: &[Vec<u8>]) -> Vec<u8> {
    match answer {
        Ok(response) => response.into_inner().encode_to_vec(),
        Err(status) => {
            // A map in the details has a random order.
            let mut details = without(status.details().to_vec(), random);
            details.sort_unstable();
            [status.message().as_bytes(), &details].concat()
        }
    }
}

/// The bytes with every occurrence of these values blotted out.
fn without(mut bytes: Vec<u8>, values: &[Vec<u8>]) -> Vec<u8> {
    for value in values {
        while let Some(at) = bytes.windows(value.len()).position(|window| window == value) {
            bytes[at..at + value.len()].fill(b'#');
        }
    }
    bytes
}

/// The lengths of the HTTP/2 DATA frames among what a server sent on one connection.
fn data_frames(mut bytes: &[u8]) -> Vec<usize> {
    const HEADER_BYTES: usize = 9;
    const DATA: u8 = 0;
    let mut lengths = Vec::new();
    while let [a, b, c, kind, ..] = *bytes {
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        if kind == DATA {
            lengths.push(length);
        }
        bytes = bytes.get(HEADER_BYTES + length..).unwrap_or_default();
    }
    lengths
}

/// What black does in turn 1.
#[derive(Clone, Copy)]
enum Black {
    Seals { cell: &'static str, salt: u8 },
    Waits,
}

/// Cells and salts that differ in every byte and in the length of their texts.
const MOVES: [(&str, u8); 3] = [("E5", 0x22), ("I9", 0xff), ("A2", 0x80)];

fn settings(seal_mode: SealMode, seal_status: SealStatus) -> v1::MatchSettings {
    v1::MatchSettings {
        seal_mode: seal_mode.into(),
        seal_status: seal_status.into(),
        spectators: Spectators::Live.into(),
        // Longer than these tests move the clock.
        reveal_time: (seal_mode == SealMode::CommitReveal).then(|| seconds(300)),
        ..Default::default()
    }
}

/// A match and everybody who looks on.
struct Scene {
    cluster: Cluster,
    duel: Duel,
    onlookers: [Onlooker; 3],
    /// What is random in every match.
    random: Vec<Vec<u8>>,
}

impl Scene {
    async fn set(settings: v1::MatchSettings) -> Self {
        let cluster = Cluster::of_one().await;
        let duel = cluster.duel(settings).await;
        let spectator = cluster.player(0, "spectator").await;
        let backend = cluster.backend(0).await;
        let random = vec![duel.name.clone().into_bytes(), duel.seen_by(Seat::Black).await.hash];
        let onlookers = [
            Onlooker::new(&cluster, duel.white.clone(), &duel.name).await,
            Onlooker::new(&cluster, spectator, &duel.name).await,
            Onlooker::new(&cluster, backend, &duel.name).await,
        ];
        Self { cluster, duel, onlookers, random }
    }

    /// Everybody takes this many messages off his stream.
    async fn take(&mut self, count: usize) {
        for onlooker in &mut self.onlookers {
            onlooker.take(count).await;
        }
    }

    /// Everybody takes what else his stream has, which is a heartbeat alone, and asks.
    async fn seen(mut self) -> [Seen; 3] {
        // What anything sets off is there before the heartbeat that comes after it.
        self.cluster.advance_ms(10_000).await;
        for onlooker in &mut self.onlookers {
            onlooker.take(1).await;
            onlooker.ask(&self.duel, &self.random).await;
        }
        self.onlookers.map(|onlooker| onlooker.seen(&self.random))
    }
}

/// What is seen of a turn in which black does this, until the turn resolves.
async fn observe(seal_mode: SealMode, seal_status: SealStatus, black: Black) -> [Seen; 3] {
    let mut scene = Scene::set(settings(seal_mode, seal_status)).await;
    if let Black::Seals { cell: name, salt } = black {
        let open = v1::OpenMove { cell: cell(name), salt: vec![salt; 32] };
        let receipt = if seal_mode == SealMode::CommitReveal {
            reveals::commit(&scene.duel, Seat::Black, &open).await
        } else {
            let mut seal = scene.duel.seal_request(Seat::Black, 1, open.cell);
            seal.r#move = Some(v1::seal_move_request::Move::Open(open));
            scene.duel.send_seal(Seat::Black, seal).await.unwrap()
        };
        scene.random.push(receipt.commitment);
    }
    if seal_status == SealStatus::Visible {
        scene.take(1).await;
    }
    scene.seen().await
}

/// What is seen of a turn in which both have committed and black has revealed this.
async fn observe_reveal(seal_status: SealStatus, name: &str, salt_byte: u8) -> [Seen; 3] {
    let mut scene = Scene::set(settings(SealMode::CommitReveal, seal_status)).await;
    let black = v1::OpenMove { cell: cell(name), salt: vec![salt_byte; 32] };
    let white = v1::OpenMove { cell: cell("C3"), salt: salt(1, Seat::White) };
    for (seat, open) in [(Seat::Black, &black), (Seat::White, &white)] {
        let receipt = reveals::commit(&scene.duel, seat, open).await;
        scene.random.push(receipt.commitment);
        if seat == Seat::White || seal_status == SealStatus::Visible {
            scene.take(1).await;
        }
    }
    reveals::reveal(&scene.duel, Seat::Black, &black).await.unwrap();
    // That he has revealed is no secret.
    scene.take(1).await;
    scene.seen().await
}

#[tokio::test]
async fn a_visible_seal_tells_only_that_it_is_there() {
    for seal_mode in [SealMode::ServerSealed, SealMode::CommitReveal] {
        let one = observe(seal_mode, SealStatus::Visible, Black::Seals { cell: "A1", salt: 0x11 }).await;
        for (cell, salt) in MOVES {
            assert_eq!(one, observe(seal_mode, SealStatus::Visible, Black::Seals { cell, salt }).await);
        }
    }
}

#[tokio::test]
async fn a_hidden_seal_tells_nothing_not_even_that_it_is_there() {
    for seal_mode in [SealMode::ServerSealed, SealMode::CommitReveal] {
        let unsealed = observe(seal_mode, SealStatus::Hidden, Black::Waits).await;
        for (cell, salt) in MOVES {
            assert_eq!(unsealed, observe(seal_mode, SealStatus::Hidden, Black::Seals { cell, salt }).await);
        }
    }
}

#[tokio::test]
async fn a_first_reveal_tells_only_that_it_is_there() {
    for seal_status in [SealStatus::Visible, SealStatus::Hidden] {
        let one = observe_reveal(seal_status, "A1", 0x11).await;
        for (cell, salt) in MOVES {
            assert_eq!(one, observe_reveal(seal_status, cell, salt).await);
        }
    }
}

#[tokio::test]
async fn a_hidden_seal_sends_the_opponent_no_message_at_all() {
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings { seal_status: SealStatus::Hidden.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    let mut opponent = duel.white.watch(&duel.name).await.unwrap();
    let mut sealer = duel.black.watch(&duel.name).await.unwrap();
    opponent.snapshot().await;
    opponent.status(|status| status.turn == 1).await;

    duel.seal(Seat::Black, 1, cell("E5")).await.unwrap();
    sealer.status(|status| status.own_seal.is_some()).await;
    cluster.advance_ms(10_000).await;
    assert!(matches!(opponent.update().await, Update::Heartbeat(_)), "nothing came before the heartbeat");

    // His own seal is his to see, and resolves the turn.
    duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    assert!(matches!(opponent.update().await, Update::Turn(_)));
}

#[tokio::test]
async fn a_refusal_does_not_depend_on_what_the_opponent_sealed() {
    let cluster = Cluster::of_one().await;
    let mut answers = Vec::new();
    for black in [None, Some("B2"), Some("C3")] {
        let duel = cluster.duel(Default::default()).await;
        duel.play(1, "A1", "I9").await;
        if let Some(black) = black {
            duel.seal(Seat::Black, 2, cell(black)).await.unwrap();
        }
        // Occupied on the public board; then the cell that black sealed in one of the matches.
        let occupied = duel.seal(Seat::White, 2, cell("A1")).await.unwrap_err();
        let details = without(occupied.details().to_vec(), &[duel.name.clone().into_bytes()]);
        let receipt = duel.seal(Seat::White, 2, cell("B2")).await.unwrap();
        let same = v1::SealReceipt { r#match: String::new(), commitment: Vec::new(), ..receipt };
        answers.push((occupied.message().to_owned(), details, same));
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}
