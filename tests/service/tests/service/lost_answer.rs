//! E1: an answer that is lost after the request had arrived is made good by a repetition, with one effect.

use rules::{Cell, Seat};
use service_tests::{Caller, Cluster, Cut, Duel, Fault, Operation, soon};
use whattheshell::{Client, MatchHandle, Player, v1};
use wire::ApiError;
use wire::v1::{EndReason, ErrorReason, InviteState, MatchState};

fn a1() -> Cell {
    "A1".parse().unwrap()
}

/// A player with the Rust client, through this address.
async fn player(cluster: &Cluster, caller: &Caller, address: std::net::SocketAddr) -> Player {
    let request = v1::MintPlayerTokenRequest { player: caller.name.clone(), ..Default::default() };
    let minted = cluster.backend(0).await.players().mint_player_token(request).await.unwrap();
    let client = Client::connect(&format!("http://{address}")).await.unwrap();
    client.player(&minted.into_inner().token).unwrap()
}

/// A match in turn 1 whose black player has the Rust client, at the first of two nodes; white and whoever
/// looks are at the second.
async fn black_with_client(cluster: &Cluster) -> (Duel, MatchHandle) {
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let black = player(cluster, &duel.black, cluster.nodes[0].address).await;
    let handle = soon("the match", black.open(&duel.name)).await.unwrap();
    let far = duel.black.through(cluster.nodes[1].address).await;
    (Duel { black: far, ..duel }, handle)
}

async fn own_seal(duel: &Duel) -> Option<v1::OwnSeal> {
    duel.seen_by(Seat::Black).await.status.unwrap().own_seal
}

/// How often a node has committed a change, acknowledged or not.
fn commits(cluster: &Cluster) -> usize {
    cluster.nodes[0].faults.recorded().iter().filter(|call| **call == Operation::Commit).count()
}

#[tokio::test]
async fn a_seal_whose_acknowledgement_is_lost_is_sealed_once() {
    let cluster = Cluster::of_two().await;
    let (duel, handle) = black_with_client(&cluster).await;
    let faults = &cluster.nodes[0].faults;
    faults.record();
    faults.at(Operation::Commit, 1, Fault::AnswerLost);
    let receipt = soon("the receipt", handle.seal(1, a1())).await.unwrap();
    assert_eq!(commits(&cluster), 1, "the repetition finds its seal");
    let own = own_seal(&duel).await.unwrap();
    assert_eq!((own.commitment, own.seal_time), (receipt.commitment.clone(), receipt.seal_time));
    assert_eq!(soon("the receipt", handle.seal(1, a1())).await.unwrap(), receipt);
}

#[tokio::test]
async fn a_seal_that_never_arrived_is_sealed_by_its_repetition() {
    let cluster = Cluster::of_two().await;
    let (duel, handle) = black_with_client(&cluster).await;
    cluster.nodes[0].faults.at(Operation::Commit, 1, Fault::Refused);
    let receipt = soon("the receipt", handle.seal(1, a1())).await.unwrap();
    assert_eq!(own_seal(&duel).await.unwrap().commitment, receipt.commitment);
}

#[tokio::test]
async fn a_seal_gets_its_receipt_even_if_the_turn_has_resolved_meanwhile() {
    let cluster = Cluster::of_two().await;
    let (duel, handle) = black_with_client(&cluster).await;
    let faults = &cluster.nodes[0].faults;
    faults.at(Operation::Commit, 1, Fault::AnswerLost);
    let repetition = service_tests::Gate::default();
    faults.at(Operation::Load, 2, Fault::Held(repetition.clone()));
    let sealing = tokio::spawn({
        let handle = handle.clone();
        async move { handle.seal(1, a1()).await }
    });
    repetition.reached().await;
    let sealed = own_seal(&duel).await.unwrap();
    cluster.advance_ms(500).await;
    duel.seal(Seat::White, 1, service_tests::cell("B2")).await.unwrap();
    repetition.open();

    let receipt = soon("the receipt", sealing).await.unwrap().unwrap();
    assert_eq!((&receipt.commitment, receipt.seal_time), (&sealed.commitment, sealed.seal_time));
    let transcript = duel.white.transcript(&duel.name).await.unwrap();
    assert_eq!(transcript.turns.len(), 1);
    assert_eq!(transcript.turns[0].black.as_ref().unwrap().commitment, receipt.commitment);
    // The client goes on: its next turn is bound to the resolved one.
    soon("the receipt", handle.seal(2, "C3".parse().unwrap())).await.unwrap();
}

#[tokio::test]
async fn a_seal_whose_connection_breaks_before_the_answer_is_sealed_once() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let line = Cut::in_front_of(cluster.nodes[0].address).await;
    let black = player(&cluster, &duel.black, line.address).await;
    let handle = black.open(&duel.name).await.unwrap();
    let far = Duel { black: duel.black.through(cluster.nodes[1].address).await, ..duel.clone() };
    let mut seen = far.black.watch(&duel.name).await.unwrap();

    cluster.nodes[0].faults.record();
    line.withhold_answers();
    let sealing = tokio::spawn({
        let handle = handle.clone();
        async move { handle.seal(1, a1()).await }
    });
    let status = seen.status(|status| status.own_seal.is_some()).await;
    line.cut();

    let receipt = soon("the receipt", sealing).await.unwrap().unwrap();
    assert_eq!(commits(&cluster), 1);
    assert_eq!(status.own_seal.unwrap().commitment, receipt.commitment);
    assert_eq!(own_seal(&far).await.unwrap().seal_time, receipt.seal_time);
}

#[tokio::test]
async fn a_store_that_stays_away_is_told_as_unavailable_and_changes_nothing() {
    let cluster = Cluster::of_two().await;
    let (duel, handle) = black_with_client(&cluster).await;
    let before = duel.seen_by(Seat::White).await;
    let faults = &cluster.nodes[0].faults;
    faults.record();
    faults.always(Operation::Commit, Fault::Refused);
    let error = soon("an error", handle.seal(1, a1())).await.unwrap_err();
    assert_eq!(error.reason(), Some(ErrorReason::StoreUnavailable));
    assert!(error.is_uncertain());
    assert_eq!(commits(&cluster), 4, "a call is tried four times");
    assert_eq!(duel.seen_by(Seat::White).await, before);
    faults.clear();
    soon("the receipt", handle.seal(1, a1())).await.unwrap();
}

#[tokio::test]
async fn every_other_change_whose_acknowledgement_is_lost_has_one_effect_too() {
    let cluster = Cluster::of_two().await;
    let ada = cluster.player(1, "ada").await;
    let black = player(&cluster, &ada, cluster.nodes[0].address).await;
    let bo = cluster.player(1, "bo").await;
    let faults = &cluster.nodes[0].faults;
    for lost in [Operation::Remember, Operation::CreateInvite] {
        faults.at(lost, 1, Fault::AnswerLost);
        let invite = v1::CreateInviteRequest { invitee: bo.name.clone(), ..Default::default() };
        let made = soon("the invite", black.invite(invite)).await.unwrap().invite.unwrap();
        assert_eq!(made.state(), InviteState::Open);
        faults.at(Operation::CloseInvite, 1, Fault::AnswerLost);
        let revoked = soon("the invite", black.revoke_invite(&made.name)).await.unwrap();
        assert_eq!(revoked.state(), InviteState::Revoked);
    }
    let mut matches = Vec::new();
    for lost in [Operation::CloseInvite, Operation::Create] {
        let request = v1::CreateInviteRequest {
            request_id: format!("{lost:?}"),
            invitee: ada.name.clone(),
            ..Default::default()
        };
        let made = bo.matchmaking().create_invite(request).await.unwrap().into_inner().invite.unwrap();
        faults.at(lost, 1, Fault::AnswerLost);
        let accepted = soon("the invite", black.accept_invite(&made.name, None)).await.unwrap();
        assert_eq!(accepted.state(), InviteState::Accepted);
        ada.get(&accepted.r#match).await.expect("an accepted invite has its match");
        matches.push(accepted.r#match);
    }
    for (lost, name) in [(Operation::Commit, &matches[0]), (Operation::Load, &matches[1])] {
        faults.at(lost, 1, Fault::AnswerLost);
        let handle = soon("the match", black.join(name)).await.unwrap();
        assert_eq!(ada.get(name).await.unwrap().state(), MatchState::Waiting);
        faults.at(lost, 1, Fault::AnswerLost);
        let resigned = soon("the match", handle.resign()).await.unwrap();
        assert_eq!(resigned.finish.as_ref().map(v1::MatchFinished::reason), Some(EndReason::Resignation));
        assert_eq!(ada.get(name).await.unwrap().finish, resigned.finish);
    }
}

// What every client without these manners has to do by hand.
#[tokio::test]
async fn a_lost_acknowledgement_says_to_repeat_and_when_and_any_node_knows_the_request() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let seal = duel.seal_request(Seat::Black, 1, 1);
    cluster.nodes[0].faults.at(Operation::Commit, 1, Fault::AnswerLost);
    let lost = duel.send_seal(Seat::Black, seal.clone()).await.unwrap_err();
    assert!(lost.metadata().contains_key(wire::METADATA_RETRY_PUSHBACK));
    let error = ApiError::from_status(&lost).unwrap();
    assert_eq!(error.reason(), ErrorReason::StoreUnavailable);
    assert!(error.retry_delay().is_some());

    let far = Duel { black: duel.black.through(cluster.nodes[1].address).await, ..duel.clone() };
    let receipt = far.send_seal(Seat::Black, seal.clone()).await.unwrap();
    duel.seal(Seat::White, 1, 2).await.unwrap();
    assert_eq!(duel.send_seal(Seat::Black, seal).await.unwrap(), receipt);
}
