//! Reflection, v1 and v1alpha: any client can find the API, where the server offers it.

use service_tests::{Caller, Cluster, Setup, soon};
use tonic::{Code, Status};
use tonic_reflection::pb::{v1, v1alpha};

/// What the server serves besides reflection itself.
const SERVICES: [&str; 5] = [
    "grpc.health.v1.Health",
    "whattheshell.v1.FeedService",
    "whattheshell.v1.MatchService",
    "whattheshell.v1.MatchmakingService",
    "whattheshell.v1.PlayerService",
];

async fn list_v1(caller: &Caller) -> Result<Vec<String>, Status> {
    use v1::server_reflection_client::ServerReflectionClient;
    use v1::server_reflection_request::MessageRequest::ListServices;
    use v1::server_reflection_response::MessageResponse::ListServicesResponse;
    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(caller.line());
    let requests = futures::stream::iter([request]);
    let mut answers = soon("reflection", client.server_reflection_info(requests)).await?.into_inner();
    match soon("reflection", answers.message()).await?.and_then(|answer| answer.message_response) {
        Some(ListServicesResponse(listed)) => {
            Ok(listed.service.into_iter().map(|service| service.name).collect())
        }
        other => panic!("not a list: {other:?}"),
    }
}

async fn list_v1alpha(caller: &Caller) -> Result<Vec<String>, Status> {
    use v1alpha::server_reflection_client::ServerReflectionClient;
    use v1alpha::server_reflection_request::MessageRequest::ListServices;
    use v1alpha::server_reflection_response::MessageResponse::ListServicesResponse;
    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(caller.line());
    let requests = futures::stream::iter([request]);
    let mut answers = soon("reflection", client.server_reflection_info(requests)).await?.into_inner();
    match soon("reflection", answers.message()).await?.and_then(|answer| answer.message_response) {
        Some(ListServicesResponse(listed)) => {
            Ok(listed.service.into_iter().map(|service| service.name).collect())
        }
        other => panic!("not a list: {other:?}"),
    }
}

#[tokio::test]
async fn both_versions_list_every_service() {
    let cluster = Cluster::of_one().await;
    let stranger = cluster.stranger(0).await;
    for listed in [list_v1(&stranger).await.unwrap(), list_v1alpha(&stranger).await.unwrap()] {
        for service in SERVICES {
            assert!(listed.iter().any(|name| name == service), "{service} is not in {listed:?}");
        }
        assert!(!listed.iter().any(|name| name.contains("admin")), "operators' calls are not for everyone");
    }
}

#[tokio::test]
async fn a_server_without_reflection_offers_none() {
    let cluster = Cluster::start(Setup { reflection: false, ..Setup::default() }).await;
    let stranger = cluster.stranger(0).await;
    assert_eq!(list_v1(&stranger).await.unwrap_err().code(), Code::Unimplemented);
    assert_eq!(list_v1alpha(&stranger).await.unwrap_err().code(), Code::Unimplemented);
}
