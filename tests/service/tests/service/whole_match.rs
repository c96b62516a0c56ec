//! Two players play a match from invite to result.

use rules::Seat;
use service_tests::Cluster;
use wire::v1::{EndReason, MatchResult, MatchState};

#[tokio::test]
async fn two_players_play_until_a_row_and_everyone_is_told_alike() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let mut black = duel.black.watch_after(&duel.name, 0, &[]).await.unwrap();
    let mut white = duel.white.watch_after(&duel.name, 0, &[]).await.unwrap();

    // Black builds A1..E1 while white scatters.
    for (turn, (b, w)) in (1..).zip([("A1", "A9"), ("B1", "C7"), ("C1", "I9"), ("D1", "G8"), ("E1", "E9")]) {
        duel.play(turn, b, w).await;
        assert_eq!(black.turn().await, white.turn().await);
    }

    let end = black.finished().await;
    assert_eq!(end, white.finished().await);
    assert_eq!((end.result(), end.reason()), (MatchResult::BlackWins, EndReason::Row));
    let seen = cluster.agreed_view(&duel.name).await.unwrap();
    assert_eq!((seen.state(), seen.finish.as_ref()), (MatchState::Finished, Some(&end)));
    let transcript = duel.black.transcript(&duel.name).await.unwrap();
    assert_eq!(transcript, duel.white.transcript(&duel.name).await.unwrap());
    assert_eq!(transcript.turns.len(), 5);
    assert_eq!(duel.seen_by(Seat::White).await.finish, transcript.finish);
}
