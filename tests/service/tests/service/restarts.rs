//! All of family d once more: a restart between any two calls changes nothing of what anybody is told.

use rules::Seat::{Black, White};
use service_tests::{Cluster, Keeping, Setup, cell, reason, seconds};
use wire::v1::{self, EndReason, ErrorReason, MatchResult, SealStatus, Spectators, match_settings};

use super::reveals;
use super::scripted_match::{Beginning, Step, Step::*};

/// The time of a turn where the settings do not say, ms.
const TURN_MS: u64 = 30_000;

/// Plays the script as it is, with a restart after each step in turn, and with one after every step. All
/// must tell the same to the byte.
async fn same_across_restarts(
    settings: v1::MatchSettings,
    script: &[Step],
    ends: (MatchResult, EndReason),
    turns: usize,
) {
    let setup = Setup { nodes: 2, keeping: Keeping::Directory, ..Setup::default() };
    let beginning = Beginning::new(Cluster::start(setup).await, settings).await;
    let undisturbed = beginning.play(script, |_| false).await;
    assert_eq!(undisturbed.end(), (ends, turns));
    for (after, step) in script.iter().enumerate() {
        let told = beginning.play(script, |index| index == after).await;
        told.assert_same_as(&undisturbed, script, &format!("a restart after step {after}, {step:?}"));
    }
    let told = beginning.play(script, |_| true).await;
    told.assert_same_as(&undisturbed, script, "a restart after every step");
}

// D1, D2, D6, D7, D8, D9, D13.
#[tokio::test]
async fn turns_repetitions_late_seals_and_a_flag() {
    let script = [
        Join(Black),
        Join(White),
        Seal(White, 1, "I9"),
        Seal(White, 1, "I9"),
        SealAgain(White, 1, "I8"),
        Intrude(1),
        Pass(4_000),
        Seal(Black, 1, "A1"),
        Seal(White, 1, "I9"),
        SealAgain(Black, 1, "C5"),
        SealBoth(2, "E5", "E5"),
        Seal(Black, 3, "A1"),
        SealAgain(Black, 3, "C1"),
        Pass(TURN_MS),
        Seal(White, 3, "G9"),
        Seal(Black, 4, "E1"),
        Pass(TURN_MS + 1),
        Seal(White, 4, "E9"),
        Seal(Black, 4, "E1"),
        Seal(Black, 1, "A1"),
    ];
    let settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
    same_across_restarts(settings, &script, (MatchResult::BlackWins, EndReason::Flag), 3).await;
}

// D4.
#[tokio::test]
async fn hidden_seals_offers_of_a_draw_and_a_resignation() {
    let script = [
        Join(White),
        Join(Black),
        Seal(White, 1, "I9"),
        Offer(Black, 1),
        Offer(Black, 1),
        Answer(White, 1, false),
        Seal(Black, 1, "A1"),
        Answer(White, 1, true),
        Offer(White, 2),
        SealBoth(2, "C1", "G9"),
        Answer(Black, 2, true),
        Seal(White, 3, "E9"),
        Resign(Black),
        Seal(White, 3, "E9"),
    ];
    let settings = v1::MatchSettings {
        spectators: Spectators::Live.into(),
        seal_status: SealStatus::Hidden.into(),
        ..Default::default()
    };
    same_across_restarts(settings, &script, (MatchResult::WhiteWins, EndReason::Resignation), 2).await;
}

// D14.
#[tokio::test]
async fn commitments_a_held_reveal_and_one_that_is_withheld() {
    let script = [
        Join(Black),
        Join(White),
        Commit(Black, 1, "A1"),
        Commit(White, 1, "I9"),
        Reveal(White, "I9"),
        Reveal(White, "I9"),
        Pass(10_000),
        Reveal(Black, "A1"),
        Commit(Black, 2, "C1"),
        Pass(1_000),
        Commit(White, 2, "G9"),
        Pass(10_001),
        Reveal(Black, "A1"),
    ];
    let ends = (MatchResult::Draw, EndReason::FailedReveal);
    same_across_restarts(reveals::settings(), &script, ends, 1).await;
    let withheld = [&script[..5], &[Pass(10_001), Reveal(Black, "A1")]].concat();
    let ends = (MatchResult::WhiteWins, EndReason::FailedReveal);
    same_across_restarts(reveals::settings(), &withheld, ends, 0).await;
}

// D8 and D9 with clocks that are not the same for both.
#[tokio::test]
async fn banks_run_on_and_run_out() {
    let script = [
        Join(Black),
        Join(White),
        Pass(2_000),
        Seal(Black, 1, "A1"),
        Pass(3_000),
        Seal(White, 1, "I9"),
        Pass(7_000),
        Seal(White, 2, "G9"),
        Pass(3_001),
        Seal(Black, 2, "C1"),
    ];
    let clock = v1::BankClock { initial: Some(seconds(10)), increment: Some(seconds(2)) };
    let settings = v1::MatchSettings {
        time_control: Some(match_settings::TimeControl::Bank(clock)),
        spectators: Spectators::Live.into(),
        ..Default::default()
    };
    same_across_restarts(settings, &script, (MatchResult::WhiteWins, EndReason::Flag), 1).await;
}

// D15.
#[tokio::test]
async fn players_who_repeat_reach_the_limit() {
    let moves = [("A1", "B1"), ("C1", "D1"), ("E1", "F1"), ("H1", "G1"), ("F1", "G1"), ("E1", "F1")];
    let both = (1..).zip(moves).map(|(turn, (black, white))| SealBoth(turn, black, white));
    let script: Vec<Step> = [Join(Black), Join(White)].into_iter().chain(both).collect();
    let settings =
        v1::MatchSettings { turn_limit: 6, spectators: Spectators::Live.into(), ..Default::default() };
    same_across_restarts(settings, &script, (MatchResult::Draw, EndReason::TurnLimit), 6).await;
}

#[tokio::test]
async fn what_waits_for_a_player_is_the_same_after_a_restart() {
    let setup = Setup { nodes: 2, keeping: Keeping::Directory, ..Setup::default() };
    let mut cluster = Cluster::start(setup).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.play(1, "A1", "I9").await;
    duel.seal(White, 2, cell("E5")).await.unwrap();
    let offer = v1::CreateInviteRequest {
        request_id: "another".to_owned(),
        invitee: duel.white.name.clone(),
        ..Default::default()
    };
    duel.black.matchmaking().create_invite(offer).await.unwrap();
    cluster.settled(&duel.name).await;
    let (mut black, mut white) =
        (duel.black.watch_home().await.unwrap(), duel.white.watch_home().await.unwrap());
    let before = [black.state(|_| true).await, white.state(|_| true).await];
    assert_eq!(before.each_ref().map(|state| state.matches[0].move_due), [true, false]);
    assert_eq!(before.each_ref().map(|state| state.invites.len()), [1, 1]);

    cluster.restart().await;
    for stream in [&mut black, &mut white] {
        assert_eq!(reason(&stream.rest().await.1), ErrorReason::ResumeElsewhere);
    }
    let duel = duel.reconnected(&cluster).await;
    let (mut black, mut white) =
        (duel.black.watch_home().await.unwrap(), duel.white.watch_home().await.unwrap());
    assert_eq!([black.state(|_| true).await, white.state(|_| true).await], before);
    // And it goes on.
    duel.seal(Black, 2, cell("E4")).await.unwrap();
    white.state(|state| state.matches[0].move_due).await;
}
