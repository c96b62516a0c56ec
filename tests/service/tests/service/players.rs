//! Who a player is, and what is asked of leaderboards.

use service_tests::{Cluster, reason, soon};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, ErrorReason, SpeedClass};

fn asks_for(name: &str) -> v1::GetPlayerRequest {
    v1::GetPlayerRequest { name: name.to_owned() }
}

/// The reason of a refusal, and the field that it names.
fn refused(status: &Status) -> (ErrorReason, String) {
    let error = ApiError::from_status(status).expect("every error of the API has a reason");
    (error.reason(), error.fields().first().map(|field| field.field.clone()).unwrap_or_default())
}

#[tokio::test]
async fn a_player_is_told_by_his_name_with_what_he_has_finished() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.resign(rules::Seat::White).await.unwrap();
    cluster.settled(&duel.name).await;
    let backend = cluster.backend(0).await;
    for (caller, asked, told, results) in [
        (&duel.black, "", "players/ada", &[(1, 0)][..]),
        (&duel.black, "players/ada", "players/ada", &[(1, 0)]),
        (&duel.black, "players/bo", "players/bo", &[(0, 1)]),
        (&duel.black, "players/who-never-played", "players/who-never-played", &[]),
        (&backend, "players/bo", "players/bo", &[(0, 1)]),
    ] {
        let answer = soon("GetPlayer", caller.players().get_player(asks_for(asked))).await;
        let player = answer.unwrap().into_inner().player.unwrap();
        let counted: Vec<_> = player.standings.iter().map(|one| (one.wins, one.losses)).collect();
        assert_eq!((player.name.as_str(), &counted[..]), (told, results), "{asked:?}");
    }
}

#[tokio::test]
async fn a_name_that_no_player_can_have_is_refused_and_a_back_end_names_one() {
    let cluster = Cluster::of_one().await;
    let (ada, backend) = (cluster.player(0, "ada").await, cluster.backend(0).await);
    let malformed = ada.players().get_player(asks_for("players/no such name")).await.unwrap_err();
    assert_eq!(refused(&malformed), (ErrorReason::FieldInvalid, "name".to_owned()));
    let nobody = backend.players().get_player(asks_for("")).await.unwrap_err();
    assert_eq!(refused(&nobody), (ErrorReason::FieldRequired, "name".to_owned()));
    let stranger = cluster.stranger(0).await;
    let unknown = stranger.players().get_player(asks_for("players/ada")).await.unwrap_err();
    assert_eq!(reason(&unknown), ErrorReason::TokenMissing);
}

#[tokio::test]
async fn a_leaderboard_is_empty_before_anybody_is_rated_and_what_is_asked_of_it_is_checked() {
    let cluster = Cluster::of_one().await;
    let ada = cluster.player(0, "ada").await;
    let list = |request: v1::ListLeaderboardRequest| {
        let mut players = ada.players();
        async move { soon("ListLeaderboard", players.list_leaderboard(request)).await }
    };
    let of = |speed: SpeedClass| v1::ListLeaderboardRequest { speed: speed.into(), ..Default::default() };
    for speed in [SpeedClass::Blitz, SpeedClass::Rapid, SpeedClass::Correspondence] {
        for around_player in [String::new(), "players/bo".to_owned()] {
            let request = v1::ListLeaderboardRequest { around_player, page_size: 100, ..of(speed) };
            assert_eq!(list(request).await.unwrap().into_inner(), v1::ListLeaderboardResponse::default());
        }
    }

    let (unset, unknown) =
        (of(SpeedClass::Unspecified), v1::ListLeaderboardRequest { speed: 9, ..of(SpeedClass::Rapid) });
    let nobody = v1::ListLeaderboardRequest { around_player: "bo".to_owned(), ..of(SpeedClass::Rapid) };
    let token = v1::ListLeaderboardRequest { page_token: "20".to_owned(), ..of(SpeedClass::Rapid) };
    for (request, reason, field) in [
        (unset, ErrorReason::FieldRequired, "speed"),
        (unknown, ErrorReason::FieldInvalid, "speed"),
        (nobody, ErrorReason::FieldInvalid, "around_player"),
        (token, ErrorReason::PageTokenInvalid, "page_token"),
    ] {
        let status = list(request).await.unwrap_err();
        assert_eq!(refused(&status), (reason, field.to_owned()));
    }
}
