//! Everything that is kept of a player, told to a back end.

use rules::Seat;
use service_tests::{Cluster, Duel, START_MS, seconds, soon, stamp};
use wire::v1::{self, MatchMode, SpeedClass, TicketState};

use super::back_end::{ban_of, ban_with, export, fresh_id, revoke};
use super::queue::{self, paired};

#[tokio::test]
async fn an_export_has_everything_that_is_kept_of_a_player() {
    let cluster = Cluster::of_two().await;
    let backend = cluster.backend(1).await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(1, "bo").await);
    let ranked = paired(&cluster, "ranked", &ada, &bo).await;
    ranked.join().await;
    let loser = if ranked.black.name == "players/ada" { Seat::White } else { Seat::Black };
    ranked.resign(loser).await.unwrap();
    cluster.settled(&ranked.name).await;
    let first = Duel::agree(&ada, &bo, v1::MatchSettings::default()).await;
    // One is newer than the other.
    cluster.advance_ms(1).await;
    let live = [first, Duel::agree(&bo, &ada, v1::MatchSettings::default()).await];
    for duel in &live {
        cluster.settled(&duel.name).await;
    }
    let request = v1::CreateInviteRequest {
        request_id: fresh_id(),
        invitee: "players/ada".to_owned(),
        ..Default::default()
    };
    let invite = soon("CreateInvite", bo.matchmaking().create_invite(request)).await.unwrap();
    let invite = invite.into_inner().invite.unwrap();
    let wish = v1::CreateTicketRequest {
        excluded_players: vec!["players/eve".to_owned()],
        ..queue::wish("casual", "queue")
    };
    let ticket = queue::create(&ada, wish).await.unwrap();

    let first = export(&backend, "ada", "").await;
    let request = v1::GetPlayerRequest { name: "players/ada".to_owned() };
    let player = soon("GetPlayer", bo.players().get_player(request)).await.unwrap().into_inner().player;
    assert_eq!((first.player.as_ref().unwrap().standings.len(), &first.player), (1, &player));
    assert_eq!(player.unwrap().standings[0].mode(), MatchMode::Ranked);
    let place = v1::LeaderboardPlace { speed: SpeedClass::Rapid.into(), rank: 1 };
    assert_eq!(first.leaderboard_places, [place]);
    let black_surplus = if loser == Seat::White { 1 } else { -1 };
    let met = v1::RecentOpponent { player: "players/bo".to_owned(), black_surplus };
    assert_eq!(first.recent_opponents, [met]);
    assert_eq!(first.counted_matches, std::slice::from_ref(&ranked.name));
    assert_eq!(first.held_by, ticket.name);
    let told = first.ticket.clone().unwrap();
    assert_eq!((told.state(), told.excluded_players), (TicketState::Waiting, vec!["players/eve".to_owned()]));
    assert_eq!(first.invites, [invite]);
    assert_eq!((first.ban.clone(), first.tokens_from_time), (None, None));

    let second = export(&backend, "ada", &first.next_page_token).await;
    let matches: Vec<&str> =
        first.matches.iter().chain(&second.matches).map(|game| game.name.as_str()).collect();
    assert_eq!(matches, [&live[1].name, &live[0].name, &ranked.name]);
    assert_eq!(second.next_page_token, "");
    let rest = v1::ExportPlayerResponse { matches: Vec::new(), ..second };
    assert_eq!(rest, v1::ExportPlayerResponse::default(), "all else is on the first page");
}

#[tokio::test]
async fn an_export_has_a_ban_and_what_was_called_back() {
    let cluster = Cluster::of_one().await;
    let backend = cluster.backend(0).await;
    let request = v1::BanPlayerRequest { ttl: Some(seconds(60)), ..ban_of("ada") };
    let ban = ban_with(&backend, request).await.unwrap();
    revoke(&backend, "ada", "revoke").await;
    let told = export(&backend, "ada", "").await;
    assert_eq!((told.ban.clone(), told.tokens_from_time), (ban, stamp(START_MS + 5_000)));
    cluster.advance_ms(61_000).await;
    assert_eq!(export(&backend, "ada", "").await, told, "also for a while after its end");
}

/// Of a player whom nobody has heard of there is his name.
#[tokio::test]
async fn of_a_stranger_nothing_is_kept() {
    let cluster = Cluster::of_one().await;
    let player = v1::Player { name: "players/eve".to_owned(), standings: Vec::new() };
    let nothing = v1::ExportPlayerResponse { player: Some(player), ..Default::default() };
    assert_eq!(export(&cluster.backend(0).await, "eve", "").await, nothing);
}
