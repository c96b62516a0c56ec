//! D4: what the opponent and a spectator receive does not depend on what was sealed, and with hidden status
//! not even on whether.

use prost::Message as _;
use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Tap, Watching, cell};
use wire::v1::watch_match_response::Update;
use wire::v1::{self, SealStatus, Spectators};

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
    async fn ask(&mut self, duel: &Duel) {
        let game = self.caller.get(&duel.name).await.unwrap();
        self.messages.push(game.encode_to_vec());
        self.messages.push(self.caller.transcript(&duel.name).await.unwrap().encode_to_vec());
        let listed = self.caller.matches().list_matches(v1::ListMatchesRequest::default()).await.unwrap();
        self.messages.push(listed.into_inner().encode_to_vec());
        let early = duel.seal_request(Seat::White, 2, cell("A1"));
        let refused = self.caller.matches().seal_move(early).await.unwrap_err();
        self.messages.push(refused.message().as_bytes().to_vec());
        self.messages.push(refused.details().to_vec());
    }

    /// All of it, with what is random in every match made equal.
    fn seen(self, random: &[Vec<u8>]) -> Seen {
        let messages = self.messages.into_iter().map(|message| without(message, random)).collect();
        Seen { messages, frames: data_frames(&self.tap.received()) }
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

/// What the opponent and a spectator see of a turn in which black does this, until the turn resolves.
async fn observe(seal_status: SealStatus, black: Black) -> [Seen; 2] {
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings {
        spectators: Spectators::Live.into(),
        seal_status: seal_status.into(),
        ..Default::default()
    };
    let duel = cluster.duel(settings).await;
    let spectator = cluster.player(0, "spectator").await;
    let mut random = vec![duel.name.clone().into_bytes(), duel.seen_by(Seat::Black).await.hash];
    let mut onlookers = [
        Onlooker::new(&cluster, duel.white.clone(), &duel.name).await,
        Onlooker::new(&cluster, spectator, &duel.name).await,
    ];
    if let Black::Seals { cell: name, salt } = black {
        let mut seal = duel.seal_request(Seat::Black, 1, cell(name));
        let open = v1::OpenMove { cell: cell(name), salt: vec![salt; 32] };
        seal.r#move = Some(v1::seal_move_request::Move::Open(open));
        random.push(duel.send_seal(Seat::Black, seal).await.unwrap().commitment);
    }
    // What the seal sets off is there before the heartbeat that comes after it.
    cluster.advance_ms(10_000).await;
    for onlooker in &mut onlookers {
        onlooker.take(if seal_status == SealStatus::Visible { 2 } else { 1 }).await;
        onlooker.ask(&duel).await;
    }
    onlookers.map(|onlooker| onlooker.seen(&random))
}

#[tokio::test]
async fn a_visible_seal_tells_only_that_it_is_there() {
    let one = observe(SealStatus::Visible, Black::Seals { cell: "A1", salt: 0x11 }).await;
    for (cell, salt) in [("E5", 0x22), ("I9", 0xff), ("A2", 0x80)] {
        assert_eq!(one, observe(SealStatus::Visible, Black::Seals { cell, salt }).await);
    }
}

#[tokio::test]
async fn a_hidden_seal_tells_nothing_not_even_that_it_is_there() {
    let unsealed = observe(SealStatus::Hidden, Black::Waits).await;
    for (cell, salt) in [("A1", 0x11), ("E5", 0x22), ("I9", 0xff)] {
        assert_eq!(unsealed, observe(SealStatus::Hidden, Black::Seals { cell, salt }).await);
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
