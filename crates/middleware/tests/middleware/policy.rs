//! Every RPC has exactly one entry in the policy table, and each kind of caller gets what it says.

use std::collections::BTreeMap;

use middleware::{Door, Rpc, Scope};
use prost::Message as _;
use prost_types::FileDescriptorSet;

use crate::calls::{
    BACKEND_KEY, OPERATOR_KEY, SEAL_MOVE, auth, call, error, outcome, outcome_at, request, token,
};

/// The RPCs of the descriptors: whether they stream, by path.
fn described() -> BTreeMap<String, bool> {
    let mut rpcs = BTreeMap::new();
    for bytes in [wire::FILE_DESCRIPTOR_SET, wire::admin::FILE_DESCRIPTOR_SET] {
        let set = FileDescriptorSet::decode(bytes).expect("the descriptors decode");
        for file in set.file {
            for service in &file.service {
                for method in &service.method {
                    let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                    assert!(!method.client_streaming(), "{path}: browsers have no client streams");
                    rpcs.insert(path, method.server_streaming());
                }
            }
        }
    }
    rpcs
}

#[test]
fn every_rpc_has_an_entry_and_every_entry_an_rpc() {
    let own: Vec<&Rpc> = Rpc::all().iter().filter(|rpc| rpc.service.starts_with("whattheshell.")).collect();
    let entries: BTreeMap<String, bool> = own.iter().map(|rpc| (rpc.path(), rpc.streams)).collect();
    assert_eq!(entries.len(), own.len(), "an RPC has two entries");
    assert_eq!(entries, described());
}

/// What a call needs, by its path, said again and apart from the table.
fn needs(path: &str) -> &'static str {
    let (service, method) = path.rsplit_once('/').expect("a path has a method");
    match (service.rsplit_once('.').expect("a service has a package").1, method) {
        ("AdminService", _) => "operator",
        ("FeedService", _) | ("PlayerService", "MintPlayerToken") => "backend",
        (
            "PlayerService",
            "BanPlayer" | "UnbanPlayer" | "RevokePlayerTokens" | "ExportPlayer" | "DeletePlayer",
        ) => "backend",
        ("PlayerService", "GetServerInfo") | ("Health" | "ServerReflection", _) => "nothing",
        ("MatchService", "GetMatch" | "ListMatches" | "WatchMatch" | "GetTranscript") => "watch",
        ("MatchService", _) => "play",
        ("MatchmakingService", _) => "matchmake",
        ("PlayerService", _) => "watch",
        other => panic!("{other:?}: say what it needs"),
    }
}

#[tokio::test]
async fn each_principal_gets_what_the_table_says_and_nothing_else() {
    let bearer = |scopes: &[Scope]| ("authorization", format!("Bearer {}", token(scopes)));
    let callers = [
        ("anonymous", None),
        ("play", Some(bearer(&[Scope::Play]))),
        ("matchmake", Some(bearer(&[Scope::Matchmake]))),
        ("watch", Some(bearer(&[Scope::Watch]))),
        ("all", Some(bearer(&[]))),
        ("backend", Some(("x-api-key", BACKEND_KEY.to_owned()))),
        ("operator", Some(("x-api-key", OPERATOR_KEY.to_owned()))),
    ];
    for path in Rpc::all().iter().map(Rpc::path) {
        for (caller, credential) in &callers {
            let expected = match (needs(&path), *caller) {
                ("nothing", _) => "anonymous",
                (_, "anonymous") => "TOKEN_MISSING",
                ("operator", "operator") => "operator",
                (need, "backend") if need != "operator" => "backend",
                ("play" | "matchmake" | "watch", "all") => "player",
                (need, scope) if need == scope => "player",
                _ => "SCOPE_MISSING",
            };
            let headers: Vec<_> = credential.iter().map(|(name, value)| (*name, value.as_str())).collect();
            for door in [Door::Public, Door::Operators] {
                let is_there = match door {
                    Door::Public => needs(&path) != "operator",
                    Door::Operators => needs(&path) == "operator" || path.starts_with("/grpc."),
                };
                let expected = if is_there { expected } else { "UNIMPLEMENTED" };
                let found = outcome_at(door, auth(), request(&path, &headers)).await;
                assert_eq!(found, expected, "{caller}: {path} at {door:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_needs_no_credential_does_not_look_at_one() {
    for rpc in Rpc::all().iter().filter(|rpc| needs(&rpc.path()) == "nothing") {
        let call = request(&rpc.path(), &[("authorization", "Bearer garbage")]);
        assert_eq!(outcome(auth(), call).await, "anonymous", "{}", rpc.path());
    }
}

#[tokio::test]
async fn a_call_without_an_entry_reaches_no_service_whoever_asks() {
    for path in [
        "/whattheshell.v1.MatchService/Unseal",
        "/whattheshell.v1.MatchService/sealmove",
        "/whattheshell.v1.MatchService/SealMove/",
        "//whattheshell.v1.MatchService/SealMove",
        "/whattheshell.storage.v1.Store/Read",
        "/grpc.health.v1.Health/List",
        "/",
    ] {
        let call = request(path, &[("x-api-key", BACKEND_KEY)]);
        assert_eq!(outcome(auth(), call).await, "UNIMPLEMENTED", "{path}");
    }
}

#[tokio::test]
async fn a_refusal_says_what_would_be_needed() {
    let watcher = format!("Bearer {}", token(&[Scope::Watch]));
    let refused = call(auth(), request(SEAL_MOVE, &[("authorization", &watcher)])).await;
    let refusal = error(refused.headers()).expect("it is refused");
    assert_eq!(refusal.metadata("scope"), Some("play"));

    let feed = "/whattheshell.v1.FeedService/WatchFeed";
    let refused = call(auth(), request(feed, &[("authorization", &watcher)])).await;
    let refusal = error(refused.headers()).expect("it is refused");
    assert!(refusal.message().contains("back ends"), "{}", refusal.message());
}
