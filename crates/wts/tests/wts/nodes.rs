//! Two servers over one Redis: any node serves any match, whichever nodes come and go.

use std::time::Duration;

use futures::StreamExt as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use redis_servers::{Direction, Flavor, Mode, Options, Servers as _};
use whattheshell::prost_types::{Duration as Span, Timestamp};
use whattheshell::rules::{Cell, Position};
use whattheshell::{Client, MatchHandle, MatchStream, Player, Update, VerifiedTurn, v1};

use crate::shared_store::{SharedStore, agree, soon, until};

/// Turns sealed at once by both in every run.
const TURNS: usize = 200;

/// The same where `WTS_FULL=1` asks for the long run.
const TURNS_FULL: usize = 10_000;

/// Matches under way at once, so that turns of different matches meet as well.
const MATCHES_AT_ONCE: usize = 4;

/// Matches that nobody plays: enough that each node has some to look after.
const LEFT_ALONE: usize = 16;

/// The time for a turn there: the shortest there is.
const TURN_S: i64 = 1;

fn cell(name: &str) -> Cell {
    name.parse().expect("a cell")
}

/// The next turn, past statuses.
async fn turn(stream: &mut MatchStream) -> VerifiedTurn {
    loop {
        match soon("an update", stream.next()).await.expect("the match goes on").expect("it is verified") {
            Update::Turn(turn) => return turn,
            Update::Finished(finish) => panic!("a turn was due before the end: {finish:?}"),
            _ => {}
        }
    }
}

/// The end, past statuses.
async fn finish(stream: &mut MatchStream) -> v1::MatchFinished {
    loop {
        match soon("an update", stream.next()).await.expect("there is an end").expect("it is verified") {
            Update::Finished(finish) => return finish.message,
            Update::Turn(turn) => panic!("there was to be no turn {}", turn.turn),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_is_played_and_watched_through_any_node() {
    for flavor in Flavor::ALL {
        let store = SharedStore::start(flavor, &Options::new(), 2).await;
        let (ann, bob) = (store.player(0, "ann").await, store.player(1, "bob").await);
        let [black, white] = agree(&ann, &bob, v1::MatchSettings::default()).await;
        // Each stream is at the other node than its player's seals.
        let (ann_elsewhere, bob_elsewhere) = (store.player(1, "ann").await, store.player(0, "bob").await);
        let mut streams = [ann_elsewhere.watch(black.name()), bob_elsewhere.watch(black.name())];
        for (number, (b, w)) in [("A1", "I9"), ("B2", "H8"), ("C3", "C3")].into_iter().enumerate() {
            let number = u32::try_from(number + 1).expect("a turn");
            black.seal(number, cell(b)).await.expect("black's seal is legal");
            white.seal(number, cell(w)).await.expect("white's seal is legal");
            let [first, second] = &mut streams;
            let turns = (turn(first).await, turn(second).await);
            assert_eq!(turns.0.turn, number);
            assert_eq!(turns.0.message, turns.1.message);
        }
        bob_elsewhere.resign(black.name()).await.expect("he may resign anywhere");
        let [first, second] = &mut streams;
        assert_eq!(finish(first).await, finish(second).await);
        let transcripts = (ann.transcript(black.name()).await, bob.transcript(black.name()).await);
        let verified = transcripts.0.expect("it is over").verify().expect("it holds");
        assert_eq!(verified.turns.len(), 3);
        assert_eq!(transcripts.1.expect("it is over").verify().expect("it holds").turns.len(), 3);
    }
}

/// Begins matches that nobody plays, calls or watches.
async fn leave_matches_alone(ann: &Player, bob: &Player) -> Vec<String> {
    let turn_time = v1::match_settings::TimeControl::TurnTime(Span { seconds: TURN_S, nanos: 0 });
    let settings = v1::MatchSettings { time_control: Some(turn_time), ..v1::MatchSettings::default() };
    let mut names = Vec::new();
    for _ in 0..LEFT_ALONE {
        let [black, _] = agree(ann, bob, settings.clone()).await;
        names.push(black.name().to_owned());
    }
    names
}

/// Only the clockwork of the node that is left can end these matches, half of which were the dead one's. And
/// nobody's deadline moves because a node has died.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_left_does_what_was_a_dead_one_s() {
    for flavor in Flavor::ALL {
        let mut store = SharedStore::start(flavor, &Options::new(), 2).await;
        until("both nodes are there", async || store.known_nodes().await == 2).await;
        let (ann, bob) = (store.player(0, "ann").await, store.player(1, "bob").await);
        let names = leave_matches_alone(&ann, &bob).await;
        store.nodes[0].kill();
        until("all matches are over", async || store.waiting().await == 0).await;
        until("it is known to be dead", async || store.known_nodes().await == 1).await;
        for name in names {
            let ended = bob.get_match(&name).await.expect("it is kept");
            let finish = ended.finish.expect("it is over");
            assert_eq!(finish.reason(), v1::EndReason::BothFlagged);
            let took = between(ended.start_time.as_ref(), finish.finish_time.as_ref());
            assert_eq!(took, Some(Duration::from_secs(TURN_S.unsigned_abs())), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_leaves_undone_is_anyone_s() {
    for flavor in Flavor::ALL {
        let store = SharedStore::start(flavor, &Options::new(), 1).await;
        let both_are_there = async || {
            store.beat_of_an_idle_node().await;
            store.known_nodes().await == 2
        };
        until("both nodes are there", both_are_there).await;
        let (ann, bob) = (store.player(0, "ann").await, store.player(0, "bob").await);
        leave_matches_alone(&ann, &bob).await;
        let all_are_over = async || {
            store.beat_of_an_idle_node().await;
            store.waiting().await == 0
        };
        until("all matches are over", all_are_over).await;
    }
}

/// How long it is from one moment to another.
fn between(from: Option<&Timestamp>, to: Option<&Timestamp>) -> Option<Duration> {
    let (from, to) = (from?, to?);
    let ns = i128::from(to.seconds - from.seconds) * 1_000_000_000 + i128::from(to.nanos - from.nanos);
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

fn random_cell(position: &Position, dice: &mut StdRng) -> Cell {
    let empty: Vec<Cell> = Cell::all().filter(|cell| position.is_empty(*cell)).collect();
    empty[dice.random_range(0..empty.len())]
}

/// Plays a match to its end with both sealing at once through different nodes, and returns how many turns it
/// took.
async fn play_at_once([black, white]: &[MatchHandle; 2], dice: &mut StdRng) -> usize {
    let mut streams = [black.watch(), white.watch()];
    let mut turns = 0;
    while !black.position().outcome().status.is_over() {
        let cells = (random_cell(&black.position(), dice), random_cell(&black.position(), dice));
        turns += 1;
        let seals = tokio::join!(black.seal(turns, cells.0), white.seal(turns, cells.1));
        let receipts = [seals.0.expect("black's seal succeeds"), seals.1.expect("white's seal succeeds")];
        let [first, second] = &mut streams;
        let resolved = turn(first).await;
        assert_eq!(resolved.turn, turns, "exactly once and in order");
        assert_eq!(resolved.message, turn(second).await.message);
        for (receipt, opened) in receipts.iter().zip([&resolved.message.black, &resolved.message.white]) {
            assert_eq!(Some(&receipt.commitment), opened.as_ref().map(|opened| &opened.commitment));
        }
    }
    let [first, second] = &mut streams;
    assert_eq!(finish(first).await, finish(second).await);
    let transcripts = (black.transcript().await, white.transcript().await);
    let [first, second] = [transcripts.0, transcripts.1].map(|transcript| transcript.expect("it is over"));
    assert_eq!(first.message().turns, second.message().turns);
    let verified = first.verify().expect("it holds");
    assert_eq!(verified.turns.len(), usize::try_from(turns).expect("few"), "each turn once");
    verified.turns.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn seals_at_the_same_instant_through_two_nodes_both_count_and_the_turn_resolves_once() {
    let is_full = std::env::var("WTS_FULL").is_ok_and(|full| full == "1");
    let wanted = if is_full { TURNS_FULL } else { TURNS };
    for flavor in Flavor::ALL {
        let store = SharedStore::start(flavor, &Options::new(), 2).await;
        let mut lanes = Vec::new();
        for lane in 0..MATCHES_AT_ONCE {
            let black = store.player(0, &format!("ada{lane}")).await;
            let white = store.player(1, &format!("bo{lane}")).await;
            lanes.push(tokio::spawn(async move {
                let mut dice = StdRng::seed_from_u64(lane as u64);
                let mut played = 0;
                while played < wanted.div_ceil(MATCHES_AT_ONCE) {
                    let seats = agree(&black, &white, v1::MatchSettings::default()).await;
                    played += play_at_once(&seats, &mut dice).await;
                }
                played
            }));
        }
        let mut played = 0;
        for lane in lanes {
            played += lane.await.expect("it is played to its end");
        }
        assert!(played >= wanted);
    }
}

/// B3: the way to Redis takes longer than the caller waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_arrives_after_its_call_s_deadline_is_refused() {
    /// How long a caller waits.
    const WAITS: Duration = Duration::from_millis(500);
    /// Less than the age at which a stamp is too old: it is the deadline alone that refuses.
    const DELAY: Duration = Duration::from_millis(750);
    for flavor in Flavor::ALL {
        let store = SharedStore::start(flavor, &Options::new().behind_proxies(), 2).await;
        let (ann, bob) = (store.player(0, "ann").await, store.player(1, "bob").await);
        let [black, _white] = agree(&ann, &bob, v1::MatchSettings::default()).await;
        let hasty = store.player_with(0, "ann", &Client::builder().deadline(WAITS)).await;
        let hasty = hasty.open(black.name()).await.expect("her match");
        let network = &store.redis.proxies()[0];

        network.set_one(Direction::ToServer, Mode::Delay(DELAY));
        let error = hasty.seal(1, cell("A1")).await.expect_err("there is no answer in time");
        assert_eq!(error.reason(), Some(v1::ErrorReason::DeadlineExceeded));
        network.set(Mode::Pass);

        // On the same connection, so after what was held up there.
        black.refresh().await.expect("the network is well again");
        black.seal(1, cell("B2")).await.expect("nothing is sealed yet");
    }
}
