//! A banned player: every call of his is refused, his streams end, and nothing brings him into a match.

use middleware::{Access, Door, NewToken, Rpc, Scope};
use rules::Seat;
use service_tests::{Caller, Cluster, Duel, START_MS, cell, reason, seconds, soon, stamp};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, BotLevel, ErrorReason, TicketState};

use super::back_end::{ban, ban_of, ban_with, fresh_id, is_banned, unban, unban_with};
use super::every_rpc::{self, Subject};
use super::queue::{self, create, get, matched, next, until, watch, wish};

async fn lists(caller: &Caller) -> Result<v1::ListMatchesResponse, Status> {
    let request = v1::ListMatchesRequest::default();
    Ok(soon("ListMatches", caller.matches().list_matches(request)).await?.into_inner())
}

/// Moves time on until another node knows of a ban, or of its end.
async fn until_known(cluster: &Cluster, caller: &Caller, banned: bool) {
    soon("the list of another node", async {
        while lists(caller).await.is_err() != banned {
            cluster.advance_ms(100).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_ban_refuses_every_call_of_a_token_and_no_call_of_anybody_else() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    duel.seal(Seat::Black, 1, cell("A1")).await.unwrap();
    let subject = Subject { game: duel.name.clone(), invite: String::new(), player: String::new(), turn: 1 };
    ban(&cluster, 0, "ada").await;
    let watcher = NewToken { scopes: vec![Scope::Watch], ..NewToken::for_player("players/ada") };
    let watcher = cluster.caller(0, "players/ada", cluster.token(&watcher, START_MS)).await;
    for rpc in Rpc::all().iter().filter(|rpc| rpc.is_at(Door::Public)) {
        for ada in [&duel.black, &watcher] {
            let answer = every_rpc::call(ada, rpc, &subject).await;
            let found = ApiError::from_status(&answer.status).map(|error| error.reason());
            let is_refused = found == Some(ErrorReason::PlayerBanned);
            assert_eq!(is_refused, rpc.access != Access::Anyone, "{}: {found:?}", rpc.method);
        }
        let answer = every_rpc::call(&duel.white, rpc, &subject).await;
        let found = ApiError::from_status(&answer.status).map(|error| error.reason());
        assert_ne!(found, Some(ErrorReason::PlayerBanned), "{}", rpc.method);
    }
}

#[tokio::test]
async fn his_streams_end_with_the_ban_and_nobody_elses_do() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let far = duel.black.through(cluster.nodes[1].address).await;
    let near = (duel.black.watch(&duel.name).await.unwrap(), duel.black.watch_home().await.unwrap());
    let (mut game, mut home) = near;
    let mut far_home = far.watch_home().await.unwrap();
    let mut other = duel.white.watch(&duel.name).await.unwrap();
    game.status(|_| true).await;
    home.state(|_| true).await;
    far_home.state(|_| true).await;
    ban(&cluster, 0, "ada").await;
    // On the node that was told, without any time that passes.
    let end = ApiError::from_status(&game.rest().await.1.unwrap_err()).unwrap();
    assert_eq!((end.reason(), end.after_turn()), (ErrorReason::PlayerBanned, Some(0)));
    assert_eq!(reason(&home.rest().await.1), ErrorReason::PlayerBanned);
    until_known(&cluster, &far, true).await;
    assert_eq!(reason(&far_home.rest().await.1), ErrorReason::PlayerBanned);
    duel.seal(Seat::White, 1, cell("A1")).await.unwrap();
    other.status(|status| status.own_seal.is_some()).await;
}

#[tokio::test]
async fn nothing_brings_a_banned_player_into_a_match_whoever_acts_for_him() {
    let cluster = Cluster::of_one().await;
    let (backend, bo) = (cluster.backend(0).await, cluster.player(0, "bo").await);
    let ada = cluster.player(0, "ada").await;
    let agreed = Duel::agree(&ada, &bo, v1::MatchSettings::default()).await;
    let open = |invitee: &str| v1::CreateInviteRequest {
        request_id: fresh_id(),
        invitee: invitee.to_owned(),
        ..Default::default()
    };
    let invite = async |caller: &Caller, request| {
        let made = soon("CreateInvite", caller.matchmaking().create_invite(request)).await;
        made.map(|made| made.into_inner().invite.unwrap().name)
    };
    let (from, to) =
        (invite(&ada, open("players/bo")).await.unwrap(), invite(&bo, open("players/ada")).await.unwrap());
    ban(&cluster, 0, "ada").await;

    let player = || "players/ada".to_owned();
    let ticket = v1::CreateTicketRequest { player: player(), ..wish("casual", "queue") };
    is_banned(&create(&backend, ticket).await.unwrap_err(), "ada");
    let by = v1::CreateInviteRequest { player: player(), ..open("") };
    is_banned(&invite(&backend, by).await.unwrap_err(), "ada");
    is_banned(&invite(&bo, open("players/ada")).await.unwrap_err(), "ada");
    let accept = |name: &str, player: &str| v1::AcceptInviteRequest {
        name: name.to_owned(),
        player: player.to_owned(),
        request_id: fresh_id(),
        ..Default::default()
    };
    for (caller, request) in [(&bo, accept(&from, "")), (&backend, accept(&to, "players/ada"))] {
        let refused = soon("AcceptInvite", caller.matchmaking().accept_invite(request)).await;
        is_banned(&refused.unwrap_err(), "ada");
    }
    let level = BotLevel::BotLevel0.into();
    let bot =
        v1::CreateBotMatchRequest { player: player(), request_id: fresh_id(), level, ..Default::default() };
    is_banned(&soon("CreateBotMatch", backend.matchmaking().create_bot_match(bot)).await.unwrap_err(), "ada");
    let join = v1::JoinMatchRequest { name: agreed.name, player: player(), request_id: fresh_id() };
    is_banned(&soon("JoinMatch", backend.matches().join_match(join)).await.unwrap_err(), "ada");
    let mint = v1::MintPlayerTokenRequest { player: player(), ..Default::default() };
    is_banned(&soon("MintPlayerToken", backend.players().mint_player_token(mint)).await.unwrap_err(), "ada");
}

#[tokio::test]
async fn a_ban_cancels_a_waiting_ticket_also_on_another_node_and_nobody_meets_him() {
    let cluster = Cluster::of_two().await;
    let backend = cluster.backend(1).await;
    let (ada, bo) = (cluster.player(1, "ada").await, cluster.player(0, "bo").await);
    let ticket = queue::queue(&ada, "casual").await;
    let mut stream = watch(&ada, &ticket.name).await.unwrap();
    assert_eq!(next(&mut stream).await.unwrap().unwrap().state(), TicketState::Waiting);
    ban(&cluster, 0, "ada").await;
    assert_eq!(get(&backend, &ticket.name).await.unwrap().state(), TicketState::Cancelled);
    let other = queue::queue(&bo, "casual").await;
    cluster.advance_ms(15_000).await;
    assert_eq!(get(&bo, &other.name).await.unwrap().state(), TicketState::Waiting);
    // Not even if a back end renews what was cancelled.
    let renew = v1::RenewTicketRequest {
        name: ticket.name.clone(),
        player: "players/ada".to_owned(),
        request_id: fresh_id(),
    };
    is_banned(&soon("RenewTicket", backend.matchmaking().renew_ticket(renew)).await.unwrap_err(), "ada");
    unban(&cluster, 0, "ada").await;
    until_known(&cluster, &ada, false).await;
    queue::queue(&ada, "casual").await;
    matched(&cluster, &bo, &other).await;
}

/// A ticket that another node stores just as its player is banned is cancelled when that node hears of the ban.
#[tokio::test]
async fn a_ticket_that_was_made_before_its_node_heard_of_the_ban_is_cancelled() {
    let cluster = Cluster::of_two().await;
    let backend = cluster.backend(1).await;
    ban(&cluster, 0, "ada").await;
    let made =
        create(&backend, v1::CreateTicketRequest { player: "players/ada".to_owned(), ..wish("casual", "q") })
            .await;
    // The other node may have heard of it already: its list is read all the time.
    let Ok(ticket) = made else { return };
    until(&cluster, &backend, &ticket.name, |ticket| ticket.state() == TicketState::Cancelled).await;
}

#[tokio::test]
async fn who_was_banned_after_he_was_found_an_opponent_cannot_join_and_the_other_one_waits_again() {
    let cluster = Cluster::of_one().await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let duel = queue::paired(&cluster, "ranked", &ada, &bo).await;
    let backend = cluster.backend(0).await;
    let ticket_of = async |id: &str| {
        let request = v1::WatchPlayerRequest { player: format!("players/{id}") };
        backend.watch_home_with(request).await.unwrap().state(|_| true).await.ticket
    };
    let seat = if duel.black.name == "players/ada" { Seat::White } else { Seat::Black };
    duel.join_as(seat).await.unwrap();
    ban(&cluster, 0, "ada").await;
    assert_eq!(reason(&duel.join_as(seat.opponent()).await.unwrap_err()), ErrorReason::PlayerBanned);
    cluster.ended(&duel.name).await;
    cluster.settled(&duel.name).await;
    assert_eq!(ticket_of("bo").await.unwrap().state(), TicketState::Requeued);
    assert_eq!(ticket_of("ada").await, None);
}

#[tokio::test]
async fn one_who_waits_for_an_opponent_that_does_not_come_is_not_queued_again_once_he_is_banned() {
    let cluster = Cluster::of_one().await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let duel = queue::paired(&cluster, "ranked", &ada, &bo).await;
    let seat = if duel.black.name == "players/ada" { Seat::Black } else { Seat::White };
    duel.join_as(seat).await.unwrap();
    ban(&cluster, 0, "ada").await;
    cluster.ended(&duel.name).await;
    cluster.settled(&duel.name).await;
    let request = v1::WatchPlayerRequest { player: "players/ada".to_owned() };
    let home = cluster.backend(0).await.watch_home_with(request).await.unwrap().state(|_| true).await;
    assert_eq!(home.ticket, None);
    unban(&cluster, 0, "ada").await;
    assert_eq!(queue::queue(&ada, "ranked").await.state(), TicketState::Waiting, "nothing holds him");
}

#[tokio::test]
async fn a_live_match_goes_on_by_its_clock_and_a_back_end_can_resign_it() {
    let cluster = Cluster::of_one().await;
    let (first, second) = (cluster.duel(Default::default()).await, cluster.duel(Default::default()).await);
    ban(&cluster, 0, "ada").await;
    let resign = v1::ResignRequest {
        name: first.name.clone(),
        player: "players/ada".to_owned(),
        request_id: fresh_id(),
    };
    let backend = cluster.backend(0).await;
    let over = soon("Resign", backend.matches().resign(resign)).await.unwrap().into_inner().r#match.unwrap();
    assert_eq!(over.finish.unwrap().reason(), v1::EndReason::Resignation);
    second.seal(Seat::White, 1, cell("A1")).await.unwrap();
    cluster.ended(&second.name).await;
    let over = second.white.get(&second.name).await.unwrap();
    assert_eq!(over.finish.unwrap().reason(), v1::EndReason::Flag);
}

#[tokio::test]
async fn a_ban_ends_at_its_time_or_when_it_is_lifted() {
    let cluster = Cluster::of_two().await;
    let (ada, far) = (cluster.player(0, "ada").await, cluster.player(1, "ada").await);
    let backend = cluster.backend(0).await;
    let minute = v1::BanPlayerRequest { ttl: Some(seconds(60)), ..ban_of("ada") };
    let told = ban_with(&backend, minute).await.unwrap().unwrap();
    let expected = v1::PlayerBan {
        player: "players/ada".to_owned(),
        reason: "case 4711".to_owned(),
        create_time: stamp(START_MS),
        end_time: stamp(START_MS + 60_000),
    };
    assert_eq!(told, expected);
    cluster.advance_ms(59_999).await;
    for caller in [&ada, &far] {
        assert_eq!(reason(&lists(caller).await.unwrap_err()), ErrorReason::PlayerBanned);
    }
    cluster.advance_ms(1).await;
    for caller in [&ada, &far] {
        lists(caller).await.unwrap();
    }
    ban(&cluster, 0, "ada").await;
    until_known(&cluster, &far, true).await;
    unban(&cluster, 1, "ada").await;
    lists(&far).await.unwrap();
    until_known(&cluster, &ada, false).await;
    ada.watch_home().await.unwrap().state(|_| true).await;
}

/// What was decided since stands, also if the first call's answer came late and it is sent again.
#[tokio::test]
async fn a_ban_that_is_asked_for_again_has_one_effect() {
    let cluster = Cluster::of_two().await;
    let (backend, other) = (cluster.backend(0).await, cluster.backend(1).await);
    let ada = cluster.player(0, "ada").await;
    let first = ban_of("ada");
    let told = ban_with(&backend, first.clone()).await.unwrap();
    cluster.advance_ms(5_000).await;
    assert_eq!(ban_with(&other, first.clone()).await.unwrap(), told, "from when it was first asked for");
    let lift = v1::UnbanPlayerRequest { player: "players/ada".to_owned(), request_id: fresh_id() };
    assert_eq!(unban_with(&backend, lift.clone()).await.unwrap(), None);
    assert_eq!(ban_with(&other, first.clone()).await.unwrap(), None, "it was lifted since");
    lists(&ada).await.unwrap();
    let second =
        ban_with(&backend, v1::BanPlayerRequest { reason: String::new(), ..ban_of("ada") }).await.unwrap();
    assert_eq!(unban_with(&other, lift).await.unwrap(), second, "he was banned since");
    assert_eq!(reason(&lists(&ada).await.unwrap_err()), ErrorReason::PlayerBanned);
    let reused = v1::BanPlayerRequest { reason: "another".to_owned(), ..first };
    assert_eq!(reason(&ban_with(&backend, reused).await.unwrap_err()), ErrorReason::RequestIdReused);
}

#[tokio::test]
async fn what_no_ban_can_be_is_refused_and_changes_nothing() {
    let cluster = Cluster::of_one().await;
    let (backend, ada) = (cluster.backend(0).await, cluster.player(0, "ada").await);
    let longest = v1::BanPlayerRequest {
        reason: "x".repeat(256),
        ttl: Some(seconds(10 * 365 * 86_400)),
        ..ban_of("bo")
    };
    ban_with(&backend, longest).await.unwrap().unwrap();
    for (field, request) in [
        ("player", v1::BanPlayerRequest { player: String::new(), ..ban_of("ada") }),
        ("player", ban_of("bot-3")),
        ("player", ban_of("a b")),
        ("request_id", v1::BanPlayerRequest { request_id: String::new(), ..ban_of("ada") }),
        ("reason", v1::BanPlayerRequest { reason: "é".repeat(129), ..ban_of("ada") }),
        ("ttl", v1::BanPlayerRequest { ttl: Some(seconds(0)), ..ban_of("ada") }),
        ("ttl", v1::BanPlayerRequest { ttl: Some(seconds(-1)), ..ban_of("ada") }),
        ("ttl", v1::BanPlayerRequest { ttl: Some(seconds(10 * 365 * 86_400 + 1)), ..ban_of("ada") }),
    ] {
        let refused = ApiError::from_status(&ban_with(&backend, request).await.unwrap_err()).unwrap();
        assert_eq!(refused.fields()[0].field, field);
    }
    lists(&ada).await.unwrap();
}

/// Of a node that starts while somebody is banned, the first call is refused.
#[tokio::test]
async fn a_ban_holds_from_the_first_call_of_a_node_on() {
    let mut cluster = Cluster::of_two().await;
    let ada = cluster.player(1, "ada").await;
    ban(&cluster, 0, "ada").await;
    cluster.restart_node(1).await;
    let ada = ada.through(cluster.nodes[1].address).await;
    assert_eq!(reason(&lists(&ada).await.unwrap_err()), ErrorReason::PlayerBanned);
}
