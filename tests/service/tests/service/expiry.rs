//! E7: a stream lives no longer than the token that opened it, and a new token goes on without a gap.

use middleware::NewToken;
use rules::Seat;
use service_tests::{Cluster, START_MS, cell, reason, seconds};
use wire::ApiError;
use wire::v1::{ErrorReason, MatchSettings, match_settings};

/// The shortest life of a token, ms.
const TTL_MS: u64 = 60_000;

/// Past the leeway that clocks are given.
const LONG_AFTER_MS: u64 = 10_000;

#[tokio::test]
async fn a_stream_ends_with_its_token_and_goes_on_with_another() {
    let cluster = Cluster::of_two().await;
    let long_turns = match_settings::TimeControl::TurnTime(seconds(600));
    let settings = MatchSettings { time_control: Some(long_turns), ..Default::default() };
    let duel = cluster.duel(settings).await;

    let short = NewToken { ttl_ms: Some(TTL_MS), ..NewToken::for_player("players/ada") };
    let before = cluster.caller(0, "players/ada", cluster.token(&short, START_MS)).await;
    let mut stream = before.watch(&duel.name).await.unwrap();
    duel.play(1, "A1", "I9").await;
    let first = stream.turn().await;
    duel.seal(Seat::White, 2, cell("E5")).await.unwrap();

    cluster.advance_ms(TTL_MS + LONG_AFTER_MS).await;
    let (_, end) = stream.rest().await;
    let end = ApiError::from_status(&end.unwrap_err()).unwrap();
    assert_eq!((end.reason(), end.after_turn()), (ErrorReason::TokenExpired, Some(1)));
    let refused = ApiError::from_status(&before.watch(&duel.name).await.unwrap_err()).unwrap();
    assert_eq!(refused.reason(), ErrorReason::TokenExpired, "an expired token opens nothing");

    // The turn that resolves while nobody watches is not missed.
    duel.seal(Seat::Black, 2, cell("E4")).await.unwrap();
    let after = cluster.player(1, "ada").await;
    let mut stream = after.watch_after(&duel.name, 1, &first.hash).await.unwrap();
    assert_eq!(stream.snapshot().await.turn, 1);
    assert_eq!(stream.turn().await.turn, 2);
}

#[tokio::test]
async fn a_stream_that_sends_nothing_ends_at_the_expiry_too() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    let short = NewToken { ttl_ms: Some(TTL_MS), ..NewToken::for_player("players/ada") };
    let ada = cluster.caller(0, "players/ada", cluster.token(&short, START_MS - TTL_MS + 1_000)).await;
    let mut stream = ada.watch(&duel.name).await.unwrap();
    stream.status(|_| true).await;
    cluster.advance_ms(LONG_AFTER_MS).await;
    let (_, end) = stream.rest().await;
    let end = ApiError::from_status(&end.unwrap_err()).unwrap();
    assert_eq!(end.reason(), ErrorReason::TokenExpired);
}

#[tokio::test]
async fn a_player_s_stream_ends_with_its_token_and_goes_on_with_another() {
    let cluster = Cluster::of_one().await;
    let short = NewToken { ttl_ms: Some(TTL_MS), ..NewToken::for_player("players/ada") };
    let before = cluster.caller(0, "players/ada", cluster.token(&short, START_MS)).await;
    let mut stream = before.watch_home().await.unwrap();
    let shown = stream.state(|_| true).await;
    cluster.advance_ms(TTL_MS + LONG_AFTER_MS).await;
    let (_, end) = stream.rest().await;
    assert_eq!(reason(&end), ErrorReason::TokenExpired);
    assert_eq!(reason(&before.watch_home().await.unwrap_err()), ErrorReason::TokenExpired);
    let after = cluster.player(0, "ada").await;
    assert_eq!(after.watch_home().await.unwrap().state(|_| true).await, shown);
}
