//! Inputs to begin with: those that reach far into a target, which a fuzzer would take long to come upon.

use prost::Message;
use rules::{Cell, Seat};
use sealing::{MatchId, Opening, Salt, SealContext};
use whattheshell::Transcript;
use wire::v1;
use wire::v1::seal_move_request::Move;

use crate::service_target::{CALLERS, MATCHES, OUTAGE, TIME, name, new_match, rpcs, run};

/// The seeds of `transcripts`: what those of `service` come to, and a byte to change.
#[must_use]
pub fn transcript_seeds() -> Vec<(String, Vec<u8>)> {
    let of = |(name, seed): (&'static str, Vec<u8>)| {
        let transcripts = run(&seed).transcripts;
        let read = move |(at, transcript): (usize, Transcript)| {
            (format!("{name}-{at}"), [&[0, 0, 0][..], &transcript.to_bytes()].concat())
        };
        transcripts.into_iter().enumerate().map(read)
    };
    service_seeds().into_iter().filter(|(name, _)| *name != "players").flat_map(of).collect()
}

/// The seeds of `service`, each with its name.
#[must_use]
pub fn service_seeds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("played", Calls::new().join(0).turns(0, &[("E5", "E5"), ("A1", "B2"), ("C3", "C4")]).resign(0, 1).0),
        (
            "repeated",
            Calls::new().join(0).seal(0, 0, 1, "A1").seal(0, 0, 1, "A1").seal(0, 0, 1, "B2").watched(0).0,
        ),
        ("flagged", Calls::new().join(0).seal(0, 0, 1, "A1").pass(255).watched(0).seal(0, 1, 1, "B2").0),
        ("out-of-service", Calls::new().join(0).seal(0, 0, 1, "A1").outage(255).seal(0, 1, 1, "B2").0),
        ("revealed", Calls::new().join(1).committed(1).watched(1).0),
        (
            "withheld",
            Calls::new().join(1).commit(Seat::Black, "A1").commit(Seat::White, "B2").pass(255).watched(1).0,
        ),
        ("drawn", Calls::new().join(0).draw(0).watched(0).0),
        ("never-joined", Calls::new().pass(255).watched(0).watched(1).0),
        ("matchmaking", Calls::new().matchmaking().0),
        ("players", Calls::new().players().0),
    ]
}

/// Calls as the target reads them.
struct Calls(Vec<u8>);

fn of_game(at: usize) -> String {
    name(MatchId::from_bytes(MATCHES[at]))
}

fn opening(cell: &str, seed: u8) -> Opening {
    Opening { cell: cell.parse::<Cell>().expect("a cell"), salt: Salt::from_bytes([seed; 32]) }
}

impl Calls {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn call(mut self, method: &str, caller: usize, request: &impl Message) -> Self {
        let rpc = rpcs().iter().position(|rpc| rpc.method == method).expect("an RPC");
        let request = request.encode_to_vec();
        let length = u16::try_from(request.len()).expect("requests are short").to_be_bytes();
        self.0.extend([u8::try_from(rpc).expect("there are few"), caller as u8, length[0], length[1]]);
        self.0.extend(request);
        self
    }

    /// Lets so many units of time pass.
    fn pass(mut self, units: u8) -> Self {
        self.0.extend([TIME, units, 0, 0]);
        self
    }

    /// The same without the service.
    fn outage(mut self, units: u8) -> Self {
        self.0.extend([OUTAGE, units, 0, 0]);
        self
    }

    fn join(self, game: usize) -> Self {
        let request =
            v1::JoinMatchRequest { name: of_game(game), request_id: "join".to_owned(), ..Default::default() };
        self.call("JoinMatch", 0, &request).call("JoinMatch", 1, &request)
    }

    fn seal(self, game: usize, seat: usize, turn: u32, cell: &str) -> Self {
        let opening = opening(cell, 16 * turn as u8 + seat as u8);
        let open =
            v1::OpenMove { cell: opening.cell.number().into(), salt: opening.salt.as_bytes().to_vec() };
        let request = v1::SealMoveRequest {
            name: of_game(game),
            request_id: format!("seal-{turn}"),
            turn,
            r#move: Some(Move::Open(open)),
            ..Default::default()
        };
        self.call("SealMove", seat, &request)
    }

    fn turns(self, game: usize, turns: &[(&str, &str)]) -> Self {
        (1..).zip(turns).fold(self, |calls, (turn, (black, white))| {
            calls.seal(game, 0, turn, black).watched(game).seal(game, 1, turn, white)
        })
    }

    fn commit(self, seat: Seat, cell: &str) -> Self {
        let (caller, change) = (usize::from(seat == Seat::White), new_match(1));
        let context = SealContext {
            match_id: change.next.id,
            turn: 1,
            seat,
            player: CALLERS[caller],
            previous: &change.next.hash,
        };
        let commitment = context.commit(&opening(cell, caller as u8)).as_bytes().to_vec();
        let request = v1::SealMoveRequest {
            name: of_game(1),
            request_id: "seal".to_owned(),
            turn: 1,
            r#move: Some(Move::Commitment(commitment)),
            ..Default::default()
        };
        self.call("SealMove", caller, &request)
    }

    fn reveal(self, caller: usize, cell: &str) -> Self {
        let Opening { cell, salt } = opening(cell, caller as u8);
        let open = Some(v1::OpenMove { cell: cell.number().into(), salt: salt.as_bytes().to_vec() });
        let request = v1::RevealMoveRequest {
            name: of_game(1),
            request_id: "reveal".to_owned(),
            turn: 1,
            open,
            ..Default::default()
        };
        self.call("RevealMove", caller, &request)
    }

    fn committed(self, game: usize) -> Self {
        let sealed = self.commit(Seat::Black, "A1").commit(Seat::White, "B2").watched(game);
        sealed.reveal(0, "A1").watched(game).reveal(1, "C3").reveal(1, "B2")
    }

    /// Everybody looks.
    fn watched(self, game: usize) -> Self {
        let get = v1::GetMatchRequest { name: of_game(game), ..Default::default() };
        let watch = v1::WatchMatchRequest { name: of_game(game), after_turn: Some(0), ..Default::default() };
        (0..CALLERS.len()).fold(self, |calls, caller| {
            calls.call("GetMatch", caller, &get).call("WatchMatch", caller, &watch)
        })
    }

    fn resign(self, game: usize, caller: usize) -> Self {
        let request =
            v1::ResignRequest { name: of_game(game), request_id: "resign".to_owned(), ..Default::default() };
        let transcript = v1::GetTranscriptRequest { name: of_game(game), ..Default::default() };
        self.call("Resign", caller, &request).call("GetTranscript", 2, &transcript)
    }

    fn draw(self, game: usize) -> Self {
        let offer = v1::OfferDrawRequest {
            name: of_game(game),
            request_id: "offer".to_owned(),
            turn: 1,
            ..Default::default()
        };
        let answer = v1::AnswerDrawRequest {
            name: of_game(game),
            request_id: "answer".to_owned(),
            turn: 1,
            seat: 1,
            accept: true,
            ..Default::default()
        };
        self.call("OfferDraw", 0, &offer).call("AnswerDraw", 1, &answer)
    }

    fn matchmaking(self) -> Self {
        let seconds = |seconds| whattheshell::prost_types::Duration { seconds, nanos: 0 };
        let control = v1::time_control::Control::TurnTime(seconds(30));
        let ticket = |pool: &str| v1::CreateTicketRequest {
            request_id: "ticket".to_owned(),
            pool: pool.to_owned(),
            time_controls: vec![v1::TimeControl { control: Some(control) }],
            ..Default::default()
        };
        let cancel = v1::CancelTicketRequest { request_id: "cancel".to_owned(), ..Default::default() };
        let invite = v1::CreateInviteRequest {
            request_id: "invite".to_owned(),
            invitee: CALLERS[2].to_owned(),
            ..Default::default()
        };
        let bot = v1::CreateBotMatchRequest { request_id: "bot".to_owned(), level: 1, ..Default::default() };
        let for_third = v1::CreateTicketRequest { player: CALLERS[2].to_owned(), ..ticket("casual") };
        let seen = v1::WatchPlayerRequest::default();
        self.call("CreateTicket", 0, &ticket("ranked"))
            .call("CreateTicket", 0, &ticket("casual"))
            .call("CreateTicket", 3, &for_third)
            .call("WatchPlayer", 2, &seen)
            .pass(100)
            .call("CancelTicket", 0, &cancel)
            .call("CancelTicket", 2, &cancel)
            .call("CreateInvite", 0, &invite)
            .call("WatchPlayer", 2, &seen)
            .call("CreateBotMatch", 2, &bot)
    }

    fn players(self) -> Self {
        let mint = v1::MintPlayerTokenRequest { player: CALLERS[0].to_owned(), ..Default::default() };
        let board = v1::ListLeaderboardRequest { speed: 1, ..Default::default() };
        self.call("MintPlayerToken", 3, &mint)
            .call("GetPlayer", 0, &v1::GetPlayerRequest::default())
            .call("ListLeaderboard", 1, &board)
            .call("ListMatches", 0, &v1::ListMatchesRequest::default())
            .call("GetServerInfo", 2, &v1::GetServerInfoRequest {})
            .call("WatchFeed", 3, &v1::WatchFeedRequest::default())
    }
}
