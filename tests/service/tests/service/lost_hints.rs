//! A hint is only a hint: whoever watches misses nothing if none arrives, and learns it with the next
//! heartbeat.

use std::time::Duration;

use rules::Seat;
use service_tests::{Caller, Cluster, Setup, cell, seconds, stamp};
use store::Clock as _;
use wire::v1::{self, EndReason, watch_match_response, watch_player_response};

/// The silence after which a stream sends a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(7);

const HEARTBEAT_MS: u64 = HEARTBEAT.as_millis() as u64;

/// Two nodes: who plays is at one, and what is watched at the other is what these tests are about.
async fn cluster() -> Cluster {
    Cluster::start(Setup { nodes: 2, heartbeat: HEARTBEAT, ..Setup::default() }).await
}

/// The settings of matches whose turns outlast some heartbeats.
fn patient() -> v1::MatchSettings {
    let hour = v1::match_settings::TimeControl::TurnTime(seconds(3_600));
    v1::MatchSettings { time_control: Some(hour), ..Default::default() }
}

async fn at(cluster: &Cluster, node: usize, caller: &Caller) -> Caller {
    caller.through(cluster.nodes[node].address).await
}

/// What every heartbeat says at this moment.
fn heartbeat(cluster: &Cluster, head_turn: u32) -> v1::Heartbeat {
    let interval = Some(seconds(HEARTBEAT.as_secs() as i64));
    v1::Heartbeat { head_turn, server_time: stamp(cluster.clock.now_ms()), interval }
}

#[tokio::test]
async fn turns_and_the_end_come_with_the_next_heartbeat_though_every_hint_is_lost() {
    use watch_match_response::Update;
    let cluster = cluster().await;
    let mut duel = cluster.duel(patient()).await;
    let onlooker = duel.white.clone();
    duel.white = at(&cluster, 0, &duel.white).await;
    let mut stream = onlooker.watch(&duel.name).await.unwrap();
    stream.status(|_| true).await;
    cluster.nodes[1].faults.lose_hints();

    for turn in 1..=2 {
        let column = if turn == 1 { "A" } else { "C" };
        duel.play(turn, &format!("{column}1"), &format!("{column}9")).await;
        cluster.advance_ms(HEARTBEAT_MS).await;
        match stream.update().await {
            Update::Turn(resolved) => assert_eq!(resolved.turn, turn),
            other => panic!("turn {turn} was due: {other:?}"),
        }
        assert!(matches!(stream.update().await, Update::Status(_)), "the next turn's status goes with it");
    }
    duel.resign(Seat::Black).await.unwrap();
    cluster.advance_ms(HEARTBEAT_MS).await;
    match stream.update().await {
        Update::Finished(finished) => assert_eq!(finished.reason(), EndReason::Resignation),
        other => panic!("the end was due: {other:?}"),
    }
}

#[tokio::test]
async fn a_status_comes_at_the_next_heartbeat_though_its_hint_is_lost() {
    use watch_match_response::Update;
    let cluster = cluster().await;
    let duel = cluster.duel(patient()).await;
    let mut stream = duel.white.watch(&duel.name).await.unwrap();
    stream.status(|_| true).await;
    cluster.nodes[1].faults.lose_hints();
    duel.seal(Seat::Black, 1, cell("E5")).await.unwrap();
    cluster.advance_ms(HEARTBEAT_MS).await;
    assert_eq!(stream.update().await, Update::Heartbeat(heartbeat(&cluster, 0)));
    match stream.update().await {
        Update::Status(status) => assert_eq!(status.black.unwrap().sealed, Some(true)),
        other => panic!("black's seal was due: {other:?}"),
    }
}

#[tokio::test]
async fn what_waits_for_a_player_comes_at_the_next_heartbeat_though_every_hint_is_lost() {
    use watch_player_response::Update;
    let cluster = cluster().await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(1, "bo").await);
    let mut stream = bo.watch_home().await.unwrap();
    stream.state(|_| true).await;
    cluster.nodes[1].faults.lose_hints();

    // An invite, the match that it becomes, and a move in it that somebody makes elsewhere.
    let offer = v1::CreateInviteRequest {
        request_id: "offer".to_owned(),
        invitee: bo.name.clone(),
        settings: Some(patient()),
        inviter_seat: v1::Seat::Black.into(),
        ..Default::default()
    };
    let invite = ada.matchmaking().create_invite(offer).await.unwrap().into_inner().invite.unwrap();
    cluster.advance_ms(HEARTBEAT_MS).await;
    assert_eq!(stream.update().await, Update::Heartbeat(heartbeat(&cluster, 0)));
    match stream.update().await {
        Update::State(state) => assert_eq!(state.invites, std::slice::from_ref(&invite)),
        other => panic!("the invite was due: {other:?}"),
    }
    let elsewhere = at(&cluster, 0, &bo).await;
    let accept =
        v1::AcceptInviteRequest { name: invite.name, request_id: "yes".to_owned(), ..Default::default() };
    let accepted = elsewhere.matchmaking().accept_invite(accept).await.unwrap().into_inner().invite.unwrap();
    cluster.settled(&accepted.r#match).await;
    cluster.advance_ms(HEARTBEAT_MS).await;
    let state = stream.state(|state| !state.matches.is_empty()).await;
    assert!(state.matches[0].move_due, "bo is to join");

    let duel = service_tests::Duel { name: accepted.r#match, black: ada, white: elsewhere };
    duel.join_as(Seat::White).await.unwrap();
    cluster.advance_ms(HEARTBEAT_MS).await;
    assert!(!stream.state(|_| true).await.matches[0].move_due, "he has joined");
}

#[tokio::test]
async fn a_quiet_stream_tells_its_head_the_interval_and_the_time() {
    let cluster = cluster().await;
    let duel = cluster.duel(patient()).await;
    duel.play(1, "A1", "I9").await;
    cluster.settled(&duel.name).await;
    let mut game = duel.black.watch(&duel.name).await.unwrap();
    game.status(|_| true).await;
    let mut home = duel.white.watch_home().await.unwrap();
    home.state(|_| true).await;
    for _ in 0..3 {
        cluster.advance_ms(HEARTBEAT_MS).await;
        let (of_game, of_home) = (heartbeat(&cluster, 1), heartbeat(&cluster, 0));
        assert_eq!(game.update().await, watch_match_response::Update::Heartbeat(of_game));
        assert_eq!(home.update().await, watch_player_response::Update::Heartbeat(of_home));
    }
}
