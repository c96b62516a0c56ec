//! F1 and D1: until a turn resolves, its cells and salts are in nothing that anybody else receives, to the
//! byte on the socket, in no line of the log at TRACE, and in nothing that is exported of it, of spans and of
//! metrics.

use prost::Message as _;
use rules::Seat;
use service_tests::{
    Cluster, Collector, Duel, Exporting, Fault, Log, Manner, Operation, Setup, Tap, Watching, cell,
};
use wire::v1::watch_match_response::Update;
use wire::v1::{self, SealStatus, Spectators};

use super::marked::{self, Values};
use super::reveals;

/// Black's marked move in turn 1.
fn marked_seal(duel: &Duel) -> v1::SealMoveRequest {
    let mut request = duel.seal_request(Seat::Black, 1, marked::CELL);
    request.r#move = Some(v1::seal_move_request::Move::Open(marked::open()));
    request
}

/// All that operators hear: each call is traced.
struct Heard {
    log: Log,
    exporting: Exporting,
    collector: Collector,
}

impl Heard {
    fn begin() -> Self {
        let collector = Collector::start(Manner::Takes);
        let exporting = Exporting::to(&collector.url());
        let log = Log::capture_and_export(Some(&exporting.pipelines));
        Self { log, exporting, collector }
    }

    /// Everything so far, and what it is called.
    async fn all(&self) -> [(&'static str, Vec<u8>); 3] {
        self.exporting.pipelines.flush();
        let exported = self.collector.received().bytes;
        let scraped = self.exporting.scrape().await.into_bytes();
        [("the log", self.log.text()), ("the export", exported), ("the scrape", scraped)]
    }
}

struct Onlookers {
    cluster: Cluster,
    duel: Duel,
    taps: Vec<(&'static str, Tap)>,
    streams: Vec<Watching>,
}

impl Onlookers {
    /// A match with turn 1 open, and everybody but black behind a tap, with a stream each.
    async fn gather(heard: &Heard, seal_status: SealStatus) -> Self {
        let settings = v1::MatchSettings {
            spectators: Spectators::Live.into(),
            seal_status: seal_status.into(),
            ..Default::default()
        };
        Self::at(heard, settings).await
    }

    /// The same in a match with these settings.
    async fn at(heard: &Heard, settings: v1::MatchSettings) -> Self {
        let instruments = heard.exporting.instruments.clone();
        let cluster = Cluster::start(Setup { instruments, ..Setup::default() }).await;
        let mut duel = cluster.duel(settings).await;
        let mut spectator = cluster.player(0, "spectator").await;
        let mut backend = cluster.backend(0).await;
        let (mut taps, mut streams) = (Vec::new(), Vec::new());
        for (who, caller) in
            [("the opponent", &mut duel.white), ("a spectator", &mut spectator), ("a back end", &mut backend)]
        {
            let tap = Tap::on(cluster.nodes[0].address).await;
            *caller = caller.through(tap.address).await;
            let mut stream = caller.watch_after(&duel.name, 0, &[]).await.unwrap();
            stream.status(|status| status.turn == 1).await;
            taps.push((who, tap));
            streams.push(stream);
        }
        Self { cluster, duel, taps, streams }
    }

    /// Lets everything that the seal causes happen: each stream sends a heartbeat after it.
    async fn settle(&mut self) {
        self.cluster.advance_ms(10_000).await;
        for stream in &mut self.streams {
            loop {
                let update = stream.update().await;
                let last = matches!(update, Update::Heartbeat(_));
                let message = v1::WatchMatchResponse { update: Some(update) }.encode_to_vec();
                assert!(!Values::of("whattheshell.v1.WatchMatchResponse", &message).have_cell());
                if last {
                    break;
                }
            }
        }
    }

    async fn assert_nothing_leaked(&self, heard: &Heard) {
        for (who, tap) in &self.taps {
            assert_eq!(marked::salt_in(&tap.received()), None, "{who} received the salt");
        }
        for (what, text) in heard.all().await {
            assert_eq!(marked::salt_in(&text), None, "{what} has the salt");
            assert_eq!(marked::cell_in(&text), None, "{what} has the cell");
        }
    }

    /// Black seals his marked move in every way that there is to go wrong, then for good.
    async fn seal_marked(&self) {
        let good = marked_seal(&self.duel);
        let other_turn = v1::SealMoveRequest { turn: 2, ..good.clone() };
        let other_history = v1::SealMoveRequest { previous_hash: vec![1; 32], ..good.clone() };
        let no_request_id = v1::SealMoveRequest { request_id: String::new(), ..good.clone() };
        let signed_by_nobody = v1::SealMoveRequest { player_signature: vec![1; 64], ..good.clone() };
        for refused in [other_turn, other_history, no_request_id, signed_by_nobody] {
            self.duel.send_seal(Seat::Black, refused).await.expect_err("it is not legal");
        }
        let receipt = self.duel.send_seal(Seat::Black, good.clone()).await.unwrap();
        assert_eq!(self.duel.send_seal(Seat::Black, good.clone()).await.unwrap(), receipt);
        let another = v1::SealMoveRequest { request_id: "another".to_owned(), ..good };
        self.duel.send_seal(Seat::Black, another).await.expect_err("a seal is final");
    }
}

async fn stays_secret_until_it_resolves(seal_status: SealStatus) {
    let heard = Heard::begin();
    let mut onlookers = Onlookers::gather(&heard, seal_status).await;
    onlookers.seal_marked().await;
    onlookers.settle().await;
    onlookers.assert_nothing_leaked(&heard).await;

    // The same search finds it once it is public.
    onlookers.duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    for (stream, (who, tap)) in onlookers.streams.iter_mut().zip(&onlookers.taps) {
        stream.turn().await;
        assert_eq!(marked::salt_in(&tap.received()), Some("raw"), "{who} is told the resolved turn");
    }
}

#[tokio::test]
async fn a_visible_seal_stays_secret_until_it_resolves() {
    stays_secret_until_it_resolves(SealStatus::Visible).await;
}

#[tokio::test]
async fn a_hidden_seal_stays_secret_until_it_resolves() {
    stays_secret_until_it_resolves(SealStatus::Hidden).await;
}

async fn faults_keep_the_secret(seal_status: SealStatus) {
    let heard = Heard::begin();
    let mut onlookers = Onlookers::gather(&heard, seal_status).await;
    let faults = onlookers.cluster.nodes[0].faults.clone();
    let seal = marked_seal(&onlookers.duel);
    for fault in [Fault::Refused, Fault::Panic, Fault::AnswerLost] {
        faults.at(Operation::Commit, 1, fault);
        onlookers.duel.send_seal(Seat::Black, seal.clone()).await.expect_err("the store fails");
    }
    onlookers.duel.send_seal(Seat::Black, seal).await.expect("the retry finds its seal");
    onlookers.settle().await;
    onlookers.assert_nothing_leaked(&heard).await;
}

#[tokio::test]
async fn a_faulty_store_and_a_panic_keep_a_visible_seal_secret() {
    faults_keep_the_secret(SealStatus::Visible).await;
}

#[tokio::test]
async fn a_faulty_store_and_a_panic_keep_a_hidden_seal_secret() {
    faults_keep_the_secret(SealStatus::Hidden).await;
}

#[tokio::test]
async fn a_first_reveal_stays_secret_until_the_second() {
    let heard = Heard::begin();
    let mut onlookers = Onlookers::at(&heard, reveals::settings()).await;
    let white = v1::OpenMove { cell: cell("A1"), salt: vec![1; 32] };
    reveals::commit(&onlookers.duel, Seat::Black, &marked::open()).await;
    reveals::reveal(&onlookers.duel, Seat::Black, &marked::open()).await.expect_err("it is too early");
    reveals::commit(&onlookers.duel, Seat::White, &white).await;
    reveals::reveal(&onlookers.duel, Seat::Black, &marked::open()).await.unwrap();
    onlookers.settle().await;
    onlookers.assert_nothing_leaked(&heard).await;
    reveals::reveal(&onlookers.duel, Seat::White, &white).await.unwrap();
    onlookers.streams[0].turn().await;
    assert_eq!(marked::salt_in(&onlookers.taps[0].1.received()), Some("raw"));
}

#[tokio::test]
async fn a_seal_that_never_resolves_stays_secret() {
    let heard = Heard::begin();
    let mut onlookers = Onlookers::gather(&heard, SealStatus::Visible).await;
    onlookers.seal_marked().await;
    onlookers.cluster.advance_ms(31_000).await;
    for stream in &mut onlookers.streams {
        stream.finished().await;
    }
    onlookers.duel.white.transcript(&onlookers.duel.name).await.unwrap();
    onlookers.assert_nothing_leaked(&heard).await;
}

// Without this, the capture could be deaf to the layers where a leak would be.
#[tokio::test]
async fn the_capture_hears_the_transport_and_the_calls() {
    let heard = Heard::begin();
    let onlookers = Onlookers::gather(&heard, SealStatus::Visible).await;
    onlookers.seal_marked().await;
    let [log, export, scrape] =
        heard.all().await.map(|(_, text)| String::from_utf8_lossy(&text).into_owned());
    for heard in ["TRACE", "h2::", "rpc.method=\"SealMove\"", "tower"] {
        assert!(log.contains(heard), "the log lacks {heard}");
    }
    for heard in ["MatchService/SealMove", "call ended", "wts.seals.acknowledged"] {
        assert!(export.contains(heard), "the export lacks {heard}");
    }
    assert!(scrape.contains("wts_seals_acknowledged_total{wts_by=\"player\"} "), "{scrape}");
}
