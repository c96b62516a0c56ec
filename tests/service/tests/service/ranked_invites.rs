//! Ranked matches by invite: they hold both players, as those by ticket do.

use rules::Seat;
use service_tests::{Caller, Cluster, Duel, Fault, Operation, reason, soon};
use tonic::Status;
use wire::v1::{self, ErrorReason, MatchMode, SealStatus, TicketState};

use super::queue::{create, get, queue, wish};

fn ranked() -> v1::MatchSettings {
    v1::MatchSettings { mode: MatchMode::Ranked.into(), ..Default::default() }
}

async fn invite(inviter: &Caller, invitee: &Caller, id: &str) -> v1::Invite {
    let request = v1::CreateInviteRequest {
        request_id: format!("invite-{id}"),
        invitee: invitee.name.clone(),
        settings: Some(ranked()),
        ..Default::default()
    };
    let made = soon("CreateInvite", inviter.matchmaking().create_invite(request)).await.unwrap();
    made.into_inner().invite.unwrap()
}

async fn accept(caller: &Caller, invite: &v1::Invite) -> Result<v1::Invite, Status> {
    let request = v1::AcceptInviteRequest {
        name: invite.name.clone(),
        request_id: format!("accept-{}", &invite.name[8..]),
        ..Default::default()
    };
    Ok(soon("AcceptInvite", caller.matchmaking().accept_invite(request)).await?.into_inner().invite.unwrap())
}

async fn people(cluster: &Cluster) -> [Caller; 3] {
    [cluster.player(0, "ada").await, cluster.player(0, "bo").await, cluster.player(1, "eve").await]
}

#[tokio::test]
async fn a_ranked_invite_makes_a_rated_match_with_the_defaults_of_one() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(ranked()).await;
    let game = duel.seen_by(Seat::Black).await;
    let settings = game.settings.unwrap();
    assert_eq!((settings.mode(), settings.seal_status()), (MatchMode::Ranked, SealStatus::Hidden));
    assert_eq!(settings.start_time, Some(service_tests::seconds(20)));
    assert_eq!(game.black.unwrap().rating, Some(1500.0));
    duel.resign(Seat::White).await.unwrap();
    cluster.settled(&duel.name).await;
    let request = v1::GetPlayerRequest { name: duel.black.name.clone() };
    let player = duel.white.players().get_player(request).await.unwrap().into_inner().player.unwrap();
    assert!(player.standings[0].rating.unwrap().value > 1600.0);
}

#[tokio::test]
async fn who_waits_or_plays_cannot_take_a_ranked_invite_and_nothing_changes() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, eve] = people(&cluster).await;
    let (one, two) = (invite(&ada, &bo, "one").await, invite(&ada, &eve, "two").await);
    let ticket = queue(&ada, "ranked").await;
    assert_eq!(reason(&accept(&bo, &one).await.unwrap_err()), ErrorReason::AlreadyInMatch);
    assert_eq!(queue(&bo, "casual").await.state(), TicketState::Waiting, "bo is free");
    super::queue::cancel(&bo, "").await.unwrap();
    assert_eq!(get(&ada, &ticket.name).await.unwrap().state(), TicketState::Waiting);
    super::queue::cancel(&ada, "").await.unwrap();
    let accepted = accept(&bo, &one).await.unwrap();
    assert_eq!(accept(&bo, &one).await.unwrap().r#match, accepted.r#match, "again: the same");
    assert_eq!(reason(&accept(&eve, &two).await.unwrap_err()), ErrorReason::AlreadyInMatch);
    let more = create(&bo, wish("casual", "more")).await.unwrap_err();
    assert_eq!(reason(&more), ErrorReason::AlreadyInMatch, "his match waits for him");
    let duel = Duel { name: accepted.r#match, black: ada.clone(), white: bo.clone() };
    duel.resign(Seat::Black).await.unwrap();
    cluster.settled(&duel.name).await;
    assert!(accept(&eve, &two).await.is_ok());
}

/// C2: two invites that want the same players at once.
#[tokio::test]
async fn of_two_ranked_matches_at_once_a_player_gets_one() {
    for _ in 0..8 {
        let cluster = Cluster::of_two().await;
        let [ada, bo, eve] = people(&cluster).await;
        let (one, two) = (invite(&ada, &bo, "one").await, invite(&eve, &ada, "two").await);
        let (first, second) = tokio::join!(accept(&bo, &one), accept(&ada, &two));
        assert!(first.is_ok() != second.is_ok(), "one and only one: {first:?} {second:?}");
    }
}

#[tokio::test]
async fn an_accept_that_breaks_off_frees_both_or_makes_the_match() {
    for operation in [Operation::Reserve, Operation::CloseInvite, Operation::Create] {
        for fault in [Fault::Refused, Fault::AnswerLost] {
            for nth in 1..=2 {
                let cluster = Cluster::of_two().await;
                let [ada, bo, eve] = people(&cluster).await;
                let one = invite(&ada, &bo, "one").await;
                cluster.nodes[0].faults.at(operation, nth, fault.clone());
                let _ = accept(&bo, &one).await;
                cluster.nodes[0].faults.clear();
                cluster.advance_ms(10_001).await;
                let accepted = accept(&bo, &one).await.unwrap();
                assert!(
                    eve.get(&accepted.r#match).await.is_err() && ada.get(&accepted.r#match).await.is_ok()
                );
                let duel = Duel { name: accepted.r#match, black: ada, white: bo };
                duel.join().await;
            }
        }
    }
}

/// Whatever was lost before, nobody joins two ranked matches.
#[tokio::test]
async fn a_ranked_match_is_joined_only_by_whom_it_holds() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, eve] = people(&cluster).await;
    let one = accept(&bo, &invite(&ada, &bo, "one").await).await.unwrap();
    let first = Duel { name: one.r#match, black: ada.clone(), white: bo.clone() };
    // The reservation is lost, as in a failover, and another match takes its place.
    let held = cluster.store.reservation(&ada.name).await.unwrap().unwrap();
    cluster.store.reserve(&ada.name, Some(&held.by), None).await.unwrap();
    let two = accept(&eve, &invite(&ada, &eve, "two").await).await.unwrap();
    let second = Duel { name: two.r#match, black: ada.clone(), white: eve.clone() };
    second.join().await;
    assert_eq!(reason(&first.join_as(Seat::Black).await.unwrap_err()), ErrorReason::AlreadyInMatch);
}
