//! D9: time decides although nobody is there: flags, no-shows, bank clocks, and outages that count for
//! nobody.

use rules::Seat;
use service_tests::{Cluster, Duel, Fault, Gate, Operation, START_MS, cell, seconds, soon, stamp};
use wire::v1::{self, EndReason, MatchFinished, MatchResult, MatchState, match_settings};

/// The time of a turn where the settings do not say, ms.
const TURN_MS: u64 = 30_000;

/// Long enough for every node to look what is due, ms. What it then does is judged by the stamps.
const LOOK_MS: u64 = 1_000;

/// Leaves, waits until the store has the end, and returns what both nodes tell of it later.
async fn ends_unseen(cluster: &Cluster, duel: Duel) -> MatchFinished {
    let name = duel.name.clone();
    drop(duel);
    cluster.advance_ms(TURN_MS + LOOK_MS).await;
    let stored = cluster.stored(&name, |game| game.finish().is_some()).await;
    cluster.advance_ms(TURN_MS).await;
    let later = cluster.stored(&name, |game| game.finish().is_some()).await;
    assert_eq!(later.head, stored.head, "it ended once");
    cluster.agreed_view(&name).await.unwrap().finish.unwrap()
}

#[tokio::test]
async fn with_nobody_connected_one_clock_ends_the_match() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    let finish = ends_unseen(&cluster, duel).await;
    assert_eq!((finish.result(), finish.reason()), (MatchResult::WhiteWins, EndReason::Flag));
    assert_eq!(finish.finish_time, stamp(START_MS + TURN_MS));
    assert_eq!(finish.white_unresolved_commitment.len(), 32);
}

#[tokio::test]
async fn with_nobody_connected_both_clocks_end_the_match_in_a_draw() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let finish = ends_unseen(&cluster, duel).await;
    assert_eq!((finish.result(), finish.reason()), (MatchResult::Draw, EndReason::BothFlagged));
}

#[tokio::test]
async fn the_other_node_ends_the_match_when_one_is_gone() {
    let mut cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let name = duel.name.clone();
    drop(duel);
    cluster.nodes.remove(0);
    cluster.advance_ms(TURN_MS + LOOK_MS).await;
    cluster.stored(&name, |game| game.finish().is_some()).await;
}

#[tokio::test]
async fn a_store_that_fails_for_a_while_does_not_keep_a_match_alive() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    let faults = cluster.nodes[0].faults.clone();
    let failing = Gate::default();
    faults.at(Operation::Commit, 1, Fault::Refused);
    faults.at(Operation::Postpone, 1, Fault::Held(failing.clone()));
    cluster.advance_ms(TURN_MS + LOOK_MS).await;
    // The end could not be stored; the match is put off, not forgotten.
    failing.reached().await;
    failing.open();
    cluster.advance_ms(10_000).await;
    let stored = cluster.stored(&duel.name, |game| game.finish().is_some()).await;
    assert_eq!(stored.head.finish().unwrap().at.as_ms(), START_MS + TURN_MS);
}

#[tokio::test]
async fn a_match_whose_player_never_comes_is_aborted_at_the_start_time() {
    for coming in [vec![], vec![Seat::Black], vec![Seat::White]] {
        let cluster = Cluster::of_two().await;
        let settings = v1::MatchSettings { start_time: Some(seconds(20)), ..Default::default() };
        let duel = cluster.agreed(settings).await;
        for seat in &coming {
            duel.join_as(*seat).await.unwrap();
        }
        let waiting = duel.seen_by(Seat::Black).await;
        assert_eq!(waiting.status.unwrap().start_deadline, stamp(START_MS + 20_000));
        cluster.advance_ms(20_000 + LOOK_MS).await;
        cluster.stored(&duel.name, |game| game.finish().is_some()).await;
        let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
        assert_eq!((finish.result(), finish.reason()), (MatchResult::Aborted, EndReason::NoShow));
        assert_eq!(finish.finish_time, stamp(START_MS + 20_000));
        let late = duel.join_as(Seat::White).await.unwrap();
        assert_eq!(late.state(), MatchState::Finished, "coming late brings nothing back");
    }
}

#[tokio::test]
async fn who_comes_at_the_start_time_is_in_time() {
    let cluster = Cluster::of_two().await;
    let settings = v1::MatchSettings { start_time: Some(seconds(5)), ..Default::default() };
    let duel = cluster.agreed(settings).await;
    duel.join_as(Seat::Black).await.unwrap();
    cluster.advance_ms(5_000).await;
    assert_eq!(duel.join_as(Seat::White).await.unwrap().state(), MatchState::Open);
}

fn bank(initial_s: i64, increment_s: i64) -> v1::MatchSettings {
    let clock = v1::BankClock { initial: Some(seconds(initial_s)), increment: Some(seconds(increment_s)) };
    v1::MatchSettings { time_control: Some(match_settings::TimeControl::Bank(clock)), ..Default::default() }
}

/// Both seats' deadlines and clocks, black first, as a spectatorless back end is told.
async fn bank_of(cluster: &Cluster, duel: &Duel) -> [(Option<prost_types::Timestamp>, Option<i64>); 2] {
    let status = cluster.agreed_view(&duel.name).await.unwrap().status.unwrap();
    [status.black.unwrap(), status.white.unwrap()]
        .map(|seat| (seat.deadline, seat.clock_left.map(|left| left.seconds)))
}

#[tokio::test]
async fn a_bank_clock_runs_from_the_opening_until_the_seal() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(bank(10, 2)).await;
    let ten = stamp(START_MS + 10_000);
    assert_eq!(bank_of(&cluster, &duel).await, [(ten, Some(10)), (ten, Some(10))]);
    cluster.advance_ms(3_000).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    // Black has 7 s and the increment for the next turn; his deadline of this turn stays as it was.
    assert_eq!(bank_of(&cluster, &duel).await, [(ten, Some(9)), (ten, Some(10))]);
    cluster.advance_ms(2_000).await;
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    let opened = START_MS + 5_000;
    let next = [(stamp(opened + 9_000), Some(9)), (stamp(opened + 7_000), Some(7))];
    assert_eq!(bank_of(&cluster, &duel).await, next);
}

#[tokio::test]
async fn of_two_bank_clocks_the_first_to_run_out_decides_however_late_it_is_noticed() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(bank(10, 0)).await;
    cluster.advance_ms(1_000).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    cluster.advance_ms(1_000).await;
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    let gate = Gate::default();
    for node in &cluster.nodes {
        node.faults.always(Operation::Due, Fault::Held(gate.clone()));
    }
    // White has 8 s left, black 9: both run out before anybody looks.
    cluster.advance_ms(20_000).await;
    let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
    assert_eq!((finish.result(), finish.reason()), (MatchResult::BlackWins, EndReason::Flag));
    assert_eq!(finish.finish_time, stamp(START_MS + 2_000 + 8_000));
}

#[tokio::test]
async fn an_outage_of_the_service_flags_nobody() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let mut watching = duel.white.watch(&duel.name).await.unwrap();
    watching.status(|status| status.turn == 1).await;
    let gap_ms = 60_000;
    cluster.clock.advance_ms(gap_ms);
    let moved = stamp(START_MS + TURN_MS + gap_ms);
    let seen = cluster.agreed_view(&duel.name).await.unwrap();
    assert_eq!(seen.state(), MatchState::Open);
    assert_eq!(seen.status.and_then(|status| status.black).unwrap().deadline, moved);
    let told = watching.status(|status| status.black.as_ref().unwrap().deadline == moved).await;
    assert_eq!(told.white.unwrap().deadline, moved);
    duel.play(1, "A1", "I9").await;
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}

#[tokio::test]
async fn work_that_hangs_is_no_outage_and_moves_no_deadline() {
    let cluster = Cluster::of_one().await;
    let (stuck, live) = (cluster.duel(Default::default()).await, cluster.agreed(Default::default()).await);
    for duel in [&stuck, &live] {
        cluster.settled(&duel.name).await;
    }
    live.join().await;
    let deadline = live.seen_by(Seat::Black).await.status.unwrap().black.unwrap().deadline;

    // What the end of a match causes elsewhere hangs, and with it whoever does it.
    let faults = cluster.nodes[0].faults.clone();
    let hanging = Gate::default();
    faults.always(Operation::IndexMatch, Fault::Held(hanging.clone()));
    stuck.resign(Seat::White).await.unwrap();
    cluster.advance_ms(LOOK_MS).await;
    hanging.reached().await;
    for _ in 0..20 {
        faults.record();
        cluster.clock.advance_ms(LOOK_MS / 2);
        let alive = || faults.recorded().iter().filter(|call| **call == Operation::Touch).count();
        let everywhere = async {
            while alive() < usize::from(cluster.store.shard_count()) {
                tokio::task::yield_now().await;
            }
        };
        soon("a sign of life to every shard", everywhere).await;
    }
    let seen = live.seen_by(Seat::Black).await;
    assert_eq!(seen.status.unwrap().black.unwrap().deadline, deadline);
}
