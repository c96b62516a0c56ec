//! What a principal may use of a node, by a clock that the test moves.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use middleware::{
    Allowance, Allowances, BackendPrincipal, Limit, LimitLayer, LimitService, OperatorPrincipal, Peer,
    PeerAddress, PlayerPrincipal, Principal, Refusals, Usages,
};
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tower::{Layer as _, Service, ServiceExt as _, service_fn};
use wire::ApiError;
use wire::v1::ErrorReason;

use super::calls::GET_MATCH;

const GET_SERVER_INFO: &str = "/whattheshell.v1.PlayerService/GetServerInfo";

const FEW: Allowance = Allowance { calls_per_s: 10, ..Allowance::UNBOUNDED };

fn layer(refusals: &Arc<Refusals>) -> LimitLayer {
    let allowances = Allowances { player: FEW, backend: FEW, anonymous: FEW };
    LimitLayer::new(Arc::new(Usages::new(allowances)), usize::MAX, Arc::clone(refusals))
}

fn player(name: &str) -> Option<Principal> {
    Some(Principal::Player(PlayerPrincipal {
        player: name.to_owned(),
        scopes: Vec::new(),
        public_key: None,
        issued_ms: 0,
        expires_ms: u64::MAX,
        age: None,
        is_sheltered: false,
    }))
}

fn backend(name: &str) -> Option<Principal> {
    Some(Principal::Backend(BackendPrincipal { name: name.into() }))
}

/// One call over a connection from this address. How long to wait, if it was refused.
async fn call(layer: &LimitLayer, who: Option<Principal>, from: &str) -> Option<Duration> {
    let mut service: LimitService<_> =
        layer.layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::empty()))));
    let path = if who.is_some() { GET_MATCH } else { GET_SERVER_INFO };
    let mut request = Request::post(path).body(Body::empty()).expect("it is well-formed");
    let address = PeerAddress::from(from.parse::<IpAddr>().expect("an address"));
    let (_leave, leaving) = watch::channel(false);
    request.extensions_mut().insert(Arc::new(Peer::new(address, None, leaving)));
    if let Some(principal) = who {
        request.extensions_mut().insert(principal);
    }
    let answer = match service.ready().await.expect("it is").call(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    let status = Status::from_header_map(answer.headers())?;
    let error = ApiError::from_status(&status).expect("a refusal of the API");
    assert_eq!(error.reason(), ErrorReason::RateLimited);
    Some(error.retry_delay().expect("it says when to come again"))
}

/// Calls that are let through before the first refusal.
async fn allowed(layer: &LimitLayer, who: Option<Principal>, from: &str) -> usize {
    let mut count = 0;
    while call(layer, who.clone(), from).await.is_none() {
        count += 1;
    }
    count
}

#[tokio::test(start_paused = true)]
async fn two_seconds_of_calls_at_once_then_as_many_as_there_are_seconds() {
    let refusals = Arc::default();
    let layer = layer(&refusals);
    assert_eq!(allowed(&layer, player("players/ada"), "192.0.2.1").await, 20);
    let wait = call(&layer, player("players/ada"), "192.0.2.1").await.expect("there is none left");
    tokio::time::advance(wait).await;
    assert_eq!(allowed(&layer, player("players/ada"), "192.0.2.1").await, 1, "as it was told");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(allowed(&layer, player("players/ada"), "192.0.2.1").await, 10);
    tokio::time::advance(Duration::from_secs(3_600)).await;
    assert_eq!(allowed(&layer, player("players/ada"), "192.0.2.1").await, 20, "no more than that at once");
    assert_eq!(refusals.of(Limit::CallRate), 5);
}

#[tokio::test(start_paused = true)]
async fn principals_are_told_apart_wherever_they_call_from() {
    let layer = layer(&Arc::default());
    allowed(&layer, player("players/ada"), "192.0.2.1").await;
    assert!(call(&layer, player("players/ada"), "192.0.2.2").await.is_some(), "he is the same there");
    for other in [player("players/bo"), backend("ada"), backend("players/ada")] {
        assert_eq!(allowed(&layer, other, "192.0.2.1").await, 20);
    }
    let operator = || Some(Principal::Operator(OperatorPrincipal { name: "olga".to_owned() }));
    for _ in 0..1_000 {
        assert_eq!(call(&layer, operator(), "192.0.2.1").await, None, "operators are let through");
    }
}

#[tokio::test(start_paused = true)]
async fn strangers_are_told_apart_by_address_and_by_network_in_ipv6() {
    let layer = layer(&Arc::default());
    assert_eq!(allowed(&layer, None, "192.0.2.1").await, 20);
    assert!(call(&layer, None, "::ffff:192.0.2.1").await.is_some(), "it is the same address");
    assert_eq!(allowed(&layer, None, "192.0.2.2").await, 20);
    assert_eq!(allowed(&layer, None, "2001:db8::1").await, 20);
    assert!(call(&layer, None, "2001:db8::ffff:1").await.is_some(), "it is the same network");
    assert_eq!(allowed(&layer, None, "2001:db8:0:1::1").await, 20);
}
