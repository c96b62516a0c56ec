//! The feed: a back end is told what happens in all matches, wherever it asks and wherever it stopped.

use std::time::Duration;

use prost::Message as _;
use rules::Seat;
use service_tests::{Cluster, Duel, Keeping, Setup, cell, reason, soon};
use store::FeedLimits;
use tonic::{Status, Streaming};
use wire::v1::feed_event::Event;
use wire::v1::watch_feed_response::Update;
use wire::v1::{self, EndReason, ErrorReason, MatchResult, SealMode, SealStatus, match_settings};

use super::{marked, reveals};

/// Shorter than any clock of these matches.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);

/// A feed that is read.
pub(crate) struct Feed {
    stream: Streaming<v1::WatchFeedResponse>,
}

/// An event and where it stood.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Told {
    event: v1::FeedEvent,
    pub(crate) cursor: Vec<u8>,
}

impl Feed {
    pub(crate) async fn open(cluster: &Cluster, node: usize, cursor: &[u8]) -> Result<Self, Status> {
        let request = v1::WatchFeedRequest { cursor: cursor.to_vec() };
        let backend = cluster.backend(node).await;
        let stream = soon("WatchFeed", backend.feed().watch_feed(request)).await?.into_inner();
        Ok(Self { stream })
    }

    async fn message(&mut self) -> Result<v1::WatchFeedResponse, Status> {
        let message = soon("the feed's next message", self.stream.message()).await?;
        Ok(message.expect("a feed has no end"))
    }

    /// The next event, past heartbeats.
    async fn event(&mut self) -> Told {
        loop {
            let v1::WatchFeedResponse { cursor, update } = self.message().await.expect("the feed goes on");
            if let Some(Update::Event(event)) = update {
                return Told { event, cursor };
            }
        }
    }

    /// Events up to one with these words, in words.
    pub(crate) async fn until(&mut self, last: &str) -> Vec<Told> {
        let mut told = Vec::new();
        loop {
            told.push(self.event().await);
            if told.last().is_some_and(|told| words(&told.event) == last) {
                return told;
            }
        }
    }

    /// A heartbeat, which is to come without any event: its cursor.
    async fn silence(&mut self, cluster: &Cluster) -> Vec<u8> {
        cluster.advance_ms(2 * HEARTBEAT.as_millis() as u64).await;
        let v1::WatchFeedResponse { cursor, update } = self.message().await.expect("the feed goes on");
        assert!(matches!(update, Some(Update::Heartbeat(_))), "{update:?}");
        cursor
    }

    /// How it ends, which is to come without any event.
    async fn refusal(&mut self) -> Status {
        loop {
            match self.message().await {
                Ok(v1::WatchFeedResponse { update: Some(Update::Heartbeat(_)), .. }) => {}
                Ok(message) => panic!("{message:?}"),
                Err(status) => return status,
            }
        }
    }
}

pub(crate) fn words(event: &v1::FeedEvent) -> String {
    match event.event.as_ref().expect("an event is one of those that are known") {
        Event::Started(_) => "started".to_owned(),
        Event::TurnOpened(opened) => format!("opened {}", opened.turn),
        Event::TurnResolved(resolved) => format!("resolved {}", resolved.turn),
        Event::Finished(finished) => format!("finished {}", finished.turn),
    }
}

pub(crate) fn of_match(told: &[Told], name: &str) -> Vec<String> {
    told.iter().filter(|told| told.event.r#match == name).map(|told| words(&told.event)).collect()
}

pub(crate) const WHOLE: [&str; 7] =
    ["started", "opened 1", "resolved 1", "opened 2", "resolved 2", "opened 3", "finished 2"];

/// Two turns and black's resignation.
async fn play(duel: &Duel) {
    duel.play(1, "A1", "I9").await;
    duel.play(2, "C1", "G9").await;
    duel.resign(Seat::Black).await.unwrap();
}

#[tokio::test]
async fn a_back_end_is_told_a_match_from_its_start_to_its_end_on_any_node() {
    let cluster = Cluster::of_two().await;
    let mut live = Feed::open(&cluster, 1, &[]).await.unwrap();
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    play(&duel).await;
    let told = live.until("finished 2").await;
    assert_eq!(of_match(&told, &duel.name), WHOLE);
    let mut later = Feed::open(&cluster, 0, &[]).await.unwrap();
    let events = |told: &[Told]| told.iter().map(|told| told.event.clone()).collect::<Vec<_>>();
    assert_eq!(events(&later.until("finished 2").await), events(&told), "who comes later is told the same");

    for Told { event, .. } in &told {
        assert_eq!((&event.black_player, &event.white_player), (&duel.black.name, &duel.white.name));
    }
    let game = duel.seen_by(Seat::Black).await;
    let Some(Event::Started(started)) = &told[0].event.event else { panic!("{told:?}") };
    assert_eq!(started.settings, game.settings);
    let Some(Event::Finished(finished)) = &told[6].event.event else { panic!("{told:?}") };
    assert_eq!(Some(finished), game.finish.as_ref());
    assert_eq!((finished.result(), finished.reason()), (MatchResult::WhiteWins, EndReason::Resignation));
    assert_eq!(told[6].event.event_time, finished.finish_time);
    let transcript = duel.black.transcript(&duel.name).await.unwrap();
    for (turn, at) in [(0, 2), (1, 4)] {
        let Some(Event::TurnResolved(resolved)) = &told[at].event.event else { panic!("{told:?}") };
        assert_eq!(resolved.hash, transcript.turns[turn].hash);
    }
}

/// The cursor of every event, given to the other node before and to both after a restart: nothing is missing, and
/// only what one commit told together comes twice.
#[tokio::test]
async fn a_feed_is_resumed_without_a_gap_across_nodes_and_restarts() {
    let setup = Setup { nodes: 2, keeping: Keeping::Directory, ..Setup::default() };
    let mut cluster = Cluster::start(setup).await;
    let (one, other) =
        (cluster.duel(v1::MatchSettings::default()).await, cluster.duel(v1::MatchSettings::default()).await);
    play(&one).await;
    other.play(1, "E1", "E9").await;
    let mut feed = Feed::open(&cluster, 0, &[]).await.unwrap();
    let mut all = Vec::new();
    // One more is started and one opened in each turn: 7 of the one, 4 of the other.
    while all.len() < WHOLE.len() + 4 {
        all.push(feed.event().await);
    }
    drop(feed);
    for restarted in [false, true] {
        if restarted {
            cluster.restart().await;
        }
        for (at, told) in all[..all.len() - 1].iter().enumerate() {
            let mut resumed = Feed::open(&cluster, at % 2, &told.cursor).await.unwrap();
            let mut again = Vec::new();
            while again.last() != all.last().map(|last| &last.event) && again.len() < all.len() {
                again.push(resumed.event().await.event);
            }
            // Each match from there on whole, and at most the entry's own first event once more.
            for duel in [&one, &other] {
                let of_duel = |event: &&v1::FeedEvent| event.r#match == duel.name;
                let expected: Vec<_> = all[at + 1..].iter().map(|told| &told.event).filter(of_duel).collect();
                let got: Vec<_> = again.iter().filter(of_duel).collect();
                assert!(got.ends_with(&expected), "after event {at}: {got:?}");
                assert!(got.len() <= expected.len() + 1, "after event {at}: {got:?}");
            }
        }
    }
    // What happens after the restart follows what happened before it.
    let other = other.reconnected(&cluster).await;
    let mut resumed = Feed::open(&cluster, 1, &all[all.len() - 1].cursor).await.unwrap();
    other.play(2, "A2", "I8").await;
    assert_eq!(of_match(&resumed.until("opened 3").await, &other.name), ["resolved 2", "opened 3"]);
}

/// Whatever is sealed, in both modes, with the status hidden and not: until the turn resolves the feed is silent,
/// and nothing that it ever tells has the cell or the salt.
#[tokio::test]
async fn the_feed_tells_nothing_of_an_unresolved_seal() {
    for (seal_mode, seal_status) in [
        (SealMode::ServerSealed, SealStatus::Hidden),
        (SealMode::ServerSealed, SealStatus::Visible),
        (SealMode::CommitReveal, SealStatus::Hidden),
    ] {
        let cluster = Cluster::start(Setup { heartbeat: HEARTBEAT, ..Setup::default() }).await;
        let mut feed = Feed::open(&cluster, 0, &[]).await.unwrap();
        let settings = v1::MatchSettings {
            seal_mode: seal_mode.into(),
            seal_status: seal_status.into(),
            ..reveals::settings()
        };
        let duel = cluster.duel(settings).await;
        let mut told = feed.until("opened 1").await;
        let whites = v1::OpenMove { cell: cell("A1"), salt: service_tests::salt(1, Seat::White) };
        if seal_mode == SealMode::CommitReveal {
            reveals::commit(&duel, Seat::Black, &marked::open()).await;
            feed.silence(&cluster).await;
            reveals::commit(&duel, Seat::White, &whites).await;
            feed.silence(&cluster).await;
            reveals::reveal(&duel, Seat::Black, &marked::open()).await.unwrap();
            feed.silence(&cluster).await;
            reveals::reveal(&duel, Seat::White, &whites).await.unwrap();
        } else {
            let mut seal = duel.seal_request(Seat::Black, 1, marked::CELL);
            seal.r#move = Some(v1::seal_move_request::Move::Open(marked::open()));
            duel.send_seal(Seat::Black, seal).await.unwrap();
            feed.silence(&cluster).await;
            duel.seal(Seat::White, 1, whites.cell).await.unwrap();
        }
        told.extend(feed.until("opened 2").await);
        for told in &told {
            assert_eq!(marked::move_in(&told.event.encode_to_vec()), None, "{:?}", told.event);
        }
    }
}

/// Cursors from before anything happened, from within an entry and from after each: those that a trimmed event
/// follows are told so, and the others miss nothing.
pub(crate) async fn whoever_comes_too_late_is_told_so(cluster: &Cluster) {
    let turn_time = match_settings::TimeControl::TurnTime(service_tests::seconds(14 * 24 * 60 * 60));
    let settings = v1::MatchSettings { time_control: Some(turn_time), ..Default::default() };
    let mut from_nothing = Feed::open(cluster, 0, &[]).await.unwrap();
    let before_anything = from_nothing.silence(cluster).await;
    let duel = cluster.duel(settings).await;
    duel.play(1, "A1", "I9").await;
    let within_the_first = from_nothing.event().await;
    let told = Feed::open(cluster, 0, &[]).await.unwrap().until("opened 2").await;
    let mut from_before = Feed::open(cluster, 0, &before_anything).await.unwrap();
    assert_eq!(from_before.until("opened 2").await.len(), told.len(), "he has missed nothing yet");
    cluster.clock.advance_ms(FeedLimits::default().retention_ms + 1_000);
    // Tokens do not live as long.
    let (black, white) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let duel = Duel { black, white, ..duel };
    duel.play(2, "C1", "G9").await;
    for cursor in [&before_anything, &within_the_first.cursor, &told[0].cursor, &told[1].cursor] {
        let mut behind = Feed::open(cluster, 0, cursor).await.unwrap();
        let trimmed = behind.refusal().await;
        assert_eq!(reason(&trimmed), ErrorReason::FeedTrimmed);
        assert_eq!(trimmed.code(), tonic::Code::DataLoss);
    }
    let mut in_time = Feed::open(cluster, 0, &told[3].cursor).await.unwrap();
    assert_eq!(of_match(&in_time.until("opened 3").await, &duel.name), ["resolved 2", "opened 3"]);
    let mut anew = Feed::open(cluster, 0, &[]).await.unwrap();
    assert_eq!(of_match(&anew.until("opened 3").await, &duel.name), ["resolved 2", "opened 3"]);
}

#[tokio::test]
async fn a_cursor_older_than_what_is_kept_is_told_so_and_the_beginning_is_what_is_kept() {
    let cluster = Cluster::start(Setup { heartbeat: HEARTBEAT, ..Setup::default() }).await;
    whoever_comes_too_late_is_told_so(&cluster).await;
}

#[tokio::test]
async fn what_is_no_cursor_is_refused_with_its_field() {
    let cluster = Cluster::of_one().await;
    for cursor in [&b"what?"[..], &[1], &[0; 20], &[1; 16 * 1024 + 1]] {
        let refused = Feed::open(&cluster, 0, cursor).await.map(|_| ()).unwrap_err();
        assert_eq!(reason(&refused), ErrorReason::FieldInvalid);
    }
}

/// Whatever the store has taken over from another one, that one's feed was not among it.
#[tokio::test]
async fn a_cursor_of_a_store_with_other_shards_is_told_that_what_follows_it_is_gone() {
    let cluster = Cluster::of_one().await;
    // Three shards in which nothing has ever been.
    let mut elsewhere = Feed::open(&cluster, 0, &[1, 3, 0, 0, 0, 0]).await;
    let gone = match &mut elsewhere {
        Ok(feed) => feed.refusal().await,
        Err(status) => status.clone(),
    };
    assert_eq!(reason(&gone), ErrorReason::FeedTrimmed);
}

/// What a stream does when its node goes: it says so, and its cursor is good at another node.
#[tokio::test]
async fn a_node_that_ends_sends_the_reader_of_its_feed_elsewhere() {
    let mut cluster = Cluster::of_two().await;
    let mut feed = Feed::open(&cluster, 0, &[]).await.unwrap();
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let told = feed.until("opened 1").await;
    cluster.nodes[0].stop();
    let ended = loop {
        if let Err(status) = feed.message().await {
            break status;
        }
    };
    assert_eq!(reason(&ended), ErrorReason::ResumeElsewhere);
    let duel = Duel { black: duel.black.through(cluster.nodes[1].address).await, ..duel };
    duel.play(1, "A1", "I9").await;
    let mut resumed = Feed::open(&cluster, 1, &told[1].cursor).await.unwrap();
    assert_eq!(of_match(&resumed.until("opened 2").await, &duel.name), ["resolved 1", "opened 2"]);
}
