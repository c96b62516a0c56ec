//! Tickets: one a player, found again, renewed or gone, cancelled for good, and matched once.

use service_tests::{Caller, Cluster, reason, seconds};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, ErrorReason, TicketState};

use super::queue::{
    cancel, cancel_as, create, get, half_minute, matched, paired, queue, renew, turns_of, until, wish,
};

/// Ada and bo at the first node, eve at the last.
async fn people(cluster: &Cluster) -> [Caller; 3] {
    let last = cluster.nodes.len() - 1;
    [cluster.player(0, "ada").await, cluster.player(0, "bo").await, cluster.player(last, "eve").await]
}

fn refused(status: &Status) -> (ErrorReason, String) {
    let error = ApiError::from_status(status).unwrap();
    let field = error.fields().first().map(|field| field.field.clone()).unwrap_or_default();
    (error.reason(), field)
}

#[tokio::test]
async fn two_who_queue_are_given_one_match_that_they_can_play() {
    let cluster = Cluster::of_two().await;
    let [ada, _, eve] = people(&cluster).await;
    let ticket = queue(&ada, "casual").await;
    assert_eq!(
        (ticket.state(), ticket.pool.as_str(), &ticket.player),
        (TicketState::Waiting, "casual", &ada.name)
    );
    assert!(ticket.lease_expire_time.is_some() && ticket.create_time.is_some());
    assert_eq!((ticket.rating, &ticket.time_controls), (1500.0, &vec![half_minute()]));
    let duel = paired(&cluster, "casual", &ada, &eve).await;
    duel.join().await;
    duel.play(1, "A1", "I9").await;
    assert_eq!(duel.seen_by(rules::Seat::Black).await.turn, 1);
}

/// C1: a double tap.
#[tokio::test]
async fn who_queues_again_has_the_same_ticket_whatever_node_and_pool_he_asks() {
    let cluster = Cluster::of_two().await;
    let [ada, ..] = people(&cluster).await;
    let elsewhere = ada.through(cluster.nodes[1].address).await;
    let first = queue(&ada, "casual").await;
    for (caller, pool) in [(&elsewhere, "casual"), (&elsewhere, "ranked"), (&ada, "ranked")] {
        assert_eq!(queue(caller, pool).await.name, first.name, "{pool}");
    }
    let mut others = Vec::new();
    for _ in 0..8 {
        others.push(tokio::spawn({
            let ada = elsewhere.clone();
            async move { queue(&ada, "casual").await.name }
        }));
    }
    for other in others {
        assert_eq!(other.await.unwrap(), first.name);
    }
    cluster.advance_ms(500).await;
    assert_eq!(get(&ada, &first.name).await.unwrap().state(), TicketState::Waiting, "nobody meets himself");
}

#[tokio::test]
async fn of_many_first_calls_at_once_all_get_one_ticket() {
    let cluster = Cluster::of_two().await;
    let [ada, ..] = people(&cluster).await;
    let elsewhere = ada.through(cluster.nodes[1].address).await;
    let calls = (0..16).map(|number| {
        let caller = if number % 2 == 0 { ada.clone() } else { elsewhere.clone() };
        tokio::spawn(async move { queue(&caller, "casual").await.name })
    });
    let mut names = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        names.push(call.await.unwrap());
    }
    names.dedup();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[tokio::test]
async fn the_same_request_has_the_same_answer_and_another_under_its_id_is_refused() {
    let cluster = Cluster::of_two().await;
    let [ada, ..] = people(&cluster).await;
    let elsewhere = ada.through(cluster.nodes[1].address).await;
    let first = create(&ada, wish("casual", "one")).await.unwrap();
    assert_eq!(create(&elsewhere, wish("casual", "one")).await.unwrap().name, first.name);
    let other = v1::CreateTicketRequest { time_controls: vec![turns_of(10)], ..wish("casual", "one") };
    assert_eq!(reason(&create(&ada, other).await.unwrap_err()), ErrorReason::RequestIdReused);
    cancel(&ada, &first.name).await.unwrap();
    // A repetition that comes late brings nothing back.
    let late = create(&elsewhere, wish("casual", "one")).await.unwrap();
    assert_eq!((&late.name, late.state()), (&first.name, TicketState::Cancelled));
    cluster.advance_ms(500).await;
    assert_eq!(cancel(&ada, "").await.unwrap(), None, "he waits no more");
}

/// C7: ghosts in the queue.
#[tokio::test]
async fn a_lease_that_nobody_renews_runs_out_and_such_a_ticket_is_never_matched() {
    let cluster = Cluster::of_one().await;
    let [ada, bo, eve] = people(&cluster).await;
    let ghost = queue(&ada, "casual").await;
    cluster.advance_ms(15_000).await;
    let renewed = renew(&ada, &ghost.name).await.unwrap();
    assert!(renewed.lease_expire_time.unwrap().seconds > ghost.lease_expire_time.unwrap().seconds);
    assert_eq!(renewed.create_time, ghost.create_time, "his age stays");
    cluster.advance_ms(20_000).await;
    assert_eq!(get(&ada, &ghost.name).await.unwrap().state(), TicketState::Waiting, "the lease is inclusive");
    cluster.advance_ms(1).await;
    let gone = get(&ada, &ghost.name).await.unwrap();
    assert_eq!((gone.state(), gone.lease_expire_time), (TicketState::Expired, None));
    let other = queue(&bo, "casual").await;
    cluster.advance_ms(1_000).await;
    assert_eq!(get(&bo, &other.name).await.unwrap().state(), TicketState::Waiting);
    let too_late = renew(&ada, &ghost.name).await.unwrap_err();
    assert_eq!(reason(&too_late), ErrorReason::TicketNotOpen);
    // It holds nobody back.
    let again = queue(&ada, "casual").await;
    assert_ne!(again.name, ghost.name);
    assert_eq!(matched(&cluster, &ada, &again).await.state(), TicketState::Matched);
    assert_eq!(queue(&eve, "casual").await.state(), TicketState::Waiting);
}

/// C5: a cancel that is confirmed means no match.
#[tokio::test]
async fn who_has_cancelled_gets_no_match_and_can_queue_again() {
    let cluster = Cluster::of_one().await;
    let [ada, bo, _] = people(&cluster).await;
    let first = queue(&ada, "casual").await;
    for _ in 0..2 {
        let cancelled = cancel(&ada, &first.name).await.unwrap().unwrap();
        assert_eq!(cancelled.state(), TicketState::Cancelled);
    }
    let other = queue(&bo, "casual").await;
    cluster.advance_ms(1_000).await;
    assert_eq!(get(&bo, &other.name).await.unwrap().state(), TicketState::Waiting);
    let again = queue(&ada, "casual").await;
    assert_ne!(again.name, first.name);
    let found = matched(&cluster, &ada, &again).await;
    let refusal = cancel(&ada, &again.name).await.unwrap_err();
    let error = ApiError::from_status(&refusal).unwrap();
    assert_eq!(error.reason(), ErrorReason::TicketNotOpen);
    assert_eq!(error.metadata("match"), Some(found.r#match.as_str()));
    assert_eq!(reason(&cancel(&ada, "").await.unwrap_err()), ErrorReason::TicketNotOpen);
}

/// C10: a lost ticket id.
#[tokio::test]
async fn who_has_lost_his_ticket_cancels_by_player() {
    let cluster = Cluster::of_two().await;
    let [ada, ..] = people(&cluster).await;
    let lost = queue(&ada, "ranked").await;
    let elsewhere = ada.through(cluster.nodes[1].address).await;
    let cancelled = cancel_as(&elsewhere, "", "lost").await.unwrap().unwrap();
    assert_eq!((&cancelled.name, cancelled.state()), (&lost.name, TicketState::Cancelled));
    // Again: the same, and no newer ticket.
    let newer = queue(&ada, "casual").await;
    assert_eq!(cancel_as(&ada, "", "lost").await.unwrap().unwrap().name, cancelled.name);
    assert_eq!(get(&ada, &newer.name).await.unwrap().state(), TicketState::Waiting);
}

/// C11: back ends queue for their players.
#[tokio::test]
async fn a_back_end_queues_cancels_and_asks_for_its_players() {
    let cluster = Cluster::of_one().await;
    let [ada, bo, _] = people(&cluster).await;
    let backend = cluster.backend(0).await;
    let of_ada = v1::CreateTicketRequest {
        player: ada.name.clone(),
        rating: Some(2_000.5),
        ..wish("casual", "for-ada")
    };
    let ticket = create(&backend, of_ada.clone()).await.unwrap();
    assert_eq!((&ticket.player, ticket.rating), (&ada.name, 2_000.5));
    assert_eq!(get(&backend, &ticket.name).await.unwrap().name, ticket.name);
    assert_eq!(get(&ada, &ticket.name).await.unwrap().name, ticket.name);
    let stranger = get(&bo, &ticket.name).await.unwrap_err();
    assert_eq!(reason(&stranger), ErrorReason::NotFound, "it is not bo's to see");
    assert_eq!(reason(&cancel(&bo, &ticket.name).await.unwrap_err()), ErrorReason::NotFound);
    let request = v1::CancelTicketRequest {
        player: ada.name.clone(),
        request_id: "stop".to_owned(),
        ..Default::default()
    };
    let cancelled = backend.matchmaking().cancel_ticket(request).await.unwrap().into_inner().ticket.unwrap();
    assert_eq!((&cancelled.name, cancelled.state()), (&ticket.name, TicketState::Cancelled));
    let nobody = create(&backend, wish("casual", "nobody")).await.unwrap_err();
    assert_eq!(refused(&nobody), (ErrorReason::FieldRequired, "player".to_owned()));
    let bot = v1::CreateTicketRequest { player: "players/bot-3".to_owned(), ..of_ada };
    assert_eq!(
        refused(&create(&backend, bot).await.unwrap_err()),
        (ErrorReason::FieldInvalid, "player".to_owned())
    );
}

/// C12: windows that grow into each other.
#[tokio::test]
async fn two_whose_windows_grow_into_each_other_are_paired_then() {
    let cluster = Cluster::of_one().await;
    let backend = cluster.backend(0).await;
    let rated = |player: &str, rating| v1::CreateTicketRequest {
        player: format!("players/{player}"),
        rating: Some(rating),
        ..wish("casual", player)
    };
    let weak = create(&backend, rated("ada", 1_500.0)).await.unwrap();
    let strong = create(&backend, rated("bo", 1_700.0)).await.unwrap();
    // Of settled ratings 125 points at first, and 10 more a second: 75 are missing.
    cluster.advance_ms(7_000).await;
    assert_eq!(get(&backend, &weak.name).await.unwrap().state(), TicketState::Waiting);
    cluster.advance_ms(600).await;
    let found = matched(&cluster, &backend, &weak).await;
    assert_eq!(found.r#match, matched(&cluster, &backend, &strong).await.r#match);
}

/// C13: one search for several time controls.
#[tokio::test]
async fn of_overlapping_wishes_the_one_who_waits_longest_likes_best_is_played() {
    let cluster = Cluster::of_one().await;
    let [ada, bo, eve] = people(&cluster).await;
    let times = |request_id: &str, times: &[i64]| v1::CreateTicketRequest {
        time_controls: times.iter().map(|seconds| turns_of(*seconds)).collect(),
        ..wish("casual", request_id)
    };
    let day = 24 * 60 * 60;
    let first = create(&ada, times("ada", &[day, 30])).await.unwrap();
    cluster.advance_ms(100).await;
    let other = create(&eve, times("eve", &[10])).await.unwrap();
    cluster.advance_ms(1_000).await;
    let second = create(&bo, times("bo", &[10, 30, day])).await.unwrap();
    // Eve and bo have ten seconds in common too, but ada has waited longest.
    let found = matched(&cluster, &ada, &first).await;
    assert_eq!(matched(&cluster, &bo, &second).await.r#match, found.r#match);
    assert_eq!(get(&eve, &other.name).await.unwrap().state(), TicketState::Waiting);
    let settings = ada.get(&found.r#match).await.unwrap().settings.unwrap();
    let turn_time = v1::match_settings::TimeControl::TurnTime(seconds(day));
    assert_eq!(settings.time_control, Some(turn_time));
}

#[tokio::test]
async fn who_is_excluded_is_never_met_and_whom_one_met_last_only_after_a_while() {
    let cluster = Cluster::of_one().await;
    let [ada, bo, eve] = people(&cluster).await;
    let without_eve =
        v1::CreateTicketRequest { excluded_players: vec![eve.name.clone()], ..wish("casual", "a") };
    let first = create(&ada, without_eve).await.unwrap();
    let second = queue(&eve, "casual").await;
    for _ in 0..9 {
        cluster.advance_ms(10_000).await;
        renew(&ada, &first.name).await.unwrap();
        renew(&eve, &second.name).await.unwrap();
    }
    assert_eq!(get(&ada, &first.name).await.unwrap().state(), TicketState::Waiting, "nothing relaxes it");
    cancel(&eve, &second.name).await.unwrap();
    let third = queue(&bo, "casual").await;
    let found = matched(&cluster, &ada, &first).await;
    assert_eq!(found.r#match, matched(&cluster, &bo, &third).await.r#match);
}

#[tokio::test]
async fn a_request_that_cannot_be_had_is_refused_by_its_field() {
    let cluster = Cluster::of_one().await;
    let [ada, ..] = people(&cluster).await;
    let good = wish("casual", "fields");
    let bot = |after, level| {
        let after = Some(seconds(after));
        Some(v1::BotFallback { after, level })
    };
    for (request, field) in [
        (v1::CreateTicketRequest { pool: String::new(), ..good.clone() }, "pool"),
        (v1::CreateTicketRequest { pool: "no-such-pool".to_owned(), ..good.clone() }, "pool"),
        (v1::CreateTicketRequest { pool: "no such pool".to_owned(), ..good.clone() }, "pool"),
        (v1::CreateTicketRequest { time_controls: Vec::new(), ..good.clone() }, "time_controls"),
        (v1::CreateTicketRequest { time_controls: vec![turns_of(11)], ..good.clone() }, "time_controls[0]"),
        (
            v1::CreateTicketRequest {
                time_controls: vec![half_minute(), v1::TimeControl::default()],
                ..good.clone()
            },
            "time_controls[1]",
        ),
        (v1::CreateTicketRequest { time_controls: vec![half_minute(); 2], ..good.clone() }, "time_controls"),
        (v1::CreateTicketRequest { time_controls: vec![half_minute(); 9], ..good.clone() }, "time_controls"),
        (v1::CreateTicketRequest { rating: Some(1_500.0), ..good.clone() }, "rating"),
        (
            v1::CreateTicketRequest { excluded_players: vec!["eve".to_owned()], ..good.clone() },
            "excluded_players[0]",
        ),
        (
            v1::CreateTicketRequest { excluded_players: vec!["players/eve".to_owned(); 65], ..good.clone() },
            "excluded_players",
        ),
        (v1::CreateTicketRequest { bot_fallback: bot(0, 1), ..good.clone() }, "bot_fallback.after"),
        (v1::CreateTicketRequest { bot_fallback: bot(601, 1), ..good.clone() }, "bot_fallback.after"),
        (v1::CreateTicketRequest { bot_fallback: bot(5, 0), ..good.clone() }, "bot_fallback.level"),
        (v1::CreateTicketRequest { bot_fallback: bot(5, 8), ..good.clone() }, "bot_fallback.level"),
        (v1::CreateTicketRequest { public_key: vec![1; 31], ..good.clone() }, "public_key"),
        (v1::CreateTicketRequest { request_id: String::new(), ..good.clone() }, "request_id"),
    ] {
        let status = create(&ada, request).await.unwrap_err();
        assert_eq!(refused(&status).1, field, "{status:?}");
    }
    assert_eq!(cancel(&ada, "").await.unwrap(), None, "none of them changed anything");
    let backend = cluster.backend(0).await;
    for rating in [-0.1, 5_000.1, f64::NAN, f64::INFINITY] {
        let request =
            v1::CreateTicketRequest { rating: Some(rating), player: ada.name.clone(), ..good.clone() };
        assert_eq!(refused(&create(&backend, request).await.unwrap_err()).1, "rating");
    }
    for name in ["tickets/casual.00", "tickets/casual", "tickets/x.0123456789abcdef0123456789abcdef"] {
        assert_eq!(reason(&get(&ada, name).await.unwrap_err()), ErrorReason::NotFound, "{name}");
    }
}

#[tokio::test]
async fn a_waiting_ticket_says_how_long_others_have_waited() {
    let cluster = Cluster::of_one().await;
    let [ada, bo, eve] = people(&cluster).await;
    let first = queue(&ada, "casual").await;
    assert_eq!(first.estimated_wait, None, "nobody knows yet");
    cluster.advance_ms(4_000).await;
    let second = queue(&bo, "casual").await;
    matched(&cluster, &bo, &second).await;
    let third = queue(&eve, "casual").await;
    let estimate = third.estimated_wait.unwrap();
    assert!(estimate.seconds < 5, "between none and four seconds, and some: {estimate:?}");
}

#[tokio::test]
async fn an_ended_ticket_is_forgotten_after_a_while_and_a_late_repetition_makes_no_other() {
    let cluster = Cluster::of_one().await;
    let [ada, ..] = people(&cluster).await;
    let old = create(&ada, wish("casual", "once")).await.unwrap();
    cancel(&ada, &old.name).await.unwrap();
    cluster.advance_ms(601_000).await;
    until_gone(&cluster, &ada, &old.name).await;
    let late = create(&ada, wish("casual", "once")).await.unwrap_err();
    assert_eq!(reason(&late), ErrorReason::TicketNotOpen);
    assert_eq!(cancel(&ada, "").await.unwrap(), None);
}

async fn until_gone(cluster: &Cluster, caller: &Caller, name: &str) {
    while get(caller, name).await.is_ok() {
        cluster.advance_ms(100).await;
    }
}

/// C3 and C4: a match holds its players until it is over.
#[tokio::test]
async fn nobody_queues_while_he_plays_a_ranked_match_and_anybody_may_during_a_casual_one() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, eve] = people(&cluster).await;
    let duel = paired(&cluster, "ranked", &ada, &eve).await;
    let waits = queue(&ada, "casual").await;
    assert_eq!(
        (waits.state(), &waits.r#match),
        (TicketState::Matched, &duel.name),
        "his match waits for him"
    );
    duel.join().await;
    let refusal = create(&ada, wish("casual", "more")).await.unwrap_err();
    let error = ApiError::from_status(&refusal).unwrap();
    assert_eq!(error.reason(), ErrorReason::AlreadyInMatch);
    assert_eq!(error.metadata("match"), Some(duel.name.as_str()));
    duel.resign(rules::Seat::White).await.unwrap();
    assert_eq!(queue(&ada, "casual").await.state(), TicketState::Waiting, "at once, whoever tidies up");
    let casual = paired(&cluster, "casual", &bo, &ada).await;
    casual.join().await;
    let waits = queue(&bo, "ranked").await;
    assert_eq!(waits.state(), TicketState::Waiting);
    until(&cluster, &bo, &waits.name, |ticket| ticket.state() == TicketState::Waiting).await;
}
