//! D13: whenever a client comes back, each later turn comes exactly once and in order.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Operation, cell};
use wire::ApiError;
use wire::v1::watch_match_response::Update;
use wire::v1::{self, ErrorReason, MatchFinished, ResolvedTurn};

/// Ten turns without a row or a capture; black's cells, then white's.
const MOVES: [(&str, &str); 10] = [
    ("A1", "I9"),
    ("C1", "G9"),
    ("E1", "E9"),
    ("G1", "C9"),
    ("A3", "I7"),
    ("C3", "G7"),
    ("E3", "E7"),
    ("G3", "C7"),
    ("A5", "I5"),
    ("C5", "G5"),
];

/// Turns of the matches that are played while somebody watches.
const TURNS: usize = MOVES.len();

async fn play(duel: &Duel, turns: std::ops::RangeInclusive<u32>) {
    for turn in turns {
        let (black, white) = MOVES[turn as usize - 1];
        duel.play(turn, black, white).await;
    }
}

/// White, at the other node than the one that both play through.
async fn onlooker(cluster: &Cluster, duel: &mut Duel) -> Caller {
    let elsewhere = duel.white.clone();
    duel.white = duel.white.through(cluster.nodes[0].address).await;
    elsewhere
}

async fn finished_match(cluster: &Cluster) -> (Duel, v1::Transcript) {
    let duel = cluster.duel(Default::default()).await;
    play(&duel, 1..=TURNS as u32).await;
    duel.resign(Seat::White).await.unwrap();
    let transcript = duel.black.transcript(&duel.name).await.unwrap();
    (duel, transcript)
}

/// h after a turn.
fn hash_after(transcript: &v1::Transcript, turn: usize) -> Vec<u8> {
    match turn.checked_sub(1) {
        None => transcript.first_hash.clone(),
        Some(index) => transcript.turns[index].hash.clone(),
    }
}

#[tokio::test]
async fn a_finished_match_can_be_resumed_from_every_turn() {
    let cluster = Cluster::of_two().await;
    let (duel, transcript) = finished_match(&cluster).await;
    for after in 0..=TURNS {
        let hash = hash_after(&transcript, after);
        let mut watching = duel.white.watch_after(&duel.name, after as u32, &hash).await.unwrap();
        let snapshot = watching.snapshot().await;
        assert_eq!((snapshot.turn, &snapshot.hash), (after as u32, &hash));
        if let Some(index) = after.checked_sub(1) {
            assert_eq!(snapshot.position, transcript.turns[index].position);
        }
        let (updates, end) = watching.rest().await;
        end.unwrap();
        let turns = transcript.turns[after..].iter().cloned().map(Update::Turn);
        let finish = transcript.finish.clone().map(Update::Finished);
        assert_eq!(updates, turns.chain(finish).collect::<Vec<_>>());
    }
    let mut from_the_head = duel.white.watch(&duel.name).await.unwrap();
    assert_eq!(from_the_head.snapshot().await.turn, TURNS as u32);
}

#[tokio::test]
async fn who_knows_another_history_is_told_so() {
    let cluster = Cluster::of_two().await;
    let (duel, transcript) = finished_match(&cluster).await;
    let mut refused = Vec::new();
    for after in 0..=TURNS {
        let mut wrong = hash_after(&transcript, after);
        wrong[31] ^= 1;
        refused.push(duel.white.watch_after(&duel.name, after as u32, &wrong).await.unwrap_err());
    }
    let last = hash_after(&transcript, TURNS);
    refused.push(duel.white.watch_after(&duel.name, TURNS as u32 + 1, &last).await.unwrap_err());
    refused.push(duel.white.watch_after(&duel.name, TURNS as u32 + 1, &[]).await.unwrap_err());
    for refused in refused {
        assert_eq!(ApiError::from_status(&refused).unwrap().reason(), ErrorReason::HistoryRegressed);
    }
}

/// Plays turn 1, holds a reconnecting client's call to the store at one place, resolves turn 2 meanwhile,
/// and lets the client go on.
async fn resolved_while_held(operation: Operation, after_the_call: bool) {
    let cluster = Cluster::of_two().await;
    let mut duel = cluster.duel(Default::default()).await;
    let onlooker = onlooker(&cluster, &mut duel).await;
    play(&duel, 1..=1).await;
    let faults = &cluster.nodes[1].faults;
    let gate = if after_the_call { faults.hold_answer(operation) } else { faults.hold(operation) };
    let hash = duel.seen_by(Seat::Black).await.hash;
    let name = duel.name.clone();
    let coming_back = tokio::spawn(async move {
        let mut watching = onlooker.watch_after(&name, 1, &hash).await.unwrap();
        assert_eq!(watching.snapshot().await.turn, 1);
        (watching.turn().await.turn, watching)
    });
    gate.reached().await;
    play(&duel, 2..=2).await;
    gate.open();
    // Nothing follows that could make good for a lost hint.
    let (next, mut watching) = coming_back.await.unwrap();
    assert_eq!(next, 2, "{operation:?}, after the call: {after_the_call}");
    play(&duel, 3..=3).await;
    assert_eq!(watching.turn().await.turn, 3, "{operation:?}, after the call: {after_the_call}");
}

#[tokio::test]
async fn a_turn_that_resolves_during_a_reconnect_is_seen_once() {
    for operation in [Operation::Watch, Operation::Load] {
        for after_the_call in [false, true] {
            resolved_while_held(operation, after_the_call).await;
        }
    }
}

/// Watches a match to its end with a client that drops its stream every few messages.
async fn watch_badly(onlooker: &Caller, name: &str, dice: &mut StdRng) -> (Vec<ResolvedTurn>, MatchFinished) {
    let (mut turns, mut hash) = (Vec::<ResolvedTurn>::new(), Vec::new());
    loop {
        let mut watching = onlooker.watch_after(name, turns.len() as u32, &hash).await.unwrap();
        let snapshot = watching.snapshot().await;
        assert_eq!(snapshot.turn as usize, turns.len());
        for _ in 0..dice.random_range(1..4) {
            match watching.update().await {
                Update::Turn(turn) => {
                    hash.clone_from(&turn.hash);
                    turns.push(turn);
                }
                Update::Finished(finish) => return (turns, finish),
                Update::Status(_) | Update::Heartbeat(_) => {}
                Update::Snapshot(snapshot) => panic!("a second snapshot: {snapshot:?}"),
            }
        }
    }
}

async fn play_unevenly(duel: &Duel, dice: &mut StdRng) {
    for turn in 1..=TURNS as u32 {
        for _ in 0..dice.random_range(0..20) {
            tokio::task::yield_now().await;
        }
        play(duel, turn..=turn).await;
    }
    duel.resign(Seat::Black).await.unwrap();
}

#[tokio::test]
async fn a_client_that_keeps_reconnecting_sees_every_turn_once() {
    let cluster = Cluster::of_two().await;
    for seed in 0..24 {
        let mut duel = cluster.duel(Default::default()).await;
        let onlooker = onlooker(&cluster, &mut duel).await;
        let (mut playing, mut watching) = (StdRng::seed_from_u64(seed), StdRng::seed_from_u64(!seed));
        let ((), (turns, finish)) = tokio::join!(
            play_unevenly(&duel, &mut playing),
            watch_badly(&onlooker, &duel.name, &mut watching),
        );
        let transcript = duel.black.transcript(&duel.name).await.unwrap();
        assert_eq!(turns, transcript.turns, "seed {seed}");
        assert_eq!(Some(finish), transcript.finish, "seed {seed}");
    }
}

#[tokio::test]
async fn two_devices_of_a_player_both_see_the_match() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let tablet = duel.white.through(cluster.nodes[0].address).await;
    let mut streams = [duel.white.watch(&duel.name).await.unwrap(), tablet.watch(&duel.name).await.unwrap()];
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    for stream in &mut streams {
        assert_eq!(stream.turn().await.turn, 1);
    }
    duel.resign(Seat::Black).await.unwrap();
    let [phone, tablet] = &mut streams;
    assert_eq!(phone.finished().await, tablet.finished().await);
}
