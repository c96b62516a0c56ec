//! Every RPC of the policy table, as bytes: what a caller of any kind can be told at all.

use bytes::{Buf as _, BufMut as _};
use middleware::Rpc;
use prost::Message;
use service_tests::{Caller, soon};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic_health::pb::HealthCheckRequest;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use wire::v1;

/// The most messages taken from one call: streams that go on are left after the first two.
const MESSAGES_MAX: usize = 2;

/// What a call came to.
pub(crate) struct Answer {
    pub(crate) rpc: &'static Rpc,
    /// The messages, encoded as they came.
    pub(crate) messages: Vec<Vec<u8>>,
    /// What it ended with; OK also for a stream that goes on.
    pub(crate) status: Status,
}

/// What calls are about.
#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) game: String,
    pub(crate) invite: String,
    /// Whom the calls act for; empty: the caller.
    pub(crate) player: String,
    /// A turn that is open.
    pub(crate) turn: u32,
}

/// Calls this RPC about the subject, in a way that changes no match.
pub(crate) async fn call(caller: &Caller, rpc: &'static Rpc, subject: &Subject) -> Answer {
    send(caller, rpc, request(rpc, subject)).await
}

/// Calls this RPC with an encoded request.
pub(crate) async fn send(caller: &Caller, rpc: &'static Rpc, request: Vec<u8>) -> Answer {
    let mut client = tonic::client::Grpc::new(caller.line());
    soon("a connection", client.ready()).await.expect("the server is there");
    let path = rpc.path().parse().expect("a path");
    let opened = soon(rpc.method, client.server_streaming(tonic::Request::new(request), path, Raw)).await;
    let mut answer = Answer { rpc, messages: Vec::new(), status: Status::ok("") };
    let mut stream = match opened {
        Ok(response) => response.into_inner(),
        Err(status) => return Answer { status, ..answer },
    };
    while answer.messages.len() < MESSAGES_MAX {
        // These streams have one message and then wait for a change.
        if (rpc.service.ends_with("Health") || rpc.method == "WatchPlayer") && !answer.messages.is_empty() {
            break;
        }
        match soon(rpc.method, stream.message()).await {
            Ok(Some(message)) => answer.messages.push(message),
            Ok(None) => break,
            Err(status) => return Answer { status, ..answer },
        }
    }
    answer
}

/// A request of this RPC. None of them changes a match in which turn 1 is open and black has sealed:
/// those that would are refused.
pub(crate) fn request(rpc: &Rpc, subject: &Subject) -> Vec<u8> {
    let Subject { game, invite, player, turn } = subject.clone();
    let (name, request_id) = (game.clone(), "look".to_owned());
    let ticket = "tickets/casual.00000000000000000000000000000001".to_owned();
    match (rpc.service.rsplit('.').next().unwrap_or_default(), rpc.method) {
        ("MatchService", "GetMatch") => v1::GetMatchRequest { name, player }.encode_to_vec(),
        ("MatchService", "ListMatches") => {
            v1::ListMatchesRequest { player, ..Default::default() }.encode_to_vec()
        }
        ("MatchService", "JoinMatch") => v1::JoinMatchRequest { name, player, request_id }.encode_to_vec(),
        ("MatchService", "SealMove") => later_seal(name, player, turn + 1).encode_to_vec(),
        ("MatchService", "RevealMove") => {
            let open = Some(v1::OpenMove { cell: 1, salt: vec![9; 32] });
            v1::RevealMoveRequest { name, player, request_id, turn, open }.encode_to_vec()
        }
        ("MatchService", "WatchMatch") => {
            v1::WatchMatchRequest { name, player, after_turn: Some(0), ..Default::default() }.encode_to_vec()
        }
        // Without a request id it is refused: giving up would end the match.
        ("MatchService", "Resign") => {
            v1::ResignRequest { name, player, request_id: String::new() }.encode_to_vec()
        }
        ("MatchService", "OfferDraw") => {
            v1::OfferDrawRequest { name, player, request_id, turn: turn + 1 }.encode_to_vec()
        }
        ("MatchService", "AnswerDraw") => {
            v1::AnswerDrawRequest { name, player, request_id, turn, seat: 1, accept: true }.encode_to_vec()
        }
        ("MatchService", "GetTranscript") => v1::GetTranscriptRequest { name, player }.encode_to_vec(),
        ("MatchmakingService", "CreateInvite") => {
            v1::CreateInviteRequest { player, request_id, ..Default::default() }.encode_to_vec()
        }
        ("MatchmakingService", "GetInvite") => {
            v1::GetInviteRequest { name: invite, player, ..Default::default() }.encode_to_vec()
        }
        ("MatchmakingService", "AcceptInvite") => {
            v1::AcceptInviteRequest { name: invite, player, request_id, ..Default::default() }.encode_to_vec()
        }
        ("MatchmakingService", "DeclineInvite") => {
            v1::DeclineInviteRequest { name: invite, player, request_id }.encode_to_vec()
        }
        ("MatchmakingService", "RevokeInvite") => {
            v1::RevokeInviteRequest { name: invite, player, request_id }.encode_to_vec()
        }
        ("MatchmakingService", "CancelTicket") => {
            v1::CancelTicketRequest { player, request_id, ..Default::default() }.encode_to_vec()
        }
        ("MatchmakingService", "CreateTicket") => {
            let time_controls = vec![super::queue::half_minute()];
            let wish = super::queue::wish("casual", "look");
            v1::CreateTicketRequest { player, time_controls, ..wish }.encode_to_vec()
        }
        ("MatchmakingService", "GetTicket") => v1::GetTicketRequest { name: ticket, player }.encode_to_vec(),
        ("MatchmakingService", "RenewTicket") => {
            v1::RenewTicketRequest { name: ticket, player, request_id }.encode_to_vec()
        }
        ("MatchmakingService", "WatchTicket") => {
            v1::WatchTicketRequest { name: ticket, player }.encode_to_vec()
        }
        ("MatchmakingService", "CreateBotMatch") => {
            let level = v1::BotLevel::BotLevel0.into();
            v1::CreateBotMatchRequest { player, request_id, level, ..Default::default() }.encode_to_vec()
        }
        ("PlayerService", "GetPlayer") => v1::GetPlayerRequest { name: player }.encode_to_vec(),
        ("PlayerService", "WatchPlayer") => v1::WatchPlayerRequest { player }.encode_to_vec(),
        ("PlayerService", "MintPlayerToken") => {
            v1::MintPlayerTokenRequest { player, ..Default::default() }.encode_to_vec()
        }
        ("PlayerService", "ListLeaderboard") => {
            let speed = v1::SpeedClass::Rapid.into();
            v1::ListLeaderboardRequest { speed, around_player: player, ..Default::default() }.encode_to_vec()
        }
        // Without a request id they are refused: each would change what the player can do.
        ("PlayerService", "BanPlayer") => {
            v1::BanPlayerRequest { player, ..Default::default() }.encode_to_vec()
        }
        ("PlayerService", "UnbanPlayer") => {
            v1::UnbanPlayerRequest { player, ..Default::default() }.encode_to_vec()
        }
        ("PlayerService", "RevokePlayerTokens") => {
            v1::RevokePlayerTokensRequest { player, ..Default::default() }.encode_to_vec()
        }
        ("PlayerService", "DeletePlayer") => {
            v1::DeletePlayerRequest { player, ..Default::default() }.encode_to_vec()
        }
        ("PlayerService", "ExportPlayer") => {
            v1::ExportPlayerRequest { player, ..Default::default() }.encode_to_vec()
        }
        ("PlayerService", "GetServerInfo") | ("FeedService", "WatchFeed") => Vec::new(),
        ("Health", _) => HealthCheckRequest::default().encode_to_vec(),
        ("ServerReflection", _) => {
            let asked = MessageRequest::FileContainingSymbol("whattheshell.v1.MatchService".to_owned());
            tonic_reflection::pb::v1::ServerReflectionRequest {
                host: String::new(),
                message_request: Some(asked),
            }
            .encode_to_vec()
        }
        ("AdminService", _) => Vec::new(),
        (service, method) => panic!("say here how {service}/{method} is called"),
    }
}

/// A seal for a turn that is not open yet.
fn later_seal(name: String, player: String, turn: u32) -> v1::SealMoveRequest {
    let open = v1::OpenMove { cell: 1, salt: vec![9; 32] };
    v1::SealMoveRequest {
        name,
        player,
        request_id: "early".to_owned(),
        turn,
        r#move: Some(v1::seal_move_request::Move::Open(open)),
        ..Default::default()
    }
}

/// Messages as the bytes they are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut item = vec![0; buffer.remaining()];
        buffer.copy_to_slice(&mut item);
        Ok(Some(item))
    }
}
