//! Invites: who can answer one, how it ends, and the one match that comes of it.

use prost::Message as _;
use rules::Seat;
use sealing::PlayerSigningKey;
use service_tests::{Caller, Cluster, Fault, Operation, reason, seconds};
use tonic::Status;
use wire::ApiError;
use wire::v1::{self, ErrorReason, InviteState, MatchMode, SealStatus};

async fn create(
    inviter: &Caller,
    request: v1::CreateInviteRequest,
) -> Result<v1::CreateInviteResponse, Status> {
    Ok(inviter.matchmaking().create_invite(request).await?.into_inner())
}

async fn invite(inviter: &Caller, invitee: &str) -> v1::Invite {
    let request = v1::CreateInviteRequest {
        request_id: "invite".to_owned(),
        invitee: invitee.to_owned(),
        ..Default::default()
    };
    create(inviter, request).await.unwrap().invite.unwrap()
}

async fn get(caller: &Caller, name: &str, join_secret: &str) -> Result<v1::Invite, Status> {
    let request = v1::GetInviteRequest {
        name: name.to_owned(),
        join_secret: join_secret.to_owned(),
        ..Default::default()
    };
    Ok(caller.matchmaking().get_invite(request).await?.into_inner().invite.unwrap())
}

async fn accept(
    caller: &Caller,
    name: &str,
    join_secret: &str,
    request_id: &str,
) -> Result<v1::Invite, Status> {
    let request = v1::AcceptInviteRequest {
        name: name.to_owned(),
        join_secret: join_secret.to_owned(),
        request_id: request_id.to_owned(),
        ..Default::default()
    };
    Ok(caller.matchmaking().accept_invite(request).await?.into_inner().invite.unwrap())
}

async fn decline(caller: &Caller, name: &str, request_id: &str) -> Result<v1::Invite, Status> {
    let request = v1::DeclineInviteRequest {
        name: name.to_owned(),
        request_id: request_id.to_owned(),
        ..Default::default()
    };
    Ok(caller.matchmaking().decline_invite(request).await?.into_inner().invite.unwrap())
}

async fn revoke(caller: &Caller, name: &str, request_id: &str) -> Result<v1::Invite, Status> {
    let request = v1::RevokeInviteRequest {
        name: name.to_owned(),
        request_id: request_id.to_owned(),
        ..Default::default()
    };
    Ok(caller.matchmaking().revoke_invite(request).await?.into_inner().invite.unwrap())
}

/// Ada at the first node, bo and eve at the second.
async fn people(cluster: &Cluster) -> [Caller; 3] {
    [cluster.player(0, "ada").await, cluster.player(1, "bo").await, cluster.player(1, "eve").await]
}

#[tokio::test]
async fn an_open_invite_is_for_whoever_has_the_secret() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, eve] = people(&cluster).await;
    let request = v1::CreateInviteRequest { request_id: "open".to_owned(), ..Default::default() };
    let made = create(&ada, request).await.unwrap();
    let (name, secret) = (made.invite.unwrap().name, made.join_secret);
    for wrong in ["", "0", &secret.to_uppercase(), &secret[1..]] {
        assert_eq!(reason(&get(&eve, &name, wrong).await.unwrap_err()), ErrorReason::NotFound);
        assert_eq!(reason(&accept(&eve, &name, wrong, "r").await.unwrap_err()), ErrorReason::NotFound);
    }
    let seen = get(&bo, &name, &secret).await.unwrap();
    assert_eq!((seen.state(), seen.invitee.as_str()), (InviteState::Open, ""));
    let accepted = accept(&bo, &name, &secret, "accept").await.unwrap();
    assert_eq!(accepted.state(), InviteState::Accepted);
    let game = bo.get(&accepted.r#match).await.unwrap();
    let players = [game.black.unwrap().player, game.white.unwrap().player];
    assert!(players.contains(&ada.name) && players.contains(&bo.name));
    let shown = [seen, accepted, get(&ada, &name, "").await.unwrap()];
    for shown in shown {
        assert!(
            !String::from_utf8_lossy(&shown.encode_to_vec()).contains(&secret),
            "no one is told it again"
        );
    }
}

#[tokio::test]
async fn of_two_who_accept_at_once_one_gets_the_match() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, eve] = people(&cluster).await;
    let bo = bo.through(cluster.nodes[0].address).await;
    let request = v1::CreateInviteRequest { request_id: "open".to_owned(), ..Default::default() };
    let made = create(&ada, request).await.unwrap();
    let (name, secret) = (made.invite.unwrap().name, made.join_secret);
    let (first, second) =
        tokio::join!(accept(&bo, &name, &secret, "accept"), accept(&eve, &name, &secret, "accept"));
    let (won, lost) = match (first, second) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        other => panic!("one and only one: {other:?}"),
    };
    assert_eq!(reason(&lost), ErrorReason::InviteNotOpen);
    assert_eq!(get(&ada, &name, "").await.unwrap().r#match, won.r#match);
}

#[tokio::test]
async fn a_named_invite_is_for_its_invitee_alone() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, eve] = people(&cluster).await;
    let name = invite(&ada, &bo.name).await.name;
    for refused in [
        get(&eve, &name, "").await.unwrap_err(),
        accept(&eve, &name, "", "r").await.unwrap_err(),
        decline(&eve, &name, "r").await.unwrap_err(),
        revoke(&eve, &name, "r").await.unwrap_err(),
        decline(&ada, &name, "r").await.unwrap_err(),
        revoke(&bo, &name, "r").await.unwrap_err(),
    ] {
        assert_eq!(reason(&refused), ErrorReason::NotFound);
    }
    assert_eq!(reason(&accept(&ada, &name, "", "r").await.unwrap_err()), ErrorReason::NotAParticipant);
    assert_eq!(get(&bo, &name, "").await.unwrap().state(), InviteState::Open, "none of it ended the invite");
    assert_eq!(get(&cluster.backend(0).await, &name, "").await.unwrap().inviter, ada.name);
}

#[tokio::test]
async fn accepting_again_finds_the_same_match() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, _] = people(&cluster).await;
    let name = invite(&ada, &bo.name).await.name;
    let first = accept(&bo, &name, "", "accept").await.unwrap();
    for node in &cluster.nodes {
        let again = accept(&bo.through(node.address).await, &name, "", "accept").await.unwrap();
        assert_eq!(again, first);
    }
    assert_eq!(reason(&accept(&bo, &name, "", "anew").await.unwrap_err()), ErrorReason::InviteNotOpen);
}

#[tokio::test]
async fn an_accept_that_broke_off_is_finished_by_whoever_looks() {
    for fault in [Fault::Refused, Fault::Panic, Fault::AnswerLost] {
        let cluster = Cluster::of_two().await;
        let [ada, bo, _] = people(&cluster).await;
        let name = invite(&ada, &bo.name).await.name;
        // Between the closing of the invite and the creation of the match.
        cluster.nodes[1].faults.at(Operation::Create, 1, fault);
        accept(&bo, &name, "", "accept").await.unwrap_err();
        let seen = get(&ada, &name, "").await.unwrap();
        assert_eq!(seen.state(), InviteState::Accepted);
        let game = ada.get(&seen.r#match).await.unwrap();
        let retried = accept(&bo, &name, "", "accept").await.unwrap();
        assert_eq!(retried.r#match, game.name, "the retry finds the same match");
    }
}

#[tokio::test]
async fn an_accept_whose_answer_was_lost_is_repeated_through_the_other_node() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, _] = people(&cluster).await;
    let name = invite(&ada, &bo.name).await.name;
    cluster.nodes[1].faults.at(Operation::CloseInvite, 1, Fault::AnswerLost);
    accept(&bo, &name, "", "accept").await.unwrap_err();
    let retried = accept(&bo.through(cluster.nodes[0].address).await, &name, "", "accept").await.unwrap();
    assert!(ada.get(&retried.r#match).await.is_ok());
}

#[tokio::test]
async fn a_declined_or_revoked_invite_comes_to_nothing() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, _] = people(&cluster).await;
    for declined in [true, false] {
        let request = v1::CreateInviteRequest {
            request_id: format!("invite-{declined}"),
            invitee: bo.name.clone(),
            ..Default::default()
        };
        let name = create(&ada, request).await.unwrap().invite.unwrap().name;
        let (ended, again, anew, state) = if declined {
            let ended = decline(&bo, &name, "end").await.unwrap();
            let again = decline(&bo, &name, "end").await.unwrap();
            (ended, again, decline(&bo, &name, "anew").await, InviteState::Declined)
        } else {
            let ended = revoke(&ada, &name, "end").await.unwrap();
            let again = revoke(&ada, &name, "end").await.unwrap();
            (ended, again, revoke(&ada, &name, "anew").await, InviteState::Revoked)
        };
        assert_eq!((ended.state(), ended.r#match.as_str()), (state, ""));
        assert_eq!(ended, again);
        assert_eq!(reason(&anew.unwrap_err()), ErrorReason::InviteNotOpen);
        let late = accept(&bo, &name, "", "accept").await.unwrap_err();
        assert_eq!(reason(&late), ErrorReason::InviteNotOpen);
        assert_eq!(ApiError::from_status(&late).unwrap().subject(), Some(name.as_str()));
        assert_eq!(get(&ada, &name, "").await.unwrap().state(), state);
    }
}

#[tokio::test]
async fn an_invite_can_be_accepted_until_its_last_moment_and_not_after() {
    for late_ms in [0, 1] {
        let cluster = Cluster::of_two().await;
        let [ada, bo, _] = people(&cluster).await;
        let request = v1::CreateInviteRequest {
            request_id: "short".to_owned(),
            invitee: bo.name.clone(),
            ttl: Some(seconds(60)),
            ..Default::default()
        };
        let name = create(&ada, request).await.unwrap().invite.unwrap().name;
        cluster.advance_ms(60_000 + late_ms).await;
        let accepted = accept(&bo, &name, "", "accept").await;
        if late_ms == 0 {
            assert_eq!(accepted.unwrap().state(), InviteState::Accepted);
        } else {
            assert_eq!(reason(&accepted.unwrap_err()), ErrorReason::InviteNotOpen);
            assert_eq!(get(&ada, &name, "").await.unwrap().state(), InviteState::Expired);
        }
    }
}

#[tokio::test]
async fn a_rematch_swaps_the_colours_and_keeps_the_settings() {
    let cluster = Cluster::of_two().await;
    let settings = v1::MatchSettings {
        time_control: Some(v1::match_settings::TimeControl::TurnTime(seconds(45))),
        seal_status: SealStatus::Hidden.into(),
        turn_limit: 99,
        ..Default::default()
    };
    let duel = cluster.duel(settings).await;
    let offer = |request_id: &str| v1::CreateInviteRequest {
        request_id: request_id.to_owned(),
        rematch_of: duel.name.clone(),
        ..Default::default()
    };
    let early = create(&duel.white, offer("early")).await.unwrap_err();
    assert_eq!(reason(&early), ErrorReason::FieldInvalid, "the match is not over yet");
    duel.resign(Seat::White).await.unwrap();
    let before = duel.seen_by(Seat::White).await;

    let eve = cluster.player(0, "eve").await;
    assert_eq!(reason(&create(&eve, offer("theirs")).await.unwrap_err()), ErrorReason::NotFound);
    let made = create(&duel.white, offer("again")).await.unwrap();
    let offered = made.invite.unwrap();
    assert_eq!((offered.invitee.as_str(), made.join_secret.as_str()), ("players/ada", ""));
    assert_eq!(offered.rematch_of, duel.name);
    let accepted = accept(&duel.black, &offered.name, "", "yes").await.unwrap();
    let game = duel.black.get(&accepted.r#match).await.unwrap();
    assert_eq!(game.settings, before.settings);
    assert_eq!(game.black.unwrap().player, before.white.unwrap().player);
    assert_eq!(game.white.unwrap().player, before.black.unwrap().player);
    assert_eq!(game.rematch_of, duel.name);
}

#[tokio::test]
async fn the_match_is_played_by_the_settings_of_the_invite_with_both_keys() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, _] = people(&cluster).await;
    let key = |seed| PlayerSigningKey::from_seed(&[seed; 32]).public_key().as_bytes().to_vec();
    let request = v1::CreateInviteRequest {
        request_id: "with-keys".to_owned(),
        invitee: bo.name.clone(),
        settings: Some(v1::MatchSettings { start_time: Some(seconds(20)), ..Default::default() }),
        inviter_seat: v1::Seat::White.into(),
        public_key: key(0xad),
        ..Default::default()
    };
    let made = create(&ada, request).await.unwrap().invite.unwrap();
    let settings = made.settings.clone().unwrap();
    assert_eq!(settings.rules_version, "wts-2026.1");
    assert_eq!(settings.time_control, Some(v1::match_settings::TimeControl::TurnTime(seconds(30))));
    assert_eq!((settings.mode(), settings.seal_status()), (MatchMode::Casual, SealStatus::Visible));
    assert_eq!((settings.turn_limit, settings.reveal_time), (500, None));
    assert_eq!(settings.start_time, Some(seconds(20)));

    let accepted = v1::AcceptInviteRequest {
        name: made.name,
        request_id: "accept".to_owned(),
        public_key: key(0xb0),
        ..Default::default()
    };
    let accepted = bo.matchmaking().accept_invite(accepted).await.unwrap().into_inner().invite.unwrap();
    let game = bo.get(&accepted.r#match).await.unwrap();
    assert_eq!(game.settings.unwrap(), settings);
    let (black, white) = (game.black.unwrap(), game.white.unwrap());
    assert_eq!((black.player, black.public_key), (bo.name, key(0xb0)));
    assert_eq!((white.player, white.public_key), (ada.name, key(0xad)));
}

#[tokio::test]
async fn a_key_that_nothing_can_be_signed_with_is_refused() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, _] = people(&cluster).await;
    // No point of the curve, and one of small order.
    for first in [2, 1] {
        let mut public_key = vec![0; 32];
        public_key[0] = first;
        let request = v1::CreateInviteRequest {
            request_id: "no-key".to_owned(),
            invitee: bo.name.clone(),
            public_key,
            ..Default::default()
        };
        assert_eq!(reason(&create(&ada, request).await.unwrap_err()), ErrorReason::FieldInvalid);
    }
}

#[tokio::test]
async fn the_same_request_with_another_key_or_another_end_is_told_apart() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, _] = people(&cluster).await;
    let name = invite(&ada, &bo.name).await.name;
    let accepted = accept(&bo, &name, "", "r").await.unwrap();
    let request = v1::AcceptInviteRequest {
        name: name.clone(),
        request_id: "r".to_owned(),
        public_key: PlayerSigningKey::from_seed(&[1; 32]).public_key().as_bytes().to_vec(),
        ..Default::default()
    };
    let other_key = bo.matchmaking().accept_invite(request).await.unwrap_err();
    assert_eq!(reason(&other_key), ErrorReason::RequestIdReused);
    assert_eq!(reason(&decline(&bo, &name, "r").await.unwrap_err()), ErrorReason::RequestIdReused);
    assert_eq!(reason(&decline(&bo, &name, "s").await.unwrap_err()), ErrorReason::InviteNotOpen);
    assert_eq!(accept(&bo, &name, "", "r").await.unwrap(), accepted);
}

#[tokio::test]
async fn a_player_has_a_hundred_invites_open_and_room_again_when_one_is_closed() {
    let cluster = Cluster::of_two().await;
    let [ada, bo, _] = people(&cluster).await;
    let make = async |nth: usize| {
        let request_id = format!("invite-{nth}");
        create(&ada, v1::CreateInviteRequest { request_id, invitee: bo.name.clone(), ..Default::default() })
            .await
    };
    let first = make(0).await.unwrap().invite.unwrap().name;
    for nth in 1..100 {
        make(nth).await.unwrap();
    }
    assert_eq!(reason(&make(100).await.unwrap_err()), ErrorReason::TicketLimit);
    assert_eq!(make(0).await.unwrap().invite.unwrap().name, first, "a repetition is not one more");
    revoke(&ada, &first, "r").await.unwrap();
    make(100).await.unwrap();
}
