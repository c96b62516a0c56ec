//! E4: what a newer client says beyond this release is ignored where it can be, and else refused by name.

use middleware::Rpc;
use prost::Message;
use rules::Seat;
use service_tests::{Caller, Cluster, cell};
use wire::v1::{self, ErrorReason, Spectators, seal_move_request};

use super::every_rpc::{self, Subject};
use super::newer::{NEW_VALUE, with_new_arms, with_new_fields, with_new_values};
use super::told::assert_is_in_the_table;

/// An RPC by its method.
fn rpc(method: &str) -> &'static Rpc {
    Rpc::all().iter().find(|rpc| rpc.method == method).unwrap()
}

/// The one answer to a request of this type, as bytes.
async fn answer<A: Message + Default>(
    caller: &Caller,
    method: &str,
    request: Vec<u8>,
) -> Result<A, tonic::Status> {
    let answer = every_rpc::send(caller, rpc(method), request).await;
    match answer.messages.first() {
        Some(message) => Ok(A::decode(message.as_slice()).unwrap()),
        None => Err(answer.status),
    }
}

async fn send_newer<A: Message + Default>(caller: &Caller, method: &str, request: impl Message) -> A {
    let newer = with_new_fields(&format!("{method}Request"), &request.encode_to_vec());
    assert_ne!(newer, request.encode_to_vec());
    answer(caller, method, newer).await.unwrap()
}

#[tokio::test]
async fn fields_that_this_release_does_not_know_change_no_answer() {
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let subject = Subject {
        invite: format!("invites/{}", duel.name.trim_start_matches("matches/")),
        game: duel.name.clone(),
        player: duel.white.name.clone(),
        turn: 1,
    };
    let backend = cluster.backend(0).await;
    for rpc in Rpc::all().iter().filter(|rpc| rpc.service.starts_with("whattheshell.v1.")) {
        let request = every_rpc::request(rpc, &subject);
        let newer = with_new_fields(&format!("{}Request", rpc.method), &request);
        let [plain, newer] =
            [every_rpc::send(&backend, rpc, request).await, every_rpc::send(&backend, rpc, newer).await];
        assert_eq!(plain.messages, newer.messages, "{}", rpc.method);
        assert_eq!(plain.status.code(), newer.status.code(), "{}", rpc.method);
        assert_eq!(plain.status.message(), newer.status.message(), "{}", rpc.method);
    }
}

#[tokio::test]
async fn a_newer_client_plays_a_match() {
    let cluster = Cluster::of_one().await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let offer = v1::CreateInviteRequest {
        request_id: "offer".to_owned(),
        invitee: bo.name.clone(),
        inviter_seat: v1::Seat::Black.into(),
        settings: Some(v1::MatchSettings::default()),
        ..Default::default()
    };
    let made: v1::CreateInviteResponse = send_newer(&ada, "CreateInvite", offer.clone()).await;
    // What is new is not part of what the request is remembered by.
    let again = ada.matchmaking().create_invite(offer).await.unwrap().into_inner();
    assert_eq!(again, made);
    let name = made.invite.unwrap().name;
    let accept = v1::AcceptInviteRequest { name, request_id: "accept".to_owned(), ..Default::default() };
    let accepted: v1::AcceptInviteResponse = send_newer(&bo, "AcceptInvite", accept).await;
    let name = accepted.invite.unwrap().r#match;
    for player in [&ada, &bo] {
        let request_id = "join".to_owned();
        let join = v1::JoinMatchRequest { name: name.clone(), request_id, ..Default::default() };
        let _: v1::JoinMatchResponse = send_newer(player, "JoinMatch", join).await;
    }
    for (player, cell) in [(&ada, "A1"), (&bo, "I9")] {
        let open = v1::OpenMove { cell: service_tests::cell(cell), salt: vec![7; 32] };
        let seal = v1::SealMoveRequest {
            name: name.clone(),
            request_id: "seal".to_owned(),
            turn: 1,
            r#move: Some(seal_move_request::Move::Open(open)),
            ..Default::default()
        };
        let sealed: v1::SealMoveResponse = send_newer(player, "SealMove", seal).await;
        assert_eq!(sealed.receipt.unwrap().turn, 1);
    }
    assert_eq!(ada.get(&name).await.unwrap().turn, 1);
}

/// The reason and the fields that a request is refused for.
async fn refused_for(caller: &Caller, method: &str, request: Vec<u8>) -> (ErrorReason, Vec<String>) {
    let status = every_rpc::send(caller, rpc(method), request).await.status;
    let error = assert_is_in_the_table(method, &status);
    (error.reason(), error.fields().iter().map(|violation| violation.field.clone()).collect())
}

#[tokio::test]
async fn a_value_that_this_release_does_not_know_is_refused_by_the_name_of_its_field() {
    let cluster = Cluster::of_one().await;
    let backend = cluster.backend(0).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let player = duel.black.name.clone();
    let settings = Some(v1::MatchSettings::default());
    let invite = v1::CreateInviteRequest {
        player: player.clone(),
        request_id: "new".to_owned(),
        settings,
        ..Default::default()
    };
    let token = v1::MintPlayerTokenRequest { player: player.clone(), ..Default::default() };
    let draw = v1::AnswerDrawRequest {
        name: duel.name.clone(),
        player,
        request_id: "new".to_owned(),
        turn: 1,
        ..Default::default()
    };
    let (invite, token, draw) = (invite.encode_to_vec(), token.encode_to_vec(), draw.encode_to_vec());
    for (method, request, enumeration, reason, field) in [
        ("CreateInvite", &invite, "Seat", ErrorReason::FieldInvalid, "inviter_seat"),
        ("CreateInvite", &invite, "SealMode", ErrorReason::SettingsInvalid, "settings.seal_mode"),
        ("CreateInvite", &invite, "MatchMode", ErrorReason::SettingsInvalid, "settings.mode"),
        ("CreateInvite", &invite, "Spectators", ErrorReason::SettingsInvalid, "settings.spectators"),
        ("CreateInvite", &invite, "SealStatus", ErrorReason::SettingsInvalid, "settings.seal_status"),
        ("MintPlayerToken", &token, "AgeMark", ErrorReason::FieldInvalid, "age_mark"),
        ("AnswerDraw", &draw, "Seat", ErrorReason::FieldInvalid, "seat"),
    ] {
        let newer = with_new_values(&format!("{method}Request"), request, enumeration);
        assert_eq!(
            refused_for(&backend, method, newer).await,
            (reason, vec![field.to_owned()]),
            "{enumeration}"
        );
    }
    let made: v1::CreateInviteResponse =
        answer(&backend, "CreateInvite", invite).await.expect("nothing was remembered");
    let offered = made.invite.unwrap().settings.unwrap();
    assert!(![offered.mode, offered.seal_mode, offered.spectators].contains(&NEW_VALUE));
}

#[tokio::test]
async fn a_kind_of_move_that_this_release_does_not_know_is_no_move() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let seal = duel.seal_request(Seat::Black, 1, cell("A1")).encode_to_vec();
    let newer = with_new_arms("SealMoveRequest", &seal);
    let refused = refused_for(&duel.black, "SealMove", newer).await;
    assert_eq!(refused, (ErrorReason::FieldRequired, vec!["open".to_owned()]));
    let sealed: v1::SealMoveResponse = answer(&duel.black, "SealMove", seal).await.unwrap();
    assert!(sealed.receipt.is_some());
}

// In proto3 a zero is not sent at all: if A1 were 0, it could not be told from no cell.
#[tokio::test]
async fn a1_is_cell_1_and_a_missing_cell_is_none() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let seal = |cell: u32| duel.seal_request(Seat::Black, 1, cell).encode_to_vec();
    for no_cell in [0, 82, 255, 256, 257, u32::MAX] {
        let refused = refused_for(&duel.black, "SealMove", seal(no_cell)).await;
        assert_eq!(refused, (ErrorReason::CellOutOfRange, vec!["open.cell".to_owned()]), "{no_cell}");
    }
    let encoded = seal(1);
    let open = v1::OpenMove { cell: 1, ..Default::default() }.encode_to_vec();
    assert_eq!(open, [8, 1], "the cell is in the message");
    let _: v1::SealMoveResponse = answer(&duel.black, "SealMove", encoded).await.unwrap();
    let own = duel.seen_by(Seat::Black).await.status.unwrap().own_seal.unwrap();
    assert_eq!(own.cell, Some(1));
    duel.seal(Seat::White, 1, 81).await.unwrap();
    let turn = duel.black.transcript(&duel.name).await.unwrap().turns.remove(0);
    assert_eq!((turn.black.unwrap().cell, turn.white.unwrap().cell), (1, 81));
    assert_eq!(turn.position.unwrap().cells.find('b'), Some(0));
}
