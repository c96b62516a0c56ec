//! An invite and its request outlive a restart between any two steps: one invite, one match, one answer.

use service_tests::{Caller, Cluster, Keeping, Setup, reason};
use tonic::Status;
use wire::v1::{self, ErrorReason, InviteState};

fn request(rematch_of: &str) -> v1::CreateInviteRequest {
    v1::CreateInviteRequest {
        request_id: "invite".to_owned(),
        rematch_of: rematch_of.to_owned(),
        ..Default::default()
    }
}

async fn create(
    caller: &Caller,
    request: v1::CreateInviteRequest,
) -> Result<v1::CreateInviteResponse, Status> {
    Ok(caller.matchmaking().create_invite(request).await?.into_inner())
}

async fn accept(
    caller: &Caller,
    invite: &v1::CreateInviteResponse,
    request_id: &str,
) -> Result<v1::Invite, Status> {
    let request = v1::AcceptInviteRequest {
        name: invite.invite.as_ref().unwrap().name.clone(),
        join_secret: invite.join_secret.clone(),
        request_id: request_id.to_owned(),
        ..Default::default()
    };
    Ok(caller.matchmaking().accept_invite(request).await?.into_inner().invite.unwrap())
}

/// A restart, and the callers' new connections.
async fn restart<const N: usize>(cluster: &mut Cluster, callers: [&mut Caller; N]) {
    cluster.restart().await;
    for caller in callers {
        *caller = caller.through(cluster.nodes[0].address).await;
    }
}

#[tokio::test]
async fn an_open_invite_is_accepted_once_across_restarts() {
    let mut cluster = Cluster::start(Setup { keeping: Keeping::Directory, ..Setup::default() }).await;
    let (mut ada, mut bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let made = create(&ada, request("")).await.unwrap();
    restart(&mut cluster, [&mut ada, &mut bo]).await;
    assert_eq!(create(&ada, request("")).await.unwrap(), made, "the same request, the same secret");
    let other = v1::CreateInviteRequest { invitee: bo.name.clone(), ..request("") };
    assert_eq!(reason(&create(&ada, other).await.unwrap_err()), ErrorReason::RequestIdReused);
    let wrong = v1::CreateInviteResponse { join_secret: "0".repeat(made.join_secret.len()), ..made.clone() };
    assert_eq!(reason(&accept(&bo, &wrong, "accept").await.unwrap_err()), ErrorReason::NotFound);

    let accepted = accept(&bo, &made, "accept").await.unwrap();
    assert_eq!(accepted.state(), InviteState::Accepted);
    restart(&mut cluster, [&mut ada, &mut bo]).await;
    assert_eq!(accept(&bo, &made, "accept").await.unwrap(), accepted, "the same answer, the same match");
    let mut eve = cluster.player(0, "eve").await;
    let late = accept(&eve, &made, "accept").await.unwrap_err();
    restart(&mut cluster, [&mut ada, &mut bo, &mut eve]).await;
    assert_eq!(reason(&accept(&eve, &made, "accept").await.unwrap_err()), reason(&late));
    assert_eq!(ada.get(&accepted.r#match).await.unwrap(), bo.get(&accepted.r#match).await.unwrap());
}

#[tokio::test]
async fn a_rematch_of_a_match_that_was_finished_before_the_restart_has_its_colours_swapped() {
    let mut cluster = Cluster::start(Setup { keeping: Keeping::Directory, ..Setup::default() }).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.play(1, "A1", "I9").await;
    duel.resign(rules::Seat::White).await.unwrap();
    cluster.settled(&duel.name).await;
    cluster.restart().await;
    let mut duel = duel.reconnected(&cluster).await;
    let rematch = v1::CreateInviteRequest { invitee: duel.white.name.clone(), ..request(&duel.name) };
    let made = create(&duel.black, rematch).await.unwrap();
    restart(&mut cluster, [&mut duel.black, &mut duel.white]).await;
    let accepted = accept(&duel.white, &made, "accept").await.unwrap();
    let game = duel.black.get(&accepted.r#match).await.unwrap();
    assert_eq!([game.black.unwrap().player, game.white.unwrap().player], [duel.white.name, duel.black.name]);
}
