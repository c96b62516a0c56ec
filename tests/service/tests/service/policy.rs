//! Who may call what, as the policy table says, at the server's door.

use middleware::{Denied, Door, NewToken, PlayerPrincipal, Principal, Rpc, Scope};
use rules::Seat;
use service_tests::{Caller, Cluster, Credential, START_MS, cell};
use wire::ApiError;
use wire::v1::{self, ErrorReason, Spectators};

use super::every_rpc::{self, Subject};

/// Callers of every kind, with what the table knows them as.
async fn callers(cluster: &Cluster) -> Vec<(Caller, Option<Principal>)> {
    let mut callers = vec![(cluster.stranger(0).await, None)];
    for scopes in [vec![Scope::Play], vec![Scope::Matchmake], vec![Scope::Watch], Scope::ALL.to_vec()] {
        let token = NewToken { scopes: scopes.clone(), ..NewToken::for_player("players/pat") };
        let caller = cluster.caller(0, "players/pat", cluster.token(&token, START_MS)).await;
        let principal = PlayerPrincipal {
            player: "players/pat".to_owned(),
            scopes,
            public_key: None,
            issued_ms: 0,
            expires_ms: u64::MAX,
            age: None,
            is_sheltered: false,
        };
        callers.push((caller, Some(Principal::Player(principal))));
    }
    let backend = middleware::BackendPrincipal { name: "lobby".into() };
    callers.push((cluster.backend(0).await, Some(Principal::Backend(backend))));
    let operator = middleware::OperatorPrincipal { name: "olga".to_owned() };
    callers.push((cluster.operator(0).await, Some(Principal::Operator(operator))));
    callers
}

fn refused_for(denied: Denied) -> ErrorReason {
    match denied {
        Denied::CredentialMissing(_) => ErrorReason::TokenMissing,
        Denied::WrongPrincipal(_) | Denied::ScopeMissing(_) => ErrorReason::ScopeMissing,
        Denied::UnknownRpc => ErrorReason::Unimplemented,
    }
}

#[tokio::test]
async fn every_call_is_open_to_whom_the_table_says_and_to_nobody_else() {
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let subject = Subject {
        game: duel.name.clone(),
        invite: "invites/01890000-0000-7000-8000-000000000000".to_owned(),
        player: String::new(),
        turn: 1,
    };
    for (caller, principal) in callers(&cluster).await {
        for rpc in Rpc::all() {
            let answer = every_rpc::call(&caller, rpc, &subject).await;
            let found = ApiError::from_status(&answer.status).map(|error| error.reason());
            let call = format!("{}/{} by {principal:?}", rpc.service, rpc.method);
            if !rpc.is_at(Door::Public) {
                assert_eq!(found, Some(ErrorReason::Unimplemented), "{call}");
                continue;
            }
            match rpc.authorize(principal.as_ref()) {
                Err(denied) => assert_eq!(found, Some(refused_for(denied)), "{call}"),
                Ok(()) => assert!(
                    !matches!(found, Some(ErrorReason::TokenMissing | ErrorReason::ScopeMissing)),
                    "{call}: {:?}",
                    answer.status
                ),
            }
        }
    }
}

/// Whoever reaches the operators' listener with another credential gets no further than at the public port.
#[tokio::test]
async fn the_operators_listener_is_for_operators_and_has_nothing_else() {
    let cluster = Cluster::of_one().await;
    let subject = Subject {
        game: "matches/01890000-0000-7000-8000-000000000000".to_owned(),
        invite: "invites/01890000-0000-7000-8000-000000000000".to_owned(),
        player: String::new(),
        turn: 1,
    };
    for (caller, principal) in callers(&cluster).await {
        let caller = caller.through(cluster.nodes[0].operators).await;
        for rpc in Rpc::all() {
            let answer = every_rpc::call(&caller, rpc, &subject).await;
            let found = ApiError::from_status(&answer.status).map(|error| error.reason());
            let call = format!("{}/{} by {principal:?}", rpc.service, rpc.method);
            let expected = match rpc.is_at(Door::Operators) {
                true => rpc.authorize(principal.as_ref()).err().map(refused_for),
                false => Some(ErrorReason::Unimplemented),
            };
            match expected {
                Some(expected) => assert_eq!(found, Some(expected), "{call}"),
                None => assert!(
                    !matches!(found, Some(ErrorReason::TokenMissing | ErrorReason::ScopeMissing)),
                    "{call}: {:?}",
                    answer.status
                ),
            }
        }
    }
}

#[tokio::test]
async fn a_call_that_no_table_knows_is_not_there() {
    static UNKNOWN: Rpc = Rpc {
        service: "whattheshell.v1.MatchService",
        method: "Unseal",
        access: middleware::Access::Anyone,
        streams: false,
    };
    let cluster = Cluster::of_one().await;
    for caller in [cluster.stranger(0).await, cluster.backend(0).await] {
        let answer = every_rpc::send(&caller, &UNKNOWN, Vec::new()).await;
        assert_eq!(ApiError::from_status(&answer.status).unwrap().reason(), ErrorReason::Unimplemented);
    }
}

#[tokio::test]
async fn two_credentials_at_once_are_refused() {
    let cluster = Cluster::of_one().await;
    let ada = cluster.player(0, "ada").await;
    let mut request = tonic::Request::new(v1::ListMatchesRequest::default());
    request.metadata_mut().insert("x-api-key", service_tests::API_KEY.parse().unwrap());
    let refused = ada.matches().list_matches(request).await.unwrap_err();
    assert_eq!(ApiError::from_status(&refused).unwrap().reason(), ErrorReason::TokenInvalid);
}

#[tokio::test]
async fn a_token_that_expires_closes_the_next_call() {
    let cluster = Cluster::of_one().await;
    let token = NewToken { ttl_ms: Some(60_000), ..NewToken::for_player("players/ada") };
    let ada: Credential = cluster.token(&token, START_MS);
    let ada = cluster.caller(0, "players/ada", ada).await;
    ada.matches().list_matches(v1::ListMatchesRequest::default()).await.unwrap();
    cluster.advance_ms(60_000 + middleware::TOKEN_LEEWAY_MS + 1).await;
    let refused = ada.matches().list_matches(v1::ListMatchesRequest::default()).await.unwrap_err();
    assert_eq!(ApiError::from_status(&refused).unwrap().reason(), ErrorReason::TokenExpired);
}
