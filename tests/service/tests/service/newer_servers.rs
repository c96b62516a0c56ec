//! E4: an old client keeps what a newer server says beyond it, and plays on.

use futures::StreamExt as _;
use rules::{Cell, Seat};
use service_tests::{Cluster, soon};
use whattheshell::{Client, Error, MatchHandle, MatchStream, Player, Update, v1};
use wire::v1::{EndReason, ErrorReason};

use super::newer::{NEW_VALUE, NewerServer, with_new_arms, with_new_fields, with_new_values};

async fn player(cluster: &Cluster, server: &NewerServer, id: &str) -> Player {
    let request = v1::MintPlayerTokenRequest { player: format!("players/{id}"), ..Default::default() };
    let minted = cluster.backend(0).await.players().mint_player_token(request).await.unwrap();
    let client = Client::connect(&format!("http://{}", server.address)).await.unwrap();
    client.player(&minted.into_inner().token).unwrap()
}

/// A match of two old clients at a newer server.
async fn old_clients(cluster: &Cluster, server: &NewerServer) -> [MatchHandle; 2] {
    let (ada, bo) = (player(cluster, server, "ada").await, player(cluster, server, "bo").await);
    let request = v1::CreateInviteRequest {
        invitee: bo.name().to_owned(),
        inviter_seat: v1::Seat::Black.into(),
        ..Default::default()
    };
    let invite = soon("the invite", ada.invite(request)).await.unwrap().invite.unwrap();
    let accepted = soon("the invite", bo.accept_invite(&invite.name, None)).await.unwrap();
    let black = soon("the match", ada.join(&accepted.r#match)).await.unwrap();
    let white = soon("the match", bo.join(&accepted.r#match)).await.unwrap();
    assert_eq!((black.seat(), white.seat()), (Some(Seat::Black), Some(Seat::White)));
    [black, white]
}

async fn update(stream: &mut MatchStream) -> Update {
    soon("an update", stream.next()).await.expect("the stream goes on").expect("it is verified")
}

fn cell(name: &str) -> Cell {
    name.parse().unwrap()
}

#[tokio::test]
async fn an_old_client_plays_a_match_at_a_server_with_new_fields_and_new_kinds() {
    let cluster = Cluster::of_one().await;
    let server = NewerServer::in_front_of(cluster.nodes[0].address, |method, message| {
        let response = format!("{method}Response");
        let known = with_new_fields(&response, message);
        // An update of a new kind before the second and each further one: a snapshot stays the first.
        let is_later_update = method == "WatchMatch" && !is_snapshot(message);
        let new = is_later_update.then(|| with_new_arms(&response, &[]));
        new.into_iter().chain([known]).collect()
    })
    .await;
    let [black, white] = old_clients(&cluster, &server).await;
    let mut stream = black.watch();
    // A1 first, which is cell 1; then a collision, and a row.
    let turns = [("A1", "A9"), ("E5", "E5"), ("B1", "C7"), ("C1", "I9"), ("D1", "G8"), ("E1", "E9")];
    for (turn, (b, w)) in (1..).zip(turns) {
        soon("black's receipt", black.seal(turn, cell(b))).await.unwrap();
        soon("white's receipt", white.seal(turn, cell(w))).await.unwrap();
        let resolved = loop {
            if let Update::Turn(resolved) = update(&mut stream).await {
                break resolved;
            }
        };
        assert_eq!((resolved.turn, resolved.cells.black, resolved.cells.white), (turn, cell(b), cell(w)));
        white.refresh().await.unwrap();
    }
    let finish = loop {
        if let Update::Finished(finish) = update(&mut stream).await {
            break finish;
        }
    };
    assert_eq!(finish.message.reason(), EndReason::Row);
    assert!(finish.ending.is_some(), "the end is verified");
    let verified = white.transcript().await.unwrap().verify().unwrap();
    assert_eq!(verified.turns.len(), turns.len());
}

fn is_snapshot(message: &[u8]) -> bool {
    use prost::Message as _;
    use v1::watch_match_response::Update;
    let decoded = v1::WatchMatchResponse::decode(message).unwrap();
    matches!(decoded.update, Some(Update::Snapshot(_)))
}

#[tokio::test]
async fn an_old_client_keeps_values_that_it_does_not_know() {
    let cluster = Cluster::of_one().await;
    let server = NewerServer::in_front_of(cluster.nodes[0].address, |method, message| {
        let response = format!("{method}Response");
        let message = with_new_values(&response, message, "DrawOffer");
        let message = with_new_values(&response, &message, "InviteState");
        let message = with_new_values(&response, &message, "MatchState");
        vec![with_new_values(&response, &message, "EndReason")]
    })
    .await;
    let [black, white] = old_clients(&cluster, &server).await;
    let mut stream = black.watch();
    let status = loop {
        if let Update::Status(status) = update(&mut stream).await {
            break status;
        }
    };
    assert_eq!(status.state, NEW_VALUE);
    assert_eq!(status.black.unwrap().draw_offer, NEW_VALUE);
    // Whatever the state is called, the moves go through, A1 among them.
    soon("black's receipt", black.seal(1, cell("A1"))).await.unwrap();
    soon("white's receipt", white.seal(1, cell("I9"))).await.unwrap();
    let resigned = soon("the match", black.resign()).await.unwrap();
    assert_eq!((resigned.state, resigned.finish.unwrap().reason), (NEW_VALUE, NEW_VALUE));
    let finish = loop {
        match update(&mut stream).await {
            Update::Turn(turn) => assert_eq!(turn.cells.black, cell("A1")),
            Update::Finished(finish) => break finish,
            _ => {}
        }
    };
    assert_eq!((finish.message.reason, finish.ending), (NEW_VALUE, None), "it is kept, and not verified");
}

#[tokio::test]
async fn a_refusal_reaches_an_old_client_through_it_all() {
    let cluster = Cluster::of_one().await;
    let server = NewerServer::in_front_of(cluster.nodes[0].address, |method, message| {
        vec![with_new_fields(&format!("{method}Response"), message)]
    })
    .await;
    let [black, _] = old_clients(&cluster, &server).await;
    soon("black's receipt", black.seal(1, cell("A1"))).await.unwrap();
    let refused: Error = soon("a refusal", black.seal(1, cell("B1"))).await.unwrap_err();
    assert_eq!(refused.reason(), Some(ErrorReason::AlreadySealed));
}
