//! `WatchPlayer`: all that waits for a player, and nothing that an opponent's seal would move.

use rules::Seat;
use service_tests::{Cluster, cell, seconds};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

fn due(state: &v1::PlayerState) -> Option<bool> {
    state.matches.first().map(|shown| shown.move_due)
}

#[tokio::test]
async fn an_invite_is_shown_to_both_and_gone_when_it_is_closed() {
    let cluster = Cluster::of_two().await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(1, "bo").await);
    let (mut at_ada, mut at_bo) = (ada.watch_home().await.unwrap(), bo.watch_home().await.unwrap());
    assert_eq!(at_bo.state(|_| true).await.invites, []);
    let request = v1::CreateInviteRequest {
        request_id: "invite".to_owned(),
        invitee: bo.name.clone(),
        ..Default::default()
    };
    let made = ada.matchmaking().create_invite(request).await.unwrap().into_inner().invite.unwrap();
    for stream in [&mut at_ada, &mut at_bo] {
        assert_eq!(
            stream.state(|state| !state.invites.is_empty()).await.invites,
            std::slice::from_ref(&made)
        );
    }
    let accept =
        v1::AcceptInviteRequest { name: made.name, request_id: "accept".to_owned(), ..Default::default() };
    let accepted = bo.matchmaking().accept_invite(accept).await.unwrap().into_inner().invite.unwrap();
    cluster.settled(&accepted.r#match).await;
    for stream in [&mut at_ada, &mut at_bo] {
        let shown = stream.state(|state| state.invites.is_empty() && !state.matches.is_empty()).await;
        assert_eq!(shown.matches[0].r#match.as_ref().unwrap().name, accepted.r#match);
        assert_eq!(due(&shown), Some(true), "both are to join");
    }
}

#[tokio::test]
async fn an_invite_is_gone_when_its_time_has_passed() {
    let cluster = Cluster::of_one().await;
    let ada = cluster.player(0, "ada").await;
    let mut stream = ada.watch_home().await.unwrap();
    let request = v1::CreateInviteRequest {
        request_id: "invite".to_owned(),
        ttl: Some(seconds(60)),
        ..Default::default()
    };
    ada.matchmaking().create_invite(request).await.unwrap();
    stream.state(|state| state.invites.len() == 1).await;
    cluster.advance_ms(61_000).await;
    stream.state(|state| state.invites.is_empty()).await;
}

#[tokio::test]
async fn a_move_is_due_until_the_player_has_sealed_and_an_opponents_seal_moves_nothing() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    cluster.settled(&duel.name).await;
    let mut at_black = duel.black.watch_home().await.unwrap();
    let before = at_black.state(|state| due(state) == Some(true)).await;
    duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    // A state is sent only if it differs: the next one is that of black's own seal, or of turn 2.
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let after = at_black.state(|_| true).await;
    assert_eq!(after.matches[0].r#match.as_ref().unwrap().turn, 1);
    assert_ne!(after, before);

    duel.seal(Seat::Black, 2, cell("A2")).await.unwrap();
    at_black.state(|state| due(state) == Some(false)).await;
    duel.resign(Seat::White).await.unwrap();
    at_black.state(|state| state.matches.is_empty()).await;
}

#[tokio::test]
async fn the_state_is_the_players_own_and_a_back_end_names_him() {
    let cluster = Cluster::of_one().await;
    let ada = cluster.player(0, "ada").await;
    let request = |player: &str| v1::WatchPlayerRequest { player: player.to_owned() };
    let foreign = ada.watch_home_with(request("players/bo")).await.unwrap_err();
    assert_eq!(ApiError::from_status(&foreign).unwrap().reason(), ErrorReason::ScopeMissing);
    let backend = cluster.backend(0).await;
    let unnamed = backend.watch_home_with(request("")).await.unwrap_err();
    assert_eq!(ApiError::from_status(&unnamed).unwrap().reason(), ErrorReason::FieldRequired);
    let mut stream = backend.watch_home_with(request("players/ada")).await.unwrap();
    assert_eq!(stream.state(|_| true).await.player, "players/ada");
}
