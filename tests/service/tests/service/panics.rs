//! A1: a fault of the server is told as one, and stays where it happened.

use std::time::Duration;

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Operation, PlayerWatching, Setup, Watching, cell};
use tonic::{Code, Status};
use wire::ApiError;
use wire::v1::watch_match_response::Update;
use wire::v1::watch_player_response::Update as Home;
use wire::v1::{self, EndReason, Spectators};

use super::told::assert_is_in_the_table;

/// What the store panics with: it must stay in the server.
const TOLD: &[u8] = b"was told to panic";

/// INTERNAL with an id to quote, and nothing else.
fn assert_is_incident(status: &Status) {
    assert_eq!(status.code(), Code::Internal);
    let error = assert_is_in_the_table("a panic", status);
    let incident = error.metadata("incident").expect("a fault has an id to quote");
    assert_eq!(uuid::Uuid::parse_str(incident).map(|id| id.to_string()).as_deref(), Ok(incident));
    assert_eq!(error, ApiError::internal(incident), "a fault tells nothing but its id");
    let metadata = format!("{:?}", status.metadata());
    for told in [status.message().as_bytes(), status.details(), metadata.as_bytes()] {
        assert!(!told.windows(TOLD.len()).any(|window| window == TOLD), "{status:?}");
    }
}

/// A match in which turn 1 is resolved; black sits at the first of two nodes, white at the second.
async fn after_turn_1(cluster: &Cluster) -> Duel {
    let settings = v1::MatchSettings { spectators: Spectators::Live.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    duel.play(1, "A1", "I9").await;
    duel
}

async fn begun(caller: &Caller, name: &str) -> Watching {
    let mut stream = caller.watch(name).await.unwrap();
    stream.snapshot().await;
    stream.status(|_| true).await;
    stream
}

/// The stream's next turn, or the status that it has ended with.
async fn turn_or_end(stream: &mut Watching) -> Result<v1::ResolvedTurn, Status> {
    loop {
        match stream.next().await? {
            Some(Update::Turn(turn)) => return Ok(turn),
            Some(Update::Status(_)) => {}
            other => panic!("a turn or an error was due: {other:?}"),
        }
    }
}

async fn tells_of_a_panic_in(operation: Operation) {
    let cluster = Cluster::of_two().await;
    let duel = after_turn_1(&cluster).await;
    // Three streams and calls on one connection.
    let spectator = cluster.player(0, "spectator").await;
    let mut streams = [
        begun(&spectator, &duel.name).await,
        begun(&spectator, &duel.name).await,
        begun(&spectator, &duel.name).await,
    ];

    // All that the first node does from now on, it does for the streams.
    cluster.nodes[0].faults.at(operation, 1, Fault::Panic);
    let far = Duel { black: duel.black.through(cluster.nodes[1].address).await, ..duel.clone() };
    far.play(2, "B2", "H8").await;
    let resolved = duel.white.transcript(&duel.name).await.unwrap().turns[1].clone();

    let mut ended = 0;
    for stream in &mut streams {
        match turn_or_end(stream).await {
            Ok(turn) => assert_eq!(turn, resolved),
            Err(status) => {
                assert_is_incident(&status);
                ended += 1;
            }
        }
    }
    assert_eq!(ended, 1, "one stream met the panic, the others go on");
    assert_eq!(spectator.get(&duel.name).await.unwrap().hash, resolved.hash, "the connection goes on");
    let mut resumed = spectator.watch_after(&duel.name, 1, &[]).await.unwrap();
    assert_eq!(resumed.turn().await, resolved);
}

#[tokio::test]
async fn a_stream_that_cannot_read_the_match_ends_with_an_error() {
    tells_of_a_panic_in(Operation::Load).await;
}

#[tokio::test]
async fn a_stream_that_cannot_read_a_turn_ends_with_an_error() {
    tells_of_a_panic_in(Operation::Turns).await;
}

#[tokio::test]
async fn a_player_s_stream_that_cannot_read_what_waits_ends_with_an_error() {
    for operation in [Operation::MatchesOf, Operation::Watch, Operation::Load, Operation::OpenInvitesOf] {
        let cluster = Cluster::of_two().await;
        let duel = after_turn_1(&cluster).await;
        cluster.settled(&duel.name).await;
        // Three streams and calls on one connection.
        let mut streams = Vec::new();
        for _ in 0..3 {
            let mut stream = duel.black.watch_home().await.unwrap();
            stream.state(|_| true).await;
            streams.push(stream);
        }
        cluster.nodes[0].faults.at(operation, 1, Fault::Panic);
        let far = Duel { black: duel.black.through(cluster.nodes[1].address).await, ..duel.clone() };
        far.play(2, "B2", "H8").await;
        let mut ended = 0;
        for stream in &mut streams {
            match resolved_or_end(stream).await {
                Ok(()) => {}
                Err(status) => {
                    assert_is_incident(&status);
                    ended += 1;
                }
            }
        }
        assert_eq!(ended, 1, "one stream met the panic in {operation:?}, the others go on");
        let mut again = duel.black.watch_home().await.expect("the connection goes on");
        again.state(|state| state.matches[0].r#match.as_ref().is_some_and(|game| game.turn == 2)).await;
    }
}

/// Whether the stream has shown turn 2 resolved, or the status that it has ended with.
async fn resolved_or_end(stream: &mut PlayerWatching) -> Result<(), Status> {
    loop {
        match stream.next().await? {
            Home::State(state) if state.matches[0].r#match.as_ref().is_some_and(|game| game.turn == 2) => {
                return Ok(());
            }
            Home::State(_) => {}
            other => panic!("a state or an error was due: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_stream_that_cannot_be_opened_is_refused_with_an_error() {
    let cluster = Cluster::of_two().await;
    let duel = after_turn_1(&cluster).await;
    for operation in [Operation::Watch, Operation::Load, Operation::Turns] {
        cluster.nodes[0].faults.at(operation, 1, Fault::Panic);
        let mut opened = duel.black.watch_after(&duel.name, 0, &[]).await;
        let status = match &mut opened {
            Err(status) => status.clone(),
            Ok(stream) => stream.rest().await.1.unwrap_err(),
        };
        assert_is_incident(&status);
        let mut stream = duel.black.watch_after(&duel.name, 0, &[]).await.unwrap();
        assert_eq!(stream.turn().await.turn, 1);
    }
}

#[tokio::test]
async fn a_call_whose_handler_panics_is_answered_with_an_error_and_can_be_repeated() {
    let cluster = Cluster::of_two().await;
    let duel = after_turn_1(&cluster).await;
    let mut stream = begun(&duel.black, &duel.name).await;
    let faults = &cluster.nodes[0].faults;
    let ada = &duel.black;
    let offer = |request_id: &str| v1::CreateInviteRequest {
        request_id: request_id.to_owned(),
        ..Default::default()
    };

    for operation in [Operation::Remember, Operation::Now, Operation::CreateInvite] {
        faults.at(operation, 1, Fault::Panic);
        let request = offer(&format!("{operation:?}"));
        assert_is_incident(&ada.matchmaking().create_invite(request.clone()).await.unwrap_err());
        ada.matchmaking().create_invite(request).await.unwrap();
    }
    for operation in
        [Operation::Invite, Operation::CloseInvite, Operation::Load, Operation::Now, Operation::Create]
    {
        let made = duel
            .white
            .matchmaking()
            .create_invite(offer(&format!("{operation:?}")))
            .await
            .unwrap()
            .into_inner();
        let request = v1::AcceptInviteRequest {
            name: made.invite.unwrap().name,
            request_id: "accept".to_owned(),
            join_secret: made.join_secret,
            ..Default::default()
        };
        faults.at(operation, 1, Fault::Panic);
        assert_is_incident(&ada.matchmaking().accept_invite(request.clone()).await.unwrap_err());
        let accepted = ada.matchmaking().accept_invite(request).await.unwrap().into_inner().invite.unwrap();
        ada.get(&accepted.r#match).await.unwrap();
    }
    for operation in [Operation::Load, Operation::Commit] {
        faults.at(operation, 1, Fault::Panic);
        assert_is_incident(&duel.seal(Seat::Black, 2, cell("B2")).await.unwrap_err());
    }
    duel.seal(Seat::Black, 2, cell("B2")).await.unwrap();
    faults.at(Operation::MatchesOf, 1, Fault::Panic);
    assert_is_incident(&ada.matches().list_matches(v1::ListMatchesRequest::default()).await.unwrap_err());

    stream.status(|status| status.black.as_ref().is_some_and(|black| black.sealed == Some(true))).await;
}

// Nobody calls, so nobody can be told; what must not happen is that time stands still for everyone else.
#[tokio::test]
async fn a_panic_while_time_is_looked_after_stops_neither_the_clock_nor_the_server() {
    for operation in [Operation::Due, Operation::Load, Operation::Commit, Operation::Postpone] {
        // No heartbeat, so that the clock alone makes the node look at the match.
        let heartbeat = Duration::from_secs(60 * 60);
        let cluster = Cluster::start(Setup { heartbeat, ..Setup::default() }).await;
        let duel = after_turn_1(&cluster).await;
        let mut stream = begun(&duel.black, &duel.name).await;
        let faults = &cluster.nodes[0].faults;
        faults.at(operation, 1, Fault::Panic);
        if operation == Operation::Postpone {
            // A match is put off only where its work has failed.
            faults.at(Operation::Commit, 1, Fault::Refused);
        }
        cluster.advance_ms(40_000).await;
        assert_eq!(stream.finished().await.reason(), EndReason::BothFlagged, "{operation:?}");
    }
}
