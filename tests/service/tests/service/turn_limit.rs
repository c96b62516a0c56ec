//! D15: the rules let two players repeat for ever; the turn limit ends it in a draw.

use rules::Seat;
use service_tests::{Cluster, Duel};
use wire::v1::{self, EndReason, MatchResult, MatchState};

/// Leads to `bwbwb..b` on A1..H1.
const WAY_IN: [(&str, &str); 4] = [("A1", "B1"), ("C1", "D1"), ("E1", "F1"), ("H1", "G1")];

/// Two turns whose captures undo each other: the board is the same after them.
const CIRCLE: [(&str, &str); 2] = [("F1", "G1"), ("E1", "F1")];

async fn play_in_circles(duel: &Duel, turns: u32) {
    let moves = WAY_IN.into_iter().chain(CIRCLE.into_iter().cycle());
    for (turn, (black, white)) in (1..=turns).zip(moves) {
        duel.play(turn, black, white).await;
    }
}

#[tokio::test]
async fn players_who_repeat_for_ever_draw_at_the_default_limit() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let limit = duel.seen_by(Seat::Black).await.settings.unwrap().turn_limit;
    assert_eq!(limit, 500);
    play_in_circles(&duel, limit).await;
    let seen = cluster.agreed_view(&duel.name).await.unwrap();
    let finish = seen.finish.unwrap();
    assert_eq!((finish.result(), finish.reason()), (MatchResult::Draw, EndReason::TurnLimit));
    assert_eq!(finish.turn, limit);
    let turns = duel.white.transcript(&duel.name).await.unwrap().turns;
    assert_eq!(turns[3].position, turns[turns.len() - 1].position, "they did repeat");
}

#[tokio::test]
async fn a_match_may_set_a_lower_limit() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(v1::MatchSettings { turn_limit: 6, ..Default::default() }).await;
    play_in_circles(&duel, 5).await;
    assert_eq!(duel.seen_by(Seat::Black).await.state(), MatchState::Open);
    duel.play(6, CIRCLE[1].0, CIRCLE[1].1).await;
    let finish = cluster.agreed_view(&duel.name).await.unwrap().finish.unwrap();
    assert_eq!((finish.result(), finish.reason()), (MatchResult::Draw, EndReason::TurnLimit));
}
