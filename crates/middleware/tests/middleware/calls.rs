//! Calls to a service behind the auth layer, and what comes back.

use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderMap, Request, Response};
use middleware::{ApiKeys, Auth, AuthLayer, Door, NewToken, Principal, Scope, TokenIssuer};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer as _, ServiceExt as _, service_fn};
use wire::ApiError;

/// The time at which all calls are made, ms since 1970.
pub(crate) const NOW_MS: u64 = 1_700_000_000_000;

pub(crate) const SEED: [u8; 32] = [7; 32];
pub(crate) const ISSUER: &str = "https://wts.example";
pub(crate) const AUDIENCE: &str = "wts-test";

pub(crate) const BACKEND_KEY: &str = "4b1f0a9c-lobby-key-d81e77";
pub(crate) const OPERATOR_KEY: &str = "90ac51e2-operator-key-0b3d";

pub(crate) const SEAL_MOVE: &str = "/whattheshell.v1.MatchService/SealMove";
pub(crate) const GET_MATCH: &str = "/whattheshell.v1.MatchService/GetMatch";
pub(crate) const WATCH_MATCH: &str = "/whattheshell.v1.MatchService/WatchMatch";
pub(crate) const MINT: &str = "/whattheshell.v1.PlayerService/MintPlayerToken";

pub(crate) fn issuer() -> TokenIssuer {
    TokenIssuer::new(&SEED, ISSUER, AUDIENCE)
}

/// A token of `players/p1` with these scopes; none: all.
pub(crate) fn token(scopes: &[Scope]) -> String {
    let token = NewToken { scopes: scopes.to_vec(), ..NewToken::for_player("players/p1") };
    issuer().mint(&token, NOW_MS).expect("the token is well-formed").0
}

pub(crate) fn auth() -> Auth {
    Auth {
        verifier: Arc::new(issuer().verifier()),
        api_keys: ApiKeys::new()
            .backend("lobby", ApiKeys::digest(BACKEND_KEY.as_bytes()))
            .operator("olga", ApiKeys::digest(OPERATOR_KEY.as_bytes()))
            .into(),
        shelters: false,
        dev: false,
        clock: Arc::new(|| NOW_MS),
        admission: Arc::new(|_, _| Ok(())),
    }
}

pub(crate) fn request(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let builder = Request::post(path).header("content-type", "application/grpc");
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(Body::empty()).expect("the request is well-formed")
}

/// What the service saw of a call: only there if the call reached it.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) principal: Option<Principal>,
    pub(crate) headers: HeaderMap,
}

/// The answer to a call, through the auth layer alone.
pub(crate) async fn call(auth: Auth, request: Request<Body>) -> Response<Body> {
    call_at(Door::Public, auth, request).await
}

async fn call_at(door: Door, auth: Auth, request: Request<Body>) -> Response<Body> {
    let service = service_fn(async |request: Request<Body>| {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(Seen {
            principal: request.extensions().get().cloned(),
            headers: request.headers().clone(),
        });
        Ok::<_, Infallible>(response)
    });
    match AuthLayer::new(auth).at(door).layer(service).oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// What a call came to: the principal that the service saw (in one word), or the reason of the refusal.
pub(crate) async fn outcome(auth: Auth, request: Request<Body>) -> String {
    outcome_at(Door::Public, auth, request).await
}

/// The same of a call that comes in by this door.
pub(crate) async fn outcome_at(door: Door, auth: Auth, request: Request<Body>) -> String {
    let response = call_at(door, auth, request).await;
    match (response.extensions().get::<Seen>(), error(response.headers())) {
        (Some(seen), None) => seen.principal.as_ref().map_or("anonymous", Principal::kind).to_owned(),
        (None, Some(error)) => error.name().to_owned(),
        (Some(_), Some(_)) => "served and refused".to_owned(),
        (None, None) => "neither served nor refused".to_owned(),
    }
}

/// The error that headers or trailers carry.
pub(crate) fn error(headers: &HeaderMap) -> Option<ApiError> {
    let status = Status::from_header_map(headers)?;
    Some(ApiError::from_status(&status).expect("every error has a reason of the table"))
}
