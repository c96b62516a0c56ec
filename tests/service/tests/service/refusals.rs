//! Every refusal has its code, its reason and its details, and changes nothing.

use std::collections::HashSet;
use std::future::Future;

use prost::Message as _;
use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Operation, cell, seconds};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::v1::{self, ErrorReason, Spectators, match_settings, seal_move_request};
use wire::{ApiError, ErrorRow, error_rows};

use super::queue;

/// Reasons that other files of these tests reach: by a server that asks for age marks (`sheltered`), by time
/// (`expiry`, `deadlines`), by a stop (`shutdown`), by very many invites (`invites`), by a feed that is trimmed
/// (`feed`).
const ELSEWHERE: [ErrorReason; 9] = [
    ErrorReason::GuardianRequired,
    ErrorReason::TokenExpired,
    ErrorReason::DeadlineExceeded,
    ErrorReason::ResumeElsewhere,
    ErrorReason::ShuttingDown,
    ErrorReason::TicketLimit,
    ErrorReason::FeedTrimmed,
    ErrorReason::RateLimited,
    ErrorReason::StreamLimit,
];

/// A match in turn 2, where black has sealed, and who looks at it.
struct Scene {
    cluster: Cluster,
    duel: Duel,
}

impl Scene {
    async fn new() -> Self {
        let cluster = Cluster::of_one().await;
        let settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
        let duel = cluster.duel(settings).await;
        duel.play(1, "A1", "I9").await;
        duel.seal(Seat::Black, 2, cell("B2")).await.unwrap();
        Self { cluster, duel }
    }

    /// All that anybody can see of the match.
    async fn everything(&self) -> Vec<Vec<u8>> {
        let views = [self.duel.seen_by(Seat::Black).await, self.duel.seen_by(Seat::White).await];
        let transcript = self.duel.black.transcript(&self.duel.name).await.unwrap();
        let mut everything: Vec<_> = views.iter().map(|view| view.encode_to_vec()).collect();
        everything.push(transcript.encode_to_vec());
        everything
    }

    /// White's seal of turn 2 with something wrong.
    async fn seal(&self, spoil: impl FnOnce(&mut v1::SealMoveRequest)) -> Result<v1::SealReceipt, Status> {
        let mut request = self.duel.seal_request(Seat::White, 2, cell("H8"));
        spoil(&mut request);
        self.duel.send_seal(Seat::White, request).await
    }

    async fn invite(
        &self,
        spoil: impl FnOnce(&mut v1::CreateInviteRequest),
    ) -> Result<v1::CreateInviteResponse, Status> {
        let mut request =
            v1::CreateInviteRequest { request_id: "an-invite".to_owned(), ..Default::default() };
        spoil(&mut request);
        Ok(self.duel.white.matchmaking().create_invite(request).await?.into_inner())
    }

    async fn settings(&self, settings: v1::MatchSettings) -> Result<v1::CreateInviteResponse, Status> {
        self.invite(|request| request.settings = Some(settings)).await
    }
}

/// What an error must have besides its reason.
enum Details<'a> {
    /// A `BadRequest` that names this field.
    Field(&'a str),
    /// A `PreconditionFailure` of this subject, and these metadata.
    Subject(&'a str, &'a [(&'a str, &'a str)]),
    /// These metadata.
    Metadata(&'a [(&'a str, &'a str)]),
}

/// Checks refusals and remembers their reasons.
struct Table<'a> {
    scene: &'a Scene,
    reached: HashSet<ErrorReason>,
}

impl Table<'_> {
    async fn row<T: std::fmt::Debug>(
        &mut self,
        what: &str,
        reason: ErrorReason,
        details: Details<'_>,
        call: impl Future<Output = Result<T, Status>>,
    ) {
        let before = self.scene.everything().await;
        let status = call.await.expect_err(what);
        assert_eq!(before, self.scene.everything().await, "{what} changed something");
        check(what, reason, &details, &status);
        self.reached.insert(reason);
    }
}

fn check(what: &str, reason: ErrorReason, details: &Details<'_>, status: &Status) {
    let (row, error) = (ErrorRow::of(reason), ApiError::from_status(status).expect(what));
    let found = status.get_error_details();
    assert_eq!((error.reason(), status.code()), (reason, row.code), "{what}: {status:?}");
    assert!(!status.message().is_empty(), "{what}");
    assert_eq!(found.bad_request().is_some(), row.code == Code::InvalidArgument, "{what}: BadRequest");
    let preconditions = found.precondition_failure();
    assert_eq!(preconditions.is_some(), row.code == Code::FailedPrecondition, "{what}: PreconditionFailure");
    assert_eq!(found.retry_info().is_some(), row.retry_delay.is_some(), "{what}: RetryInfo");
    let pushback = status.metadata().contains_key(wire::METADATA_RETRY_PUSHBACK);
    assert_eq!(pushback, row.code == Code::Unavailable, "{what}: pushback");
    match details {
        Details::Field(field) => {
            let violations = &found.bad_request().expect(what).field_violations;
            assert_eq!(violations[0].field, *field, "{what}");
            assert!(!violations[0].description.is_empty(), "{what}");
        }
        Details::Subject(subject, metadata) => {
            let violation = &preconditions.expect(what).violations[0];
            assert_eq!((violation.r#type.as_str(), &*violation.subject), (row.name(), *subject), "{what}");
            has_metadata(what, &error, metadata);
        }
        Details::Metadata(metadata) => has_metadata(what, &error, metadata),
    }
}

fn has_metadata(what: &str, error: &ApiError, metadata: &[(&str, &str)]) {
    for (key, value) in metadata {
        assert_eq!(error.metadata(key), Some(*value), "{what}: {key}");
    }
}

async fn seals(table: &mut Table<'_>) {
    use ErrorReason as R;
    let scene = table.scene;
    let game = scene.duel.name.as_str();
    let field = Details::Field;
    let set = |cell, salt: usize| {
        move |request: &mut v1::SealMoveRequest| {
            let open = v1::OpenMove { cell, salt: vec![5; salt] };
            request.r#move = Some(seal_move_request::Move::Open(open));
        }
    };
    table
        .row("no request id", R::FieldRequired, field("request_id"), scene.seal(|r| r.request_id.clear()))
        .await;
    table.row("no turn", R::FieldRequired, field("turn"), scene.seal(|r| r.turn = 0)).await;
    table.row("no move", R::FieldRequired, field("open"), scene.seal(|r| r.r#move = None)).await;
    table.row("no name", R::FieldRequired, field("name"), scene.seal(|r| r.name.clear())).await;
    let bad_id = |r: &mut v1::SealMoveRequest| r.request_id = "not an id".to_owned();
    table.row("a bad request id", R::FieldInvalid, field("request_id"), scene.seal(bad_id)).await;
    let long_id = |r: &mut v1::SealMoveRequest| r.request_id = "x".repeat(65);
    table.row("a long request id", R::FieldInvalid, field("request_id"), scene.seal(long_id)).await;
    let bad_name = |r: &mut v1::SealMoveRequest| r.name = "match/7".to_owned();
    table.row("a bad name", R::FieldInvalid, field("name"), scene.seal(bad_name)).await;
    let short = |r: &mut v1::SealMoveRequest| r.previous_hash = vec![1; 31];
    table.row("a short hash", R::FieldInvalid, field("previous_hash"), scene.seal(short)).await;
    for number in [0, 82, u32::MAX] {
        let call = scene.seal(set(number, 32));
        table.row("no cell of the board", R::CellOutOfRange, field("open.cell"), call).await;
    }
    for bytes in [0, 31, 33] {
        let call = scene.seal(set(70, bytes));
        table.row("a salt of another length", R::SaltInvalid, field("open.salt"), call).await;
    }
    let short = |r: &mut v1::SealMoveRequest| {
        r.r#move = Some(seal_move_request::Move::Commitment(vec![1; 20]));
    };
    table.row("a short commitment", R::CommitmentMalformed, field("commitment"), scene.seal(short)).await;
    let commits = |r: &mut v1::SealMoveRequest| {
        r.r#move = Some(seal_move_request::Move::Commitment(vec![1; 32]));
    };
    let subject = |metadata| Details::Subject(game, metadata);
    table.row("a commitment", R::SealModeMismatch, subject(&[]), scene.seal(commits)).await;
    let occupied = scene.seal(set(cell("A1"), 32));
    table.row("an occupied cell", R::CellOccupied, subject(&[("turn", "2")]), occupied).await;
    let early = scene.seal(|r| r.turn = 3);
    table.row("a later turn", R::TurnNotOpenYet, subject(&[("turn", "3")]), early).await;
    let again = scene.seal(|r| r.turn = 1);
    table.row("an earlier turn", R::AlreadySealed, subject(&[("turn", "1")]), again).await;
    let other = |r: &mut v1::SealMoveRequest| {
        r.turn = 1;
        r.request_id = "seal-1-2".to_owned();
    };
    table.row("another seal", R::RequestIdReused, field("request_id"), scene.seal(other)).await;
    let elsewhere = scene.seal(|r| r.previous_hash = vec![1; 32]);
    let regressed = [("resource", game), ("turn", "1")];
    table.row("another history", R::HistoryRegressed, Details::Metadata(&regressed), elsewhere).await;
    let watch = scene.duel.white.watch_after(game, 1, &[1; 32]);
    table.row("a stream of another", R::HistoryRegressed, Details::Metadata(&regressed), watch).await;
}

async fn callers(table: &mut Table<'_>) {
    use ErrorReason as R;
    let scene = table.scene;
    let game = scene.duel.name.as_str();
    let seal = |caller: Caller, player: &str| {
        let mut request = scene.duel.seal_request(Seat::White, 2, cell("H8"));
        request.player = player.to_owned();
        async move { caller.matches().seal_move(request).await }
    };
    let none = Details::Metadata(&[]);
    let eve = scene.cluster.player(0, "eve").await;
    let resource = Details::Metadata(&[("resource", game)]);
    table.row("a spectator's seal", R::NotAParticipant, resource, seal(eve.clone(), "")).await;
    table.row("another's seal", R::ScopeMissing, none, seal(eve.clone(), "players/bo")).await;
    let stranger = scene.cluster.stranger(0).await;
    table.row("nobody's seal", R::TokenMissing, Details::Metadata(&[]), seal(stranger, "")).await;
    let forger = service_tests::Credential::token("forged");
    let forger = scene.cluster.caller(0, "", forger).await;
    table.row("a forger's seal", R::TokenInvalid, Details::Metadata(&[]), seal(forger, "")).await;
    let watcher = middleware::NewToken {
        scopes: vec![middleware::Scope::Watch],
        ..middleware::NewToken::for_player("players/bo")
    };
    let watcher = scene.cluster.token(&watcher, service_tests::START_MS);
    let watcher = scene.cluster.caller(0, "players/bo", watcher).await;
    let scope = Details::Metadata(&[("scope", "play")]);
    table.row("a watcher's seal", R::ScopeMissing, scope, seal(watcher, "")).await;
    let absent = "matches/01890000-0000-7000-8000-000000000000";
    let resource = Details::Metadata(&[("resource", absent)]);
    table.row("no such match", R::NotFound, resource, eve.get(absent)).await;
    table.row("a call that nobody knows", R::Unimplemented, Details::Metadata(&[]), castle(&eve)).await;
    let no_such_ticket = "tickets/casual.00000000000000000000000000000001";
    let resource = Details::Metadata(&[("resource", no_such_ticket)]);
    table.row("no such ticket", R::NotFound, resource, super::queue::get(&eve, no_such_ticket)).await;
    let mal = scene.cluster.player(0, "mal").await;
    super::back_end::ban(&scene.cluster, 0, "mal").await;
    table.row("a banned player's look", R::PlayerBanned, Details::Metadata(&[]), mal.get(game)).await;
    let invite = scene.invite(|request| request.invitee = "players/mal".to_owned());
    let player = Details::Metadata(&[("player", "players/mal")]);
    table.row("an invite to a banned player", R::PlayerBanned, player, invite).await;
}

/// A call that this server does not know.
async fn castle(caller: &Caller) -> Result<(), Status> {
    let mut client = tonic::client::Grpc::new(caller.line());
    client.ready().await.unwrap();
    let path = "/whattheshell.v1.MatchService/Castle".parse().unwrap();
    let answer = client.unary(tonic::Request::new(Vec::new()), path, super::every_rpc::Raw).await;
    answer.map(drop)
}

async fn invites(table: &mut Table<'_>) {
    use ErrorReason as R;
    let scene = table.scene;
    let field = Details::Field;
    table
        .row("no request id", R::FieldRequired, field("request_id"), scene.invite(|r| r.request_id.clear()))
        .await;
    let myself = scene.invite(|r| r.invitee = "players/bo".to_owned());
    table.row("an invite to oneself", R::FieldInvalid, field("invitee"), myself).await;
    for ttl in [seconds(59), seconds(7 * 24 * 60 * 60 + 1), seconds(-1)] {
        let call = scene.invite(|r| r.ttl = Some(ttl));
        table.row("a ttl out of range", R::FieldInvalid, field("ttl"), call).await;
    }
    let seat = scene.invite(|r| r.inviter_seat = 3);
    table.row("an unknown seat", R::FieldInvalid, field("inviter_seat"), seat).await;
    let live = scene.invite(|r| r.rematch_of.clone_from(&scene.duel.name));
    table.row("a rematch of a live match", R::FieldInvalid, field("rematch_of"), live).await;
    let token = v1::ListMatchesRequest { page_token: "1".to_owned(), ..Default::default() };
    let page = async { scene.duel.white.matches().list_matches(token).await };
    table.row("a bad page token", R::PageTokenInvalid, field("page_token"), page).await;

    let made = scene.invite(|_| {}).await.unwrap().invite.unwrap();
    let revoke = v1::RevokeInviteRequest {
        name: made.name.clone(),
        request_id: "back".to_owned(),
        ..Default::default()
    };
    scene.duel.white.matchmaking().revoke_invite(revoke.clone()).await.unwrap();
    let again = v1::RevokeInviteRequest { request_id: "again".to_owned(), ..revoke };
    let again = async { scene.duel.white.matchmaking().revoke_invite(again).await };
    table.row("a closed invite", R::InviteNotOpen, Details::Subject(&made.name, &[]), again).await;
}

async fn tickets(table: &mut Table<'_>) {
    use ErrorReason as R;
    let scene = table.scene;
    let [ada, eve] = [scene.cluster.player(0, "quin").await, scene.cluster.player(0, "eve").await];
    let ticket = queue::queue(&ada, "ranked").await;
    queue::cancel(&ada, "").await.unwrap();
    let renewal = queue::renew(&ada, &ticket.name);
    table.row("a cancelled ticket", R::TicketNotOpen, Details::Subject(&ticket.name, &[]), renewal).await;
    let duel = queue::paired(&scene.cluster, "ranked", &ada, &eve).await;
    duel.join().await;
    let held = [("match", duel.name.as_str())];
    let more = queue::create(&ada, queue::wish("casual", "more"));
    table.row("a player who plays", R::AlreadyInMatch, Details::Subject(&ada.name, &held), more).await;
}

async fn settings(table: &mut Table<'_>) {
    let scene = table.scene;
    let turn = |span| match_settings::TimeControl::TurnTime(span);
    let bank = |initial, increment| {
        let (initial, increment) = (Some(seconds(initial)), Some(seconds(increment)));
        match_settings::TimeControl::Bank(v1::BankClock { initial, increment })
    };
    let timed = |control| v1::MatchSettings { time_control: Some(control), ..Default::default() };
    let cases = [
        ("settings.turn_time", timed(turn(seconds(0)))),
        ("settings.turn_time", timed(turn(seconds(14 * 24 * 60 * 60 + 1)))),
        ("settings.turn_time", timed(turn(prost_types::Duration { seconds: 5, nanos: 1 }))),
        ("settings.bank.initial", timed(bank(9, 0))),
        ("settings.bank.increment", timed(bank(10, 24 * 60 * 60 + 1))),
        (
            "settings.seal_status",
            v1::MatchSettings { seal_status: v1::SealStatus::Hidden.into(), ..timed(bank(10, 0)) },
        ),
        ("settings.turn_limit", v1::MatchSettings { turn_limit: 501, ..Default::default() }),
        ("settings.start_time", v1::MatchSettings { start_time: Some(seconds(4)), ..Default::default() }),
        ("settings.idle_limit", v1::MatchSettings { idle_limit: Some(seconds(3600)), ..Default::default() }),
        ("settings.reveal_time", v1::MatchSettings { reveal_time: Some(seconds(5)), ..Default::default() }),
        (
            "settings.rules_version",
            v1::MatchSettings { rules_version: "chess".to_owned(), ..Default::default() },
        ),
        ("settings.mode", v1::MatchSettings { mode: 9, ..Default::default() }),
        ("settings.spectators", v1::MatchSettings { spectators: 9, ..Default::default() }),
        ("settings.seal_mode", v1::MatchSettings { seal_mode: 9, ..Default::default() }),
        ("settings.bot", v1::MatchSettings { bot: Some(v1::BotSeat::default()), ..Default::default() }),
    ];
    for (field, settings) in cases {
        let call = scene.settings(settings);
        table.row(field, ErrorReason::SettingsInvalid, Details::Field(field), call).await;
    }
}

async fn phases(table: &mut Table<'_>) {
    use ErrorReason as R;
    let scene = table.scene;
    let game = scene.duel.name.as_str();
    let reveal = v1::RevealMoveRequest {
        name: game.to_owned(),
        request_id: "reveal".to_owned(),
        turn: 2,
        open: Some(v1::OpenMove { cell: 1, salt: vec![1; 32] }),
        ..Default::default()
    };
    let reveal = async { scene.duel.white.matches().reveal_move(reveal).await };
    table.row("a reveal", R::SealModeMismatch, Details::Subject(game, &[]), reveal).await;
    let answer = v1::AnswerDrawRequest {
        name: game.to_owned(),
        request_id: "answer".to_owned(),
        turn: 2,
        seat: v1::Seat::Black.into(),
        accept: true,
        ..Default::default()
    };
    let answer = async { scene.duel.white.matches().answer_draw(answer).await };
    table
        .row("an answer to no offer", R::NoOpenOffer, Details::Subject(game, &[("turn", "2")]), answer)
        .await;

    let offer = |request_id: &str| v1::OfferDrawRequest {
        name: game.to_owned(),
        request_id: request_id.to_owned(),
        turn: 2,
        ..Default::default()
    };
    scene.duel.white.matches().offer_draw(offer("offer")).await.unwrap();
    let again = async { scene.duel.white.matches().offer_draw(offer("again")).await };
    table.row("a second offer", R::AlreadyOffered, Details::Subject(game, &[("turn", "2")]), again).await;

    let late = v1::OfferDrawRequest { turn: 1, ..offer("late") };
    let late = async { scene.duel.white.matches().offer_draw(late).await };
    let subject = Details::Subject(game, &[("turn", "1")]);
    table.row("an offer in a turn that is over", R::TurnClosed, subject, late).await;

    let waiting = Duel::agree(&scene.duel.black, &scene.duel.white, Default::default()).await;
    let early = waiting.seal(Seat::Black, 1, cell("A1"));
    table
        .row("a seal before the start", R::MatchNotStarted, Details::Subject(&waiting.name, &[]), early)
        .await;
    let over = Duel::agree(&scene.duel.black, &scene.duel.white, Default::default()).await;
    over.join().await;
    over.resign(Seat::Black).await.unwrap();
    let subject = Details::Subject(&over.name, &[]);
    table.row("a seal after the end", R::MatchFinished, subject, over.seal(Seat::White, 1, 1)).await;
    let subject = Details::Subject(&over.name, &[]);
    table.row("giving up after the end", R::MatchFinished, subject, over.resign(Seat::White)).await;
}

async fn reveals(table: &mut Table<'_>) {
    use ErrorReason as R;
    let scene = table.scene;
    let settings = v1::MatchSettings { seal_mode: v1::SealMode::CommitReveal.into(), ..Default::default() };
    let duel = Duel::agree(&scene.duel.black, &scene.duel.white, settings).await;
    duel.join().await;
    let subject = |metadata| Details::Subject(&duel.name, metadata);
    let opened = duel.seal(Seat::Black, 1, cell("A1"));
    table.row("an opening", R::SealModeMismatch, subject(&[]), opened).await;
    let commit = |seat| {
        let mut request = duel.seal_request(seat, 1, cell("A1"));
        request.r#move = Some(seal_move_request::Move::Commitment(vec![7; 32]));
        duel.send_seal(seat, request)
    };
    let reveal = |open| v1::RevealMoveRequest {
        name: duel.name.clone(),
        request_id: "reveal".to_owned(),
        turn: 1,
        open,
        ..Default::default()
    };
    let any = v1::OpenMove { cell: 1, salt: vec![1; 32] };
    commit(Seat::Black).await.unwrap();
    let early = async { duel.black.matches().reveal_move(reveal(Some(any.clone()))).await };
    table.row("an early reveal", R::NotInRevealPhase, subject(&[("turn", "1")]), early).await;
    commit(Seat::White).await.unwrap();
    let other = async { duel.black.matches().reveal_move(reveal(Some(any.clone()))).await };
    table.row("another opening", R::CommitmentMismatch, subject(&[("turn", "1")]), other).await;
    let nothing = async { duel.black.matches().reveal_move(reveal(None)).await };
    table.row("a reveal of nothing", R::FieldRequired, Details::Field("open"), nothing).await;
}

async fn faults(table: &mut Table<'_>) {
    use ErrorReason as R;
    let scene = table.scene;
    let none = || Details::Metadata(&[]);
    let faults = &scene.cluster.nodes[0].faults;
    let failing = async {
        faults.at(Operation::Commit, 1, Fault::Refused);
        scene.seal(|_| {}).await
    };
    table.row("a store that fails", R::StoreUnavailable, none(), failing).await;
    let overtaken = async {
        faults.always(Operation::Commit, Fault::Overtaken);
        let refused = scene.seal(|_| {}).await;
        faults.clear();
        refused
    };
    table.row("a race that is lost every time", R::Contended, none(), overtaken).await;
    let full = async {
        faults.at(Operation::Remember, 1, Fault::Full);
        scene.invite(|request| request.request_id = "no-room".to_owned()).await
    };
    table.row("a store without room", R::Overloaded, none(), full).await;
    let panicking = async {
        faults.at(Operation::Commit, 1, Fault::Panic);
        scene.seal(|_| {}).await
    };
    table.row("a panic", R::Internal, none(), panicking).await;
}

#[tokio::test]
async fn every_refusal_has_its_reason_and_details_and_changes_nothing() {
    let scene = Scene::new().await;
    let mut table = Table { scene: &scene, reached: HashSet::new() };
    seals(&mut table).await;
    callers(&mut table).await;
    invites(&mut table).await;
    tickets(&mut table).await;
    settings(&mut table).await;
    phases(&mut table).await;
    reveals(&mut table).await;
    faults(&mut table).await;

    // After all of that the turn still goes on as if nothing had been.
    scene.duel.seal(Seat::White, 2, cell("H8")).await.unwrap();
    assert_eq!(scene.duel.seen_by(Seat::White).await.turn, 2);

    let missing: Vec<_> = error_rows()
        .map(|row| row.reason)
        .filter(|reason| !table.reached.contains(reason) && !ELSEWHERE.contains(reason))
        .collect();
    assert_eq!(missing, [], "no test reaches these reasons");
}
