//! Whatever comes in is answered with an error of the table, changes nothing, and is over with its call.

use middleware::Rpc;
use prost::Message as _;
use rules::Seat;
use service_tests::{Caller, Cluster, Credential, Duel, Operation, cell, connect, seconds, soon};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::{Code, Status};
use wire::ApiError;
use wire::v1::{self, ErrorReason, SealMode, Spectators, match_settings, seal_move_request};

use super::every_rpc;
use super::hostile_fields::variants;
use super::told::assert_is_in_the_table;

/// Where a match is when the calls come.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    Waiting,
    /// Turn 2, sealed by black.
    Open,
    /// Turn 1, committed by both.
    Revealing,
    /// Resigned in turn 2, sealed by black.
    Finished,
}

struct Scene {
    stage: Stage,
    duel: Duel,
    /// An open invite by black, with its secret.
    invite: v1::CreateInviteResponse,
}

impl Scene {
    async fn set(cluster: &Cluster, stage: Stage) -> Self {
        let mut settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
        if stage == Stage::Revealing {
            settings.seal_mode = SealMode::CommitReveal.into();
        }
        let duel = cluster.agreed(settings).await;
        if stage != Stage::Waiting {
            duel.join().await;
        }
        match stage {
            Stage::Waiting => {}
            Stage::Revealing => {
                for seat in Seat::BOTH {
                    let commitment = seal_move_request::Move::Commitment(vec![seat.number(); 32]);
                    let seal = duel.seal_request(seat, 1, 1);
                    duel.send_seal(seat, v1::SealMoveRequest { r#move: Some(commitment), ..seal })
                        .await
                        .unwrap();
                }
            }
            Stage::Open | Stage::Finished => {
                duel.play(1, "A1", "I9").await;
                duel.seal(Seat::Black, 2, cell("B2")).await.unwrap();
            }
        }
        if stage == Stage::Finished {
            duel.resign(Seat::White).await.unwrap();
        }
        let offer = v1::CreateInviteRequest { request_id: duel.name[8..].to_owned(), ..Default::default() };
        let invite = duel.black.matchmaking().create_invite(offer).await.unwrap().into_inner();
        Self { stage, duel, invite }
    }

    /// What its players and a back end see of it.
    async fn seen(&self, backend: &Caller) -> (v1::Match, v1::Match, v1::Invite) {
        let name = self.invite.invite.as_ref().unwrap().name.clone();
        let get = v1::GetInviteRequest { name, ..Default::default() };
        let invite = soon("GetInvite", backend.matchmaking().get_invite(get)).await.unwrap().into_inner();
        (self.duel.seen_by(Seat::Black).await, self.duel.seen_by(Seat::White).await, invite.invite.unwrap())
    }

    /// A request that white, or whoever acts for him, might make.
    fn request(&self, method: &str, player: &str) -> Vec<u8> {
        let (name, player, request_id) = (self.duel.name.clone(), player.to_owned(), "hostile".to_owned());
        let turn = if self.stage == Stage::Revealing { 1 } else { 2 };
        let open = Some(v1::OpenMove { cell: 5, salt: vec![9; 32] });
        let invite = self.invite.invite.as_ref().unwrap().name.clone();
        let join_secret = self.invite.join_secret.clone();
        match method {
            "GetMatch" => v1::GetMatchRequest { name, player }.encode_to_vec(),
            "ListMatches" => v1::ListMatchesRequest { player, ..Default::default() }.encode_to_vec(),
            "JoinMatch" => v1::JoinMatchRequest { name, player, request_id }.encode_to_vec(),
            "SealMove" => {
                let r#move = open.map(seal_move_request::Move::Open);
                let last_receipt =
                    Some(v1::SealReceipt { r#match: name.clone(), turn, ..Default::default() });
                v1::SealMoveRequest {
                    name,
                    player,
                    request_id,
                    turn,
                    r#move,
                    last_receipt,
                    ..Default::default()
                }
                .encode_to_vec()
            }
            "RevealMove" => v1::RevealMoveRequest { name, player, request_id, turn, open }.encode_to_vec(),
            "WatchMatch" => v1::WatchMatchRequest { name, player, after_turn: Some(0), ..Default::default() }
                .encode_to_vec(),
            "Resign" => v1::ResignRequest { name, player, request_id }.encode_to_vec(),
            "OfferDraw" => v1::OfferDrawRequest { name, player, request_id, turn }.encode_to_vec(),
            "AnswerDraw" => v1::AnswerDrawRequest { name, player, request_id, turn, seat: 1, accept: true }
                .encode_to_vec(),
            "GetTranscript" => v1::GetTranscriptRequest { name, player }.encode_to_vec(),
            "CreateInvite" => {
                let time_control = Some(match_settings::TimeControl::TurnTime(seconds(30)));
                let settings = Some(v1::MatchSettings { time_control, ..Default::default() });
                v1::CreateInviteRequest { player, request_id, settings, ..Default::default() }.encode_to_vec()
            }
            "GetInvite" => v1::GetInviteRequest { name: invite, player, join_secret }.encode_to_vec(),
            "AcceptInvite" => v1::AcceptInviteRequest {
                name: invite,
                player,
                request_id,
                join_secret,
                ..Default::default()
            }
            .encode_to_vec(),
            "DeclineInvite" => v1::DeclineInviteRequest { name: invite, player, request_id }.encode_to_vec(),
            "RevokeInvite" => v1::RevokeInviteRequest { name: invite, player, request_id }.encode_to_vec(),
            "MintPlayerToken" => v1::MintPlayerTokenRequest { player, ..Default::default() }.encode_to_vec(),
            _ => Vec::new(),
        }
    }
}

fn of_the_api(rpc: &&Rpc) -> bool {
    rpc.service.starts_with("whattheshell.v1.")
}

/// Whether a call of the store can have changed what somebody sees.
fn writes(call: &Operation) -> bool {
    use Operation::{CloseInvite, Commit, Create, CreateInvite, IndexMatch, Postpone, Settle};
    [Commit, Create, CreateInvite, CloseInvite, IndexMatch, Postpone, Settle].contains(call)
}

/// Who sends how many of the hostile variants of a request, at which stage of a match.
#[derive(Clone, Copy)]
struct Attack {
    stage: Stage,
    by_backend: bool,
    /// One in so many is sent; all in a full run. Odd, so that it falls on other values in each field.
    one_in: usize,
}

/// Sends hostile variants of a request. Refused ones change nothing.
async fn put_to(cluster: &Cluster, rpc: &'static Rpc, attack: Attack) {
    let Attack { stage, by_backend, one_in } = attack;
    let one_in = if std::env::var("WTS_FULL").is_ok_and(|full| full == "1") { 1 } else { one_in };
    let backend = cluster.backend(0).await;
    let faults = &cluster.nodes[0].faults;
    let message_type = format!("whattheshell.v1.{}Request", rpc.method);
    let mut next = 0;
    loop {
        // A scene serves until a variant has an effect; the names in the next ones are those of the next.
        let scene = Scene::set(cluster, stage).await;
        let before = scene.seen(&backend).await;
        let white = &scene.duel.white;
        let (caller, player) = if by_backend { (&backend, white.name.as_str()) } else { (white, "") };
        let variants = variants(&message_type, &scene.request(rpc.method, player));
        for hostile in variants[next.min(variants.len())..].iter().step_by(one_in) {
            next += one_in;
            let what = format!("{stage:?}: {} with {}", rpc.method, hostile.what);
            faults.record();
            let status = every_rpc::send(caller, rpc, hostile.request.clone()).await.status;
            let changed = faults.recorded().iter().any(writes) && scene.seen(&backend).await != before;
            if status.code() != Code::Ok {
                assert_is_refusal(&what, &status);
                assert!(!changed, "{what} was refused and changed something");
            }
            if changed {
                break;
            }
        }
        if next >= variants.len() {
            return;
        }
    }
}

/// A refusal of the table that blames the caller, and fits into trailers: clients take no more than 8 KiB
/// of them.
fn assert_is_refusal(what: &str, status: &Status) -> ApiError {
    let error = assert_is_in_the_table(what, status);
    assert_ne!(status.code(), Code::Internal, "{what}: {status:?}");
    assert!(status.details().len() < 2_048 && status.message().len() < 512, "{what}: {status:?}");
    error
}

#[tokio::test]
async fn a_hostile_field_of_a_players_call_gets_a_refusal_and_changes_nothing() {
    let cluster = Cluster::of_one().await;
    for rpc in Rpc::all().iter().filter(of_the_api) {
        put_to(&cluster, rpc, Attack { stage: Stage::Open, by_backend: false, one_in: 3 }).await;
    }
}

#[tokio::test]
async fn a_hostile_field_of_a_back_ends_call_gets_a_refusal_and_changes_nothing() {
    let cluster = Cluster::of_one().await;
    for rpc in Rpc::all().iter().filter(of_the_api) {
        put_to(&cluster, rpc, Attack { stage: Stage::Open, by_backend: true, one_in: 5 }).await;
    }
}

#[tokio::test]
async fn a_hostile_field_gets_a_refusal_at_every_stage_of_a_match() {
    let cluster = Cluster::of_one().await;
    for stage in [Stage::Waiting, Stage::Revealing, Stage::Finished] {
        for rpc in Rpc::all().iter().filter(|rpc| rpc.service == "whattheshell.v1.MatchService") {
            put_to(&cluster, rpc, Attack { stage, by_backend: false, one_in: 5 }).await;
        }
    }
}

/// Bytes that no message begins with, or that end too early.
fn garbage(request: &[u8]) -> Vec<Vec<u8>> {
    // Field 1, of a length that is not there; longer than any number; of every wire type.
    let mut all = vec![
        vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
        vec![0xff; 11],
        vec![0x0a, 0x02, 0xc3, 0x28],
        vec![0x00],
        vec![0x80; 64],
        [0x0b].repeat(10_000),
        [0x52, 0x7f].repeat(10_000),
    ];
    all.extend((0..8).map(|wire_type| vec![0x08 | wire_type]));
    all.extend((1..request.len()).map(|cut| request[..cut].to_vec()));
    all.extend((0..request.len()).map(|place| {
        let mut flipped = request.to_vec();
        flipped[place] ^= 0xff;
        flipped
    }));
    all
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_a_reason_and_changes_nothing() {
    let cluster = Cluster::of_one().await;
    let backend = cluster.backend(0).await;
    let scene = Scene::set(&cluster, Stage::Open).await;
    let before = scene.seen(&backend).await;
    for rpc in Rpc::all().iter().filter(of_the_api) {
        // Without a name or an id that is its own: none of these can have an effect.
        let request = v1::JoinMatchRequest {
            name: "matches/none".to_owned(),
            player: "é".repeat(9),
            ..Default::default()
        };
        for bytes in garbage(&request.encode_to_vec()) {
            let what = format!("{} with {:02x?}", rpc.method, &bytes[..bytes.len().min(16)]);
            let answer = every_rpc::send(&scene.duel.white, rpc, bytes).await;
            if answer.status.code() != Code::Ok {
                assert_is_refusal(&what, &answer.status);
            }
        }
    }
    assert_eq!(scene.seen(&backend).await, before);
}

#[tokio::test]
async fn a_request_that_is_too_long_is_refused_and_the_connection_lives() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let info = duel.black.players().get_server_info(v1::GetServerInfoRequest {}).await.unwrap().into_inner();
    let bytes_max = usize::try_from(info.limits.unwrap().request_bytes_max).unwrap();
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    for (length, fits) in
        [(bytes_max - 64, true), (bytes_max, false), (bytes_max + 1, false), (8 * bytes_max, false)]
    {
        for method in ["GetMatch", "SealMove", "WatchMatch", "AcceptInvite", "GetTranscript"] {
            // Each has a name as its first field.
            let rpc = Rpc::all().iter().find(|rpc| rpc.method == method).unwrap();
            let request = v1::GetMatchRequest { name: "x".repeat(length), player: String::new() };
            let status = every_rpc::send(&duel.black, rpc, request.encode_to_vec()).await.status;
            let error = assert_is_refusal(method, &status);
            let too_long = error.fields().iter().any(|violation| violation.field == "request");
            assert_ne!(too_long, fits, "{method} with {length} bytes: {status:?}");
        }
    }
    duel.play(1, "A1", "I9").await;
    assert_eq!(stream.turn().await.turn, 1);
}

#[tokio::test]
async fn a_compressed_request_is_refused_with_a_reason() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut request =
        tonic::Request::new(v1::GetMatchRequest { name: duel.name.clone(), ..Default::default() });
    request.metadata_mut().insert("grpc-encoding", "gzip".parse().unwrap());
    let status = duel.black.matches().get_match(request).await.unwrap_err();
    assert_eq!(assert_is_refusal("gzip", &status).reason(), ErrorReason::Unimplemented);
}

#[tokio::test]
async fn a_hostile_credential_is_refused_with_a_reason() {
    let cluster = Cluster::of_one().await;
    let tokens = [
        "",
        ".",
        "..",
        "a.b.c",
        "eyJhbGciOiJub25lIn0.e30.",
        "é",
        "\0",
        &"a".repeat(4_096),
        &"a.".repeat(4_000),
    ];
    let printable = |text: &&str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let credentials = tokens.into_iter().filter(printable).map(Credential::token);
    let keys = ["", "x", &"k".repeat(8_000)].map(Credential::api_key);
    for credential in credentials.chain(keys) {
        let caller = Caller::new("", credential, connect(cluster.nodes[0].address).await);
        for rpc in Rpc::all().iter().filter(of_the_api).filter(|rpc| rpc.method != "GetServerInfo") {
            let status = every_rpc::send(&caller, rpc, Vec::new()).await.status;
            assert_eq!(
                assert_is_refusal(rpc.method, &status).reason(),
                ErrorReason::TokenInvalid,
                "{status:?}"
            );
        }
    }
}

/// What a peer on a bare socket sends, and whether it then says nothing more.
const ON_THE_SOCKET: [&[u8]; 6] = [
    b"",
    b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"POST /whattheshell.v1.MatchService/GetMatch HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999\r\n\r\n",
    // An HTTP/2 preface, then a frame that says to be 16 MiB long.
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00\x00\x00\x00\x00\x01",
    &[0xff; 4_096],
];

#[tokio::test]
async fn noise_on_the_socket_disturbs_nobody() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let mut stream = duel.black.watch(&duel.name).await.unwrap();
    let mut silent = Vec::new();
    for noise in ON_THE_SOCKET {
        for _ in 0..20 {
            let mut socket = TcpStream::connect(cluster.nodes[0].address).await.unwrap();
            socket.write_all(noise).await.unwrap();
            silent.push(socket);
        }
    }
    duel.play(1, "A1", "I9").await;
    assert_eq!(stream.turn().await.turn, 1);
    // Those who end their noise are let go.
    for mut socket in silent {
        socket.shutdown().await.unwrap();
        let mut rest = Vec::new();
        // It may break instead of ending: both let go of it.
        let _ = soon("the end of a connection", socket.read_to_end(&mut rest)).await;
    }
    duel.play(2, "A2", "I8").await;
    assert_eq!(stream.turn().await.turn, 2);
}

#[tokio::test]
async fn as_many_streams_as_a_connection_may_have_disturb_nobody_else() {
    const STREAMS: usize = 4_096;
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let many = cluster.player(0, "ada").await;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(many.watch(&duel.name).await.unwrap());
    }
    cluster.nodes[0].subscriptions.become_exactly(STREAMS).await;
    duel.play(1, "A1", "I9").await;
    for stream in streams.iter_mut().step_by(512) {
        assert_eq!(stream.turn().await.turn, 1);
    }
    drop(streams);
    cluster.nodes[0].subscriptions.become_exactly(0).await;
    assert_eq!(many.get(&duel.name).await.unwrap().turn, 1);
}
