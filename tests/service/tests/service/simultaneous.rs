//! D6: both players seal at the same instant through different nodes. Every call succeeds, and each turn
//! resolves once.

use prost::Message as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rules::{Cell, Position, Seat};
use service_tests::{Cluster, Duel, Setup, Watching};
use wire::v1::{self, MatchState};

/// Turns sealed at once by both in every run.
const TURNS: usize = 200;

/// The same where `WTS_FULL=1` asks for the long run.
const TURNS_FULL: usize = 10_000;

/// Matches under way at once, so that turns of different matches meet as well.
const MATCHES_AT_ONCE: usize = 4;

fn full_run() -> bool {
    std::env::var("WTS_FULL").is_ok_and(|full| full == "1")
}

fn random_cell(position: &Position, dice: &mut StdRng) -> u32 {
    let empty: Vec<Cell> = Cell::all().filter(|cell| position.is_empty(*cell)).collect();
    u32::from(empty[dice.random_range(0..empty.len())].number())
}

fn cell(number: u32) -> Cell {
    Cell::from_number(u8::try_from(number).unwrap()).unwrap()
}

/// Seals both seats at once and checks that both streams deliver the turn, the same to the byte.
async fn seal_at_once(
    duel: &Duel,
    turn: u32,
    cells: (u32, u32),
    streams: &mut [Watching; 2],
) -> v1::ResolvedTurn {
    let (black, white) =
        tokio::join!(duel.seal(Seat::Black, turn, cells.0), duel.seal(Seat::White, turn, cells.1));
    let receipts = [black.expect("black's seal succeeds"), white.expect("white's seal succeeds")];
    let [first, second] = streams;
    let resolved = first.turn().await;
    assert_eq!(resolved.turn, turn, "exactly once and in order");
    assert_eq!(resolved.encode_to_vec(), second.turn().await.encode_to_vec());
    for (receipt, opened) in receipts.iter().zip([&resolved.black, &resolved.white]) {
        assert_eq!(receipt.commitment, opened.as_ref().unwrap().commitment);
    }
    resolved
}

/// Plays a match to its end with both sealing at once, and returns its turns.
async fn play_match(duel: &Duel, dice: &mut StdRng) -> usize {
    let mut streams = [
        duel.black.watch_after(&duel.name, 0, &[]).await.unwrap(),
        duel.white.watch_after(&duel.name, 0, &[]).await.unwrap(),
    ];
    let mut position = Position::initial();
    let mut turns = Vec::new();
    while !position.outcome().status.is_over() {
        let cells = (random_cell(&position, dice), random_cell(&position, dice));
        let turn = u32::try_from(turns.len() + 1).unwrap();
        turns.push(seal_at_once(duel, turn, cells, &mut streams).await);
        position = position.play(cell(cells.0), cell(cells.1)).unwrap();
    }
    let ends = [streams[0].finished().await, streams[1].finished().await];
    assert_eq!(ends[0].encode_to_vec(), ends[1].encode_to_vec());
    for player in [&duel.black, &duel.white] {
        let transcript = player.transcript(&duel.name).await.unwrap();
        assert_eq!(transcript.turns, turns, "the transcript has each turn once");
        assert_eq!(transcript.finish.as_ref(), Some(&ends[0]));
    }
    assert_eq!(duel.seen_by(Seat::Black).await.state(), MatchState::Finished);
    turns.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_seals_at_the_same_instant_both_count_and_the_turn_resolves_once() {
    let cluster = Cluster::start(Setup { nodes: 2, system_time: true, ..Setup::default() }).await;
    let wanted = if full_run() { TURNS_FULL } else { TURNS };
    let mut lanes = Vec::new();
    for lane in 0..MATCHES_AT_ONCE {
        let black = cluster.player(0, &format!("ada{lane}")).await;
        let white = cluster.player(1, &format!("bo{lane}")).await;
        lanes.push(tokio::spawn(async move {
            let mut dice = StdRng::seed_from_u64(lane as u64);
            let mut played = 0;
            while played < wanted.div_ceil(MATCHES_AT_ONCE) {
                let duel = Duel::agree(&black, &white, Default::default()).await;
                duel.join().await;
                played += play_match(&duel, &mut dice).await;
            }
            played
        }));
    }
    let mut played = 0;
    for lane in lanes {
        played += lane.await.unwrap();
    }
    assert!(played >= wanted);
}
