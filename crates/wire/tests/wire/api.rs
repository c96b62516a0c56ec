//! The shape of the API, read from its descriptors.

use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorSet, MethodDescriptorProto};

pub(crate) struct Method {
    pub(crate) service: String,
    pub(crate) method: MethodDescriptorProto,
    pub(crate) request: DescriptorProto,
}

/// Every message of the package with its name.
pub(crate) fn messages(descriptors: &[u8], package: &str) -> Vec<DescriptorProto> {
    let set = FileDescriptorSet::decode(descriptors).unwrap();
    set.file.into_iter().filter(|file| file.package() == package).flat_map(|file| file.message_type).collect()
}

fn methods(descriptors: &[u8], package: &str) -> Vec<Method> {
    let requests = messages(descriptors, package);
    let set = FileDescriptorSet::decode(descriptors).unwrap();
    let services =
        set.file.into_iter().filter(|file| file.package() == package).flat_map(|file| file.service);
    services
        .flat_map(|service| {
            let name = format!("{package}.{}", service.name());
            service.method.into_iter().map(move |method| (name.clone(), method))
        })
        .map(|(service, method)| {
            let wanted = method.input_type().rsplit('.').next().unwrap();
            let request = requests.iter().find(|request| request.name() == wanted).unwrap().clone();
            Method { service, method, request }
        })
        .collect()
}

fn all_methods() -> Vec<Method> {
    let mut all = methods(wire::FILE_DESCRIPTOR_SET, "whattheshell.v1");
    all.extend(methods(wire::admin::FILE_DESCRIPTOR_SET, "whattheshell.admin.v1"));
    assert_eq!(all.len(), 43, "the whole API is looked at");
    all
}

fn has(request: &DescriptorProto, field: &str) -> bool {
    request.field.iter().any(|candidate| candidate.name() == field)
}

#[test]
fn no_call_needs_client_streaming_which_browsers_lack() {
    for Method { method, .. } in all_methods() {
        assert!(!method.client_streaming(), "{}", method.name());
        assert_eq!(method.server_streaming(), method.name().starts_with("Watch"), "{}", method.name());
    }
}

#[test]
fn every_call_that_changes_something_can_be_repeated_by_its_id() {
    let reads = ["Get", "List", "Watch", "Inspect", "Export"];
    for Method { method, request, .. } in all_methods() {
        let name = method.name();
        // A token is made, not stored: making another is no harm.
        let changes = !reads.iter().any(|read| name.starts_with(read)) && name != "MintPlayerToken";
        assert_eq!(has(&request, "request_id"), changes, "{name}");
    }
}

#[test]
fn a_back_end_can_act_for_its_players_in_every_call_of_theirs() {
    for Method { service, method, request } in all_methods() {
        let name = method.name();
        let of_nobody = ["GetPlayer", "ListLeaderboard", "GetServerInfo", "WatchFeed"].contains(&name);
        let of_players = service.starts_with("whattheshell.v1.") && !of_nobody;
        assert_eq!(has(&request, "player"), of_players, "{name}");
    }
}

#[test]
fn operators_calls_are_not_in_the_public_descriptors() {
    assert!(methods(wire::FILE_DESCRIPTOR_SET, "whattheshell.admin.v1").is_empty());
}

#[test]
fn the_settings_keep_the_order_in_which_h_0_takes_them() {
    let messages = messages(wire::FILE_DESCRIPTOR_SET, "whattheshell.v1");
    let settings = messages.iter().find(|message| message.name() == "MatchSettings").unwrap();
    let mut fields: Vec<_> = settings.field.iter().map(|field| (field.number(), field.name())).collect();
    fields.sort_unstable();
    let expected = [
        (1, "rules_version"),
        (2, "turn_time"),
        (3, "bank"),
        (4, "seal_mode"),
        (5, "reveal_time"),
        (6, "mode"),
        (7, "spectators"),
        (8, "seal_status"),
        (9, "start_time"),
        (10, "turn_limit"),
        (11, "idle_limit"),
        (12, "bot"),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn the_hashed_codes_of_an_ending_stay() {
    use wire::v1::{EndReason, MatchResult};
    let results = (1..).map_while(|number| MatchResult::try_from(number).ok());
    let results: Vec<_> = results.map(|result| result.as_str_name()).collect();
    assert_eq!(
        results,
        [
            "MATCH_RESULT_BLACK_WINS",
            "MATCH_RESULT_WHITE_WINS",
            "MATCH_RESULT_DRAW",
            "MATCH_RESULT_ABORTED",
            "MATCH_RESULT_VOID"
        ]
    );
    let reasons = (1..).map_while(|number| EndReason::try_from(number).ok());
    let reasons: Vec<_> = reasons.map(|reason| reason.as_str_name()).collect();
    assert_eq!(
        reasons,
        [
            "END_REASON_ROW",
            "END_REASON_SUDDEN_DEATH",
            "END_REASON_FULL_BOARD",
            "END_REASON_TURN_LIMIT",
            "END_REASON_RESIGNATION",
            "END_REASON_AGREED_DRAW",
            "END_REASON_FLAG",
            "END_REASON_BOTH_FLAGGED",
            "END_REASON_FAILED_REVEAL",
            "END_REASON_NO_SHOW",
            "END_REASON_OPERATOR",
            "END_REASON_IDLE",
            "END_REASON_LOST_HISTORY"
        ]
    );
}

#[test]
fn the_service_config_retries_every_unary_call_and_no_stream() {
    let config: serde_json::Value = serde_json::from_str(wire::SERVICE_CONFIG).unwrap();
    let entries = config["methodConfig"].as_array().unwrap();
    // As gRPC chooses: an entry that names the method, else one that names its service.
    let policy = |service: &str, method: Option<&str>| {
        entries.iter().find(|entry| {
            let mut names = entry["name"].as_array().unwrap().iter();
            names.any(|name| name["service"] == service && name["method"].as_str() == method)
        })
    };
    for Method { service, method, .. } in methods(wire::FILE_DESCRIPTOR_SET, "whattheshell.v1") {
        let chosen = policy(&service, Some(method.name())).or_else(|| policy(&service, None)).unwrap();
        let retry = &chosen["retryPolicy"];
        if method.server_streaming() {
            assert!(retry.is_null() && chosen["timeout"].is_null(), "{}", method.name());
        } else {
            assert_eq!(retry["maxAttempts"], 4, "{}", method.name());
            assert_eq!(retry["retryableStatusCodes"], serde_json::json!(["UNAVAILABLE"]));
            assert!(chosen["timeout"].is_string(), "{}", method.name());
        }
    }
}
