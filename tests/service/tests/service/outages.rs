//! D10: a restart changes no result. What the service was away for counts for nobody's clock, and a
//! deploy of one node after the other does not touch a clock at all.

use rules::Seat;
use service_tests::{Cluster, Duel, Fault, Keeping, Operation, START_MS, Setup, cell, seconds, stamp};
use tonic::Code;
use wire::ApiError;
use wire::v1::{self, EndReason, MatchResult, MatchState, match_settings};

use super::reveals;

/// The time of a turn where the settings do not say, ms.
const TURN_MS: u64 = 30_000;

/// Ten minutes, ms: longer than any deadline here.
const OUTAGE_MS: u64 = 10 * 60 * 1_000;

async fn cluster() -> Cluster {
    Cluster::start(Setup { nodes: 2, keeping: Keeping::Directory, ..Setup::default() }).await
}

/// The service is away for so long.
async fn away(cluster: &mut Cluster, duel: &Duel, ms: u64) -> Duel {
    cluster.stop().await;
    cluster.clock.advance_ms(ms);
    cluster.resume().await;
    duel.reconnected(cluster).await
}

async fn status(cluster: &Cluster, duel: &Duel) -> v1::MatchStatus {
    cluster.agreed_view(&duel.name).await.unwrap().status.unwrap()
}

/// Both seats' deadlines, black first.
async fn deadlines(cluster: &Cluster, duel: &Duel) -> [Option<prost_types::Timestamp>; 2] {
    let status = status(cluster, duel).await;
    [status.black.unwrap().deadline, status.white.unwrap().deadline]
}

/// The match's end once its time has come, the same at both nodes.
async fn end(cluster: &Cluster, duel: &Duel) -> v1::MatchFinished {
    cluster.ended(&duel.name).await;
    cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap()
}

#[tokio::test]
async fn nobody_flags_because_the_service_was_away_and_the_turn_goes_on_where_it_was() {
    let mut cluster = cluster().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    cluster.advance_ms(10_000).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    cluster.advance_ms(5_000).await;
    let mut streams =
        [duel.black.watch(&duel.name).await.unwrap(), duel.white.watch(&duel.name).await.unwrap()];
    let duel = away(&mut cluster, &duel, OUTAGE_MS).await;
    for stream in &mut streams {
        let status = stream.rest().await.1.expect_err("it is sent elsewhere");
        assert_eq!(
            (status.code(), ApiError::from_status(&status).unwrap().after_turn()),
            (Code::Unavailable, Some(0))
        );
    }
    let moved = stamp(START_MS + TURN_MS + OUTAGE_MS);
    assert_eq!(deadlines(&cluster, &duel).await, [moved, moved]);
    // The last moment of the deadline that was moved.
    cluster.advance_ms(TURN_MS - 15_000).await;
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}

#[tokio::test]
async fn a_flag_after_an_outage_falls_when_the_clock_that_stood_still_runs_out() {
    let mut cluster = cluster().await;
    let mut duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    for _ in 0..2 {
        cluster.advance_ms(10_000).await;
        duel = away(&mut cluster, &duel, OUTAGE_MS).await;
        assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().state(), MatchState::Open);
    }
    cluster.advance_ms(10_001).await;
    let finish = end(&cluster, &duel).await;
    assert_eq!((finish.result(), finish.reason()), (MatchResult::BlackWins, EndReason::Flag));
    assert_eq!(finish.finish_time, stamp(START_MS + TURN_MS + 2 * OUTAGE_MS));
}

#[tokio::test]
async fn a_clock_that_ran_out_before_the_outage_stays_run_out() {
    let mut cluster = cluster().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    // No node looks for what is due, so nobody notices before the outage.
    for node in &cluster.nodes {
        node.faults.always(Operation::Due, Fault::Refused);
    }
    cluster.advance_ms(TURN_MS + 1).await;
    let duel = away(&mut cluster, &duel, OUTAGE_MS).await;
    let finish = end(&cluster, &duel).await;
    assert_eq!((finish.result(), finish.reason()), (MatchResult::WhiteWins, EndReason::Flag));
}

#[tokio::test]
async fn banks_stand_still_while_the_service_is_away() {
    let mut cluster = cluster().await;
    let clock = v1::BankClock { initial: Some(seconds(10)), increment: Some(seconds(2)) };
    let time_control = Some(match_settings::TimeControl::Bank(clock));
    let duel = cluster.duel(v1::MatchSettings { time_control, ..Default::default() }).await;
    cluster.advance_ms(3_000).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let duel = away(&mut cluster, &duel, OUTAGE_MS).await;
    cluster.advance_ms(2_000).await;
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    // Black has thought for 3 s and white for 5.
    let opened = START_MS + OUTAGE_MS + 5_000;
    let deadlines = deadlines(&cluster, &duel).await;
    assert_eq!(deadlines, [stamp(opened + 9_000), stamp(opened + 7_000)]);
}

#[tokio::test]
async fn the_times_to_join_and_to_reveal_stand_still_as_well() {
    let mut cluster = cluster().await;
    let settings = v1::MatchSettings { start_time: Some(seconds(20)), ..reveals::settings() };
    let duel = cluster.agreed(settings).await;
    duel.join_as(Seat::Black).await.unwrap();
    let duel = away(&mut cluster, &duel, OUTAGE_MS).await;
    let start = status(&cluster, &duel).await.start_deadline;
    assert_eq!(start, stamp(START_MS + 20_000 + OUTAGE_MS));
    cluster.advance_ms(20_000).await;
    duel.join_as(Seat::White).await.unwrap();

    let open = v1::OpenMove { cell: cell("A1"), salt: vec![1; 32] };
    for seat in Seat::BOTH {
        reveals::commit(&duel, seat, &open).await;
    }
    reveals::reveal(&duel, Seat::White, &open).await.unwrap();
    let duel = away(&mut cluster, &duel, OUTAGE_MS).await;
    let reveal = status(&cluster, &duel).await.reveal_deadline;
    assert_eq!(reveal, stamp(START_MS + 20_000 + 2 * OUTAGE_MS + 10_000));
    cluster.advance_ms(10_000).await;
    reveals::reveal(&duel, Seat::Black, &open).await.unwrap();
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}

#[tokio::test]
async fn a_restart_of_one_node_after_the_other_moves_no_deadline_and_no_result() {
    let mut cluster = Cluster::of_two().await;
    let mut duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let deadline = stamp(START_MS + TURN_MS);
    for node in [0, 1, 0, 1] {
        cluster.advance_ms(5_000).await;
        cluster.restart_node(node).await;
        duel = duel.reconnected(&cluster).await;
        assert_eq!(deadlines(&cluster, &duel).await, [deadline, deadline], "node {node} was restarted");
    }
    cluster.advance_ms(10_001).await;
    let finish = end(&cluster, &duel).await;
    assert_eq!((finish.result(), finish.reason()), (MatchResult::BlackWins, EndReason::Flag));
    assert_eq!(finish.finish_time, deadline);
}

#[tokio::test]
async fn a_restart_as_short_as_a_blink_is_no_outage() {
    let mut cluster = cluster().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let before = deadlines(&cluster, &duel).await;
    let duel = away(&mut cluster, &duel, 2_000).await;
    assert_eq!(deadlines(&cluster, &duel).await, before);
}
