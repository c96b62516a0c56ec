//! D2: nobody acts in a seat that is not his, or sees what only its player may see.

use middleware::NewToken;
use rules::Seat;
use service_tests::{API_KEY, Caller, Cluster, Credential, Duel, START_MS, cell, reason};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, ErrorReason, Spectators};

/// The match as this caller sees it, acting for this player.
async fn get_for(caller: &Caller, duel: &Duel, player: &str) -> Result<v1::Match, Status> {
    let request = v1::GetMatchRequest { name: duel.name.clone(), player: player.to_owned() };
    Ok(caller.matches().get_match(request).await?.into_inner().r#match.unwrap())
}

async fn watch_for(caller: &Caller, duel: &Duel, player: &str) -> Result<(), Status> {
    let request =
        v1::WatchMatchRequest { name: duel.name.clone(), player: player.to_owned(), ..Default::default() };
    caller.watch_with(request).await.map(drop)
}

async fn duel_with_seal(cluster: &Cluster, spectators: Spectators) -> Duel {
    let duel = cluster.duel(v1::MatchSettings { spectators: spectators.into(), ..Default::default() }).await;
    duel.seal(Seat::Black, 1, cell("E5")).await.unwrap();
    duel
}

#[tokio::test]
async fn a_player_cannot_watch_or_read_as_another() {
    let cluster = Cluster::of_one().await;
    let duel = duel_with_seal(&cluster, Spectators::Live).await;
    for caller in [duel.white.clone(), cluster.player(0, "eve").await] {
        for player in ["players/ada", "players/nobody"] {
            let refused = get_for(&caller, &duel, player).await.unwrap_err();
            assert_eq!(reason(&refused), ErrorReason::ScopeMissing);
            let refused = watch_for(&caller, &duel, player).await.unwrap_err();
            assert_eq!(reason(&refused), ErrorReason::ScopeMissing);
        }
    }
    assert!(get_for(&duel.black, &duel, "players/ada").await.is_ok(), "naming himself is allowed");
}

#[tokio::test]
async fn a_player_cannot_move_in_another_seat() {
    let cluster = Cluster::of_one().await;
    let duel = duel_with_seal(&cluster, Spectators::Live).await;
    let before = cluster.agreed_view(&duel.name).await.unwrap();
    let seal = duel.seal_request(Seat::White, 1, cell("A1"));
    for caller in [duel.black.clone(), cluster.player(0, "eve").await] {
        let as_white = v1::SealMoveRequest { player: duel.white.name.clone(), ..seal.clone() };
        let refused = caller.matches().seal_move(as_white).await.unwrap_err();
        assert_eq!(reason(&refused), ErrorReason::ScopeMissing);
    }
    let eve = cluster.player(0, "eve").await;
    let refused = eve.matches().seal_move(seal).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::NotAParticipant);
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap(), before);
}

#[tokio::test]
async fn without_spectators_a_match_is_not_there_for_others() {
    let cluster = Cluster::of_one().await;
    let duel = duel_with_seal(&cluster, Spectators::None).await;
    let eve = cluster.player(0, "eve").await;
    let absent = Duel { name: absent_match(), ..duel.clone() };
    for (hidden, absent) in
        refusals(&cluster, &eve, &duel).await.iter().zip(refusals(&cluster, &eve, &absent).await)
    {
        assert_eq!(reason(hidden), ErrorReason::NotFound);
        // It tells no more than of a match that never was.
        assert_eq!(ApiError::from_status(hidden).unwrap().metadata("resource"), Some(duel.name.as_str()));
        let expected = String::from_utf8_lossy(absent.details()).replace(&absent_match(), &duel.name);
        assert_eq!(String::from_utf8_lossy(hidden.details()), expected);
        assert_eq!(hidden.message(), absent.message());
    }
}

/// What somebody without a seat is told of a match, call by call.
async fn refusals(cluster: &Cluster, eve: &Caller, duel: &Duel) -> Vec<Status> {
    let seal = duel.seal_request(Seat::White, 1, 1);
    let invite = v1::CreateInviteRequest {
        request_id: format!("again-{}", &duel.name[8..]),
        rematch_of: duel.name.clone(),
        ..Default::default()
    };
    vec![
        get_for(eve, duel, "").await.unwrap_err(),
        watch_for(eve, duel, "").await.unwrap_err(),
        eve.transcript(&duel.name).await.unwrap_err(),
        eve.matches().seal_move(seal).await.unwrap_err(),
        eve.matchmaking().create_invite(invite).await.unwrap_err(),
        get_for(&cluster.backend(0).await, duel, "players/eve").await.unwrap_err(),
    ]
}

fn absent_match() -> String {
    "matches/01890000-0000-7000-8000-000000000000".to_owned()
}

#[tokio::test]
async fn only_the_sealer_s_own_token_shows_his_seal() {
    let cluster = Cluster::of_one().await;
    let duel = duel_with_seal(&cluster, Spectators::Live).await;
    let own_cell = |game: v1::Match| game.status.and_then(|status| status.own_seal).map(|own| own.cell);
    assert_eq!(own_cell(get_for(&duel.black, &duel, "").await.unwrap()), Some(Some(cell("E5"))));
    let backend = cluster.backend(0).await;
    for (caller, player) in [
        (&duel.white, ""),
        (&cluster.player(0, "eve").await, ""),
        (&backend, ""),
        (&backend, "players/ada"),
        (&backend, "players/bo"),
    ] {
        assert_eq!(own_cell(get_for(caller, &duel, player).await.unwrap()), None);
    }
}

#[tokio::test]
async fn a_back_end_moves_for_the_player_it_names() {
    let cluster = Cluster::of_one().await;
    let duel = duel_with_seal(&cluster, Spectators::None).await;
    let backend = cluster.backend(0).await;
    let seal = duel.seal_request(Seat::White, 1, cell("A1"));
    let nobody = backend.matches().seal_move(seal.clone()).await.unwrap_err();
    assert_eq!(reason(&nobody), ErrorReason::FieldRequired);
    let stranger = v1::SealMoveRequest { player: "players/eve".to_owned(), ..seal.clone() };
    let refused = backend.matches().seal_move(stranger).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::NotFound);
    let for_white = v1::SealMoveRequest { player: duel.white.name.clone(), ..seal };
    backend.matches().seal_move(for_white).await.unwrap();
    assert_eq!(cluster.agreed_view(&duel.name).await.unwrap().turn, 1);
}

#[tokio::test]
async fn a_credential_that_does_not_hold_opens_nothing() {
    let cluster = Cluster::of_one().await;
    let duel = duel_with_seal(&cluster, Spectators::Live).await;
    let ada = NewToken::for_player("players/ada");
    let expired = cluster.token(&ada, START_MS - 2 * 60 * 60 * 1_000);
    let forged = middleware::TokenIssuer::new(&[1; 32], "wts-tests", "wts-tests");
    let forged = Credential::token(&forged.mint(&ada, START_MS).unwrap().0);
    let key = API_KEY.replace('0', "1");
    for (credential, expected) in [
        (Credential::none(), ErrorReason::TokenMissing),
        (expired, ErrorReason::TokenExpired),
        (forged, ErrorReason::TokenInvalid),
        (Credential::token("nonsense"), ErrorReason::TokenInvalid),
        (Credential::api_key(&key), ErrorReason::TokenInvalid),
    ] {
        let caller = cluster.caller(0, "", credential).await;
        for refused in [
            caller.get(&duel.name).await.unwrap_err(),
            watch_for(&caller, &duel, "").await.unwrap_err(),
            caller.matches().seal_move(duel.seal_request(Seat::White, 1, 1)).await.unwrap_err(),
        ] {
            assert_eq!(reason(&refused), expected);
        }
    }
}
