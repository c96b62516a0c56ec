//! Credentials: each is read, judged and kept to itself.

use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use middleware::{Auth, AuthLayer, BackendPrincipal, Principal, Scope};
use tonic::body::Body;
use tonic_web::GrpcWebLayer;
use tower::{Layer as _, ServiceExt as _, service_fn};
use wire::ApiError;
use wire::v1::ErrorReason;

use crate::calls::{
    BACKEND_KEY, GET_MATCH, MINT, NOW_MS, OPERATOR_KEY, SEAL_MOVE, Seen, WATCH_MATCH, auth, call, error,
    outcome, request, token,
};

#[tokio::test]
async fn the_service_learns_who_calls() {
    let bearer = format!("Bearer {}", token(&[]));
    let response = call(auth(), request(SEAL_MOVE, &[("authorization", &bearer)])).await;
    match response.extensions().get::<Seen>().and_then(|seen| seen.principal.clone()) {
        Some(Principal::Player(player)) => assert_eq!(player.player, "players/p1"),
        other => panic!("{other:?}"),
    }
    let response = call(auth(), request(SEAL_MOVE, &[("x-api-key", BACKEND_KEY)])).await;
    let seen = response.extensions().get::<Seen>().and_then(|seen| seen.principal.clone());
    assert_eq!(seen, Some(Principal::Backend(BackendPrincipal { name: "lobby".into() })));
}

#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    for scheme in ["Bearer", "bearer", "BEARER", "Bearer "] {
        let value = format!("{scheme} {}", token(&[]));
        assert_eq!(outcome(auth(), request(SEAL_MOVE, &[("authorization", &value)])).await, "player");
    }
}

#[tokio::test]
async fn a_credential_that_is_not_exactly_one_is_refused() {
    let bearer = format!("Bearer {}", token(&[]));
    for headers in [
        &[("authorization", bearer.as_str()), ("x-api-key", BACKEND_KEY)][..],
        &[("authorization", &bearer), ("authorization", &bearer)],
        &[("x-api-key", BACKEND_KEY), ("x-api-key", OPERATOR_KEY)],
        &[("authorization", "")],
        &[("authorization", "Bearer")],
        &[("authorization", "Bearer ")],
        &[("authorization", "Basic cDE6cGFzcw==")],
        &[("authorization", &token(&[]))],
        &[("x-api-key", "")],
        &[("x-api-key", &bearer)],
    ] {
        assert_eq!(outcome(auth(), request(SEAL_MOVE, headers)).await, "TOKEN_INVALID", "{headers:?}");
    }
    let binary = Request::post(SEAL_MOVE).header("authorization", &b"Bearer \xff\xfe"[..]);
    let binary = binary.body(Body::empty()).expect("the request is well-formed");
    assert_eq!(outcome(auth(), binary).await, "TOKEN_INVALID");
}

#[tokio::test]
async fn a_refusal_does_not_tell_which_keys_exist() {
    let almost = format!("{}x", &BACKEND_KEY[..BACKEND_KEY.len() - 1]);
    let upper = BACKEND_KEY.to_uppercase();
    let long = "k".repeat(10_000);
    let forged = format!("Bearer {}x", token(&[]));
    let mut answers: Vec<HeaderMap> = Vec::new();
    for header in [
        ("x-api-key", almost.as_str()),
        ("x-api-key", &upper),
        ("x-api-key", &BACKEND_KEY[1..]),
        ("x-api-key", "k"),
        ("x-api-key", &long),
        ("x-api-key", "lobby"),
        ("authorization", &forged),
        ("authorization", "Bearer a.b.c"),
    ] {
        let response = call(auth(), request(SEAL_MOVE, &[header])).await;
        assert!(response.extensions().get::<Seen>().is_none());
        answers.push(response.headers().clone());
    }
    let first = answers.first().expect("there are answers");
    assert_eq!(error(first).map(|error| error.name().to_owned()).as_deref(), Some("TOKEN_INVALID"));
    assert!(answers.iter().all(|answer| answer == first), "{answers:?}");
}

#[tokio::test]
async fn in_development_anyone_may_mint_and_nothing_else_changes() {
    let dev = || Auth { dev: true, ..auth() };
    let response = call(dev(), request(MINT, &[])).await;
    let seen = response.extensions().get::<Seen>().and_then(|seen| seen.principal.clone());
    assert_eq!(seen, Some(Principal::Backend(BackendPrincipal { name: "dev".into() })));

    assert_eq!(outcome(auth(), request(MINT, &[])).await, "TOKEN_MISSING");
    assert_eq!(outcome(dev(), request(GET_MATCH, &[])).await, "TOKEN_MISSING");
    let feed = "/whattheshell.v1.FeedService/WatchFeed";
    assert_eq!(outcome(dev(), request(feed, &[])).await, "TOKEN_MISSING");
    assert_eq!(outcome(dev(), request(MINT, &[("x-api-key", "wrong")])).await, "TOKEN_INVALID");
    let bearer = format!("Bearer {}", token(&[]));
    assert_eq!(outcome(dev(), request(MINT, &[("authorization", &bearer)])).await, "SCOPE_MISSING");
}

/// Also if his scope would not do; who has a key, or none is asked for, is not judged.
#[tokio::test]
async fn who_may_not_call_now_is_told_so_whatever_he_calls() {
    let banned = || Auth {
        admission: Arc::new(|player, now_ms| {
            assert_eq!((player.player.as_str(), now_ms), ("players/p1", NOW_MS));
            Err(ApiError::new(ErrorReason::PlayerBanned))
        }),
        ..auth()
    };
    let watcher = format!("Bearer {}", token(&[Scope::Watch]));
    for path in [GET_MATCH, SEAL_MOVE, WATCH_MATCH, MINT] {
        assert_eq!(outcome(banned(), request(path, &[("authorization", &watcher)])).await, "PLAYER_BANNED");
    }
    assert_eq!(outcome(banned(), request(GET_MATCH, &[("x-api-key", BACKEND_KEY)])).await, "backend");
    let info = "/whattheshell.v1.PlayerService/GetServerInfo";
    assert_eq!(outcome(banned(), request(info, &[("authorization", &watcher)])).await, "anonymous");
    assert_eq!(
        outcome(banned(), request(GET_MATCH, &[("authorization", "Bearer x")])).await,
        "TOKEN_INVALID"
    );
}

#[tokio::test]
async fn behind_the_layer_no_credential_can_be_printed() {
    let token = token(&[]);
    for (name, value, secret) in [
        ("authorization", format!("Bearer {token}"), token.as_str()),
        ("x-api-key", BACKEND_KEY.to_owned(), BACKEND_KEY),
    ] {
        let response = call(auth(), request(SEAL_MOVE, &[(name, &value)])).await;
        let seen = response.extensions().get::<Seen>().expect("the call was served");
        let shown = format!("{:?}", seen.headers);
        assert!(shown.contains(name) && !shown.contains(secret), "{shown}");
    }
    assert!(!format!("{:?}", auth()).contains(BACKEND_KEY));
}

#[tokio::test]
async fn a_browser_can_read_a_refusal() {
    let service = service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::empty())));
    let service = GrpcWebLayer::new().layer(AuthLayer::new(auth()).layer(service));
    let request = Request::post(SEAL_MOVE).header("content-type", "application/grpc-web+proto");
    let request = request.body(Body::empty()).expect("the request is well-formed");
    let response = service.oneshot(request).await.expect("the layer answers");
    assert_eq!(response.headers()["content-type"], "application/grpc-web+proto");
    let reason = error(response.headers()).map(|error| error.name().to_owned());
    assert_eq!(reason.as_deref(), Some("TOKEN_MISSING"));
    let body = response.into_body().collect().await.expect("the body ends").to_bytes();
    assert!(body.is_empty());
}
