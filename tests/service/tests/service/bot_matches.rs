//! Matches against bots: their seal opens the turn, and a waiting player may be given one.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Operation, cell, reason, seconds, soon};
use store::Clock as _;
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, BotLevel, ErrorReason, MatchMode, MatchState, TicketState};

use super::queue::{create, matched, queue, wish};

fn asks(level: BotLevel) -> v1::CreateBotMatchRequest {
    v1::CreateBotMatchRequest {
        request_id: "a-bot".to_owned(),
        level: level.into(),
        seat: v1::Seat::Black.into(),
        ..Default::default()
    }
}

async fn against_bot(caller: &Caller, request: v1::CreateBotMatchRequest) -> Result<v1::Match, Status> {
    let response = soon("CreateBotMatch", caller.matchmaking().create_bot_match(request)).await?;
    Ok(response.into_inner().r#match.unwrap())
}

/// The match against a bot that ada plays black in; she has joined.
async fn joined(cluster: &Cluster, level: BotLevel) -> Duel {
    let ada = cluster.player(0, "ada").await;
    let game = against_bot(&ada, asks(level)).await.unwrap();
    let duel = Duel { name: game.name, black: ada.clone(), white: ada };
    duel.join_as(Seat::Black).await.unwrap();
    duel
}

/// Waits until this turn is open: the bot has sealed.
async fn open(cluster: &Cluster, duel: &Duel, turn: u32) -> v1::Match {
    cluster.stored(&duel.name, |game| game.open_turn().is_some_and(|open| open.turn == turn)).await;
    duel.seen_by(Seat::Black).await
}

#[tokio::test]
async fn a_bot_has_joined_and_its_commitment_shows_before_the_player_moves() {
    let cluster = Cluster::of_two().await;
    let duel = joined(&cluster, BotLevel::BotLevel2).await;
    let game = open(&cluster, &duel, 1).await;
    let bot = game.white.as_ref().unwrap();
    assert_eq!(
        (bot.player.as_str(), bot.joined, bot.bot_level()),
        ("players/bot-2", true, BotLevel::BotLevel2)
    );
    assert_eq!(game.settings.as_ref().unwrap().mode(), MatchMode::Casual);
    let status = game.status.unwrap();
    let side = status.white.unwrap();
    assert_eq!(side.sealed, Some(true));
    let commitment = side.commitment.unwrap();
    // A row takes five.
    for turn in 1..=4 {
        open(&cluster, &duel, turn).await;
        let board = duel.seen_by(Seat::Black).await.position.unwrap().cells;
        let empty = u32::try_from(board.find('.').unwrap()).unwrap() + 1;
        duel.seal(Seat::Black, turn, empty).await.unwrap();
    }
    let transcript = duel.black.transcript(&duel.name).await.unwrap();
    assert_eq!(transcript.turns[0].white.as_ref().unwrap().commitment, commitment, "it was fixed before");
}

#[tokio::test]
async fn the_players_clock_runs_from_the_bots_seal_on_and_a_seal_before_it_is_too_early() {
    let cluster = Cluster::of_one().await;
    let held = cluster.nodes[0].faults.hold(Operation::Commit);
    let ada = cluster.player(0, "ada").await;
    let game = against_bot(&ada, asks(BotLevel::BotLevel1)).await.unwrap();
    let duel = Duel { name: game.name, black: ada.clone(), white: ada };
    // The join is the first commit; the bot's seal the second, which is kept waiting.
    let (joined, late) = tokio::join!(duel.join_as(Seat::Black), async {
        held.reached().await;
        let late = cluster.nodes[0].faults.hold(Operation::Commit);
        held.open();
        late
    });
    joined.unwrap();
    late.reached().await;
    let waiting = duel.seen_by(Seat::Black).await;
    assert_eq!((waiting.state(), waiting.status.unwrap().turn), (MatchState::BotDue, 0));
    let early = duel.seal(Seat::Black, 1, cell("E5")).await.unwrap_err();
    assert_eq!(reason(&early), ErrorReason::TurnNotOpenYet);
    cluster.advance_ms(120_000).await;
    assert_eq!(duel.seen_by(Seat::Black).await.state(), MatchState::BotDue, "nobody flags while it is late");
    late.open();
    let now = open(&cluster, &duel, 1).await;
    let deadline = now.status.unwrap().black.unwrap().deadline.unwrap();
    assert!(u64::try_from(deadline.seconds * 1_000).unwrap() >= cluster.clock.now_ms() + 29_000);
    duel.seal(Seat::Black, 1, cell("E5")).await.unwrap();
}

#[tokio::test]
async fn a_bot_whose_node_fails_moves_later() {
    for operation in [Operation::Load, Operation::Commit] {
        let cluster = Cluster::of_one().await;
        let duel = joined(&cluster, BotLevel::BotLevel0).await;
        open(&cluster, &duel, 1).await;
        // The seal that resolves the turn is the next commit; the bot's comes after it.
        let nth = if operation == Operation::Commit { 2 } else { 1 };
        cluster.nodes[0].faults.at(operation, nth, Fault::Refused);
        let _ = duel.seal(Seat::Black, 1, cell("E5")).await;
        let moving = async {
            loop {
                let game = duel.seen_by(Seat::Black).await;
                if game.status.unwrap().turn == 2 {
                    break;
                }
                let _ = duel.seal(Seat::Black, 1, cell("E5")).await;
                cluster.advance_ms(200).await;
            }
        };
        soon("the bot's move", moving).await;
    }
}

#[tokio::test]
async fn the_same_request_makes_one_match_and_what_cannot_be_had_is_refused() {
    let cluster = Cluster::of_two().await;
    let ada = cluster.player(0, "ada").await;
    let first = against_bot(&ada, asks(BotLevel::BotLevel3)).await.unwrap();
    let elsewhere = ada.through(cluster.nodes[1].address).await;
    assert_eq!(against_bot(&elsewhere, asks(BotLevel::BotLevel3)).await.unwrap().name, first.name);
    let other = against_bot(&ada, asks(BotLevel::BotLevel4)).await.unwrap_err();
    assert_eq!(reason(&other), ErrorReason::RequestIdReused);
    let settings = |settings| v1::CreateBotMatchRequest {
        settings: Some(settings),
        request_id: "settings".to_owned(),
        ..asks(BotLevel::BotLevel1)
    };
    for (request, field) in [
        (asks(BotLevel::Unspecified), "level"),
        (v1::CreateBotMatchRequest { level: 99, ..asks(BotLevel::BotLevel1) }, "level"),
        (
            settings(v1::MatchSettings { mode: MatchMode::Ranked.into(), ..Default::default() }),
            "settings.mode",
        ),
        (
            settings(v1::MatchSettings { seal_status: v1::SealStatus::Hidden.into(), ..Default::default() }),
            "settings.seal_status",
        ),
    ] {
        let status = against_bot(&ada, request).await.unwrap_err();
        let error = ApiError::from_status(&status).unwrap();
        assert_eq!(error.fields()[0].field, field);
    }
    let backend = cluster.backend(0).await;
    let as_bot = v1::JoinMatchRequest {
        name: first.name.clone(),
        player: "players/bot-3".to_owned(),
        request_id: "join".to_owned(),
    };
    let refused = backend.matches().join_match(as_bot).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::FieldInvalid, "nobody acts for a bot");
}

#[tokio::test]
async fn a_bot_reveals_what_it_committed_to() {
    let cluster = Cluster::of_one().await;
    let ada = cluster.player(0, "ada").await;
    let settings = v1::MatchSettings { seal_mode: v1::SealMode::CommitReveal.into(), ..Default::default() };
    let request = v1::CreateBotMatchRequest { settings: Some(settings), ..asks(BotLevel::BotLevel1) };
    let game = against_bot(&ada, request).await.unwrap();
    let duel = Duel { name: game.name, black: ada.clone(), white: ada };
    duel.join_as(Seat::Black).await.unwrap();
    open(&cluster, &duel, 1).await;
    assert_eq!(duel.seen_by(Seat::Black).await.state(), MatchState::Open);
}

/// C11's other half: where nobody is there, an opponent worth playing is, for who wants one.
#[tokio::test]
async fn who_has_waited_as_long_as_he_wanted_is_given_a_bot_and_nobody_else_is() {
    let cluster = Cluster::of_two().await;
    let (ada, eve) = (cluster.player(0, "ada").await, cluster.player(1, "eve").await);
    let bot_fallback = Some(v1::BotFallback { after: Some(seconds(5)), level: BotLevel::BotLevel4.into() });
    let first =
        create(&ada, v1::CreateTicketRequest { bot_fallback, ..wish("ranked", "ada") }).await.unwrap();
    cluster.advance_ms(4_800).await;
    assert_eq!(super::queue::get(&ada, &first.name).await.unwrap().state(), TicketState::Waiting);
    let found = matched(&cluster, &ada, &first).await;
    let game = ada.get(&found.r#match).await.unwrap();
    let settings = game.settings.unwrap();
    let bot = settings.bot.unwrap();
    assert_eq!((settings.mode(), bot.level()), (MatchMode::Casual, BotLevel::BotLevel4));
    let seats = [game.black.unwrap(), game.white.unwrap()];
    let marked: Vec<_> = seats.iter().filter(|seat| seat.bot_level() == BotLevel::BotLevel4).collect();
    assert_eq!(marked.len(), 1, "it is marked as a bot");
    let second = queue(&eve, "ranked").await;
    cluster.advance_ms(10_000).await;
    assert_eq!(super::queue::get(&eve, &second.name).await.unwrap().state(), TicketState::Waiting);
    // A person comes first.
    let bo = cluster.player(0, "bo").await;
    let third = create(&bo, v1::CreateTicketRequest { bot_fallback, ..wish("ranked", "bo") }).await.unwrap();
    let found = matched(&cluster, &bo, &third).await;
    assert_eq!(found.r#match, matched(&cluster, &eve, &second).await.r#match);
}
