//! A request repeated with its id has one effect and the same answer, through whichever node; another
//! request under the same id is refused.

use middleware::NewToken;
use rules::Seat;
use service_tests::{Caller, Cluster, Fault, Keeping, Operation, START_MS, Setup, cell, reason, seconds};
use tonic::Status;
use wire::v1::{self, ErrorReason};

/// How long the requests that create something are known, ms.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

fn open_invite() -> v1::CreateInviteRequest {
    v1::CreateInviteRequest {
        request_id: "one-intent".to_owned(),
        ttl: Some(seconds(600)),
        ..Default::default()
    }
}

async fn create(
    caller: &Caller,
    request: v1::CreateInviteRequest,
) -> Result<v1::CreateInviteResponse, Status> {
    Ok(caller.matchmaking().create_invite(request).await?.into_inner())
}

#[tokio::test]
async fn the_same_invite_is_made_once() {
    let cluster = Cluster::of_two().await;
    let ada = cluster.player(0, "ada").await;
    let first = create(&ada, open_invite()).await.unwrap();
    cluster.advance_ms(5_000).await;
    for node in &cluster.nodes {
        let again = create(&ada.through(node.address).await, open_invite()).await.unwrap();
        assert_eq!(again, first, "the secret as well");
    }
    let for_ada = v1::CreateInviteRequest { player: ada.name.clone(), ..open_invite() };
    let by_backend = create(&cluster.backend(1).await, for_ada).await.unwrap();
    assert_eq!(by_backend, first, "whoever acts for the player");
}

#[tokio::test]
async fn another_invite_under_the_same_id_is_refused_through_every_node() {
    let cluster = Cluster::of_two().await;
    let ada = cluster.player(0, "ada").await;
    let first = create(&ada, open_invite()).await.unwrap();
    let others = [
        v1::CreateInviteRequest { ttl: Some(seconds(601)), ..open_invite() },
        v1::CreateInviteRequest { invitee: "players/bo".to_owned(), ..open_invite() },
        v1::CreateInviteRequest { inviter_seat: v1::Seat::White.into(), ..open_invite() },
        v1::CreateInviteRequest {
            settings: Some(v1::MatchSettings { turn_limit: 7, ..Default::default() }),
            ..open_invite()
        },
    ];
    for node in &cluster.nodes {
        let ada = ada.through(node.address).await;
        for other in &others {
            let refused = create(&ada, other.clone()).await.unwrap_err();
            assert_eq!(reason(&refused), ErrorReason::RequestIdReused);
        }
    }
    assert_eq!(create(&ada, open_invite()).await.unwrap(), first, "what the id first did stands");
}

#[tokio::test]
async fn a_request_is_known_for_a_day_and_its_id_is_free_after_it() {
    for keeping in [Keeping::Memory, Keeping::Directory] {
        let cluster = Cluster::start(Setup { keeping, ..Setup::default() }).await;
        let credential = NewToken { ttl_ms: Some(DAY_MS), ..NewToken::for_player("players/ada") };
        let ada = cluster.caller(0, "players/ada", cluster.token(&credential, START_MS + 60_000)).await;
        let first = create(&ada, open_invite()).await.unwrap();
        let other = v1::CreateInviteRequest { ttl: Some(seconds(601)), ..open_invite() };
        // Requests go by the clock alone: what an outage moves are the deadlines of matches.
        cluster.clock.advance_ms(DAY_MS - 1);
        let refused = create(&ada, other.clone()).await.unwrap_err();
        assert_eq!(reason(&refused), ErrorReason::RequestIdReused, "{keeping:?}");
        cluster.clock.advance_ms(2);
        let second = create(&ada, other).await.unwrap();
        assert_ne!(second.invite.unwrap().name, first.invite.unwrap().name, "{keeping:?}");
        let refused = create(&ada, open_invite()).await.unwrap_err();
        assert_eq!(reason(&refused), ErrorReason::RequestIdReused, "it is the second one's now");
    }
}

#[tokio::test]
async fn request_ids_of_different_players_are_apart() {
    let cluster = Cluster::of_one().await;
    let (ada, bo) = (cluster.player(0, "ada").await, cluster.player(0, "bo").await);
    let one = create(&ada, open_invite()).await.unwrap().invite.unwrap();
    let other = create(&bo, open_invite()).await.unwrap().invite.unwrap();
    assert_ne!(one.name, other.name);
}

#[tokio::test]
async fn an_invite_whose_making_broke_off_is_made_once_by_its_retry() {
    for operation in [Operation::Remember, Operation::CreateInvite] {
        for fault in [Fault::Refused, Fault::AnswerLost, Fault::Panic] {
            let cluster = Cluster::of_two().await;
            let ada = cluster.player(0, "ada").await;
            cluster.nodes[0].faults.at(operation, 1, fault);
            create(&ada, open_invite()).await.unwrap_err();
            let elsewhere = ada.through(cluster.nodes[1].address).await;
            let retried = create(&elsewhere, open_invite()).await.unwrap();
            assert_eq!(create(&ada, open_invite()).await.unwrap(), retried);
        }
    }
}

#[tokio::test]
async fn a_seal_repeated_in_its_turn_gets_its_receipt_through_every_node() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let receipt = duel.seal(Seat::Black, 1, cell("E5")).await.unwrap();
    cluster.advance_ms(700).await;
    let sealed = duel.seal_request(Seat::Black, 1, cell("E5"));
    let other_salt = {
        let open = v1::OpenMove { cell: cell("E5"), salt: vec![7; 32] };
        let r#move = Some(v1::seal_move_request::Move::Open(open));
        v1::SealMoveRequest { r#move, ..sealed.clone() }
    };
    let before = duel.seen_by(Seat::Black).await;
    for node in &cluster.nodes {
        let black = duel.black.through(node.address).await;
        let again = black.matches().seal_move(sealed.clone()).await.unwrap().into_inner().receipt;
        assert_eq!(again.as_ref(), Some(&receipt));
        for (request, expected) in [
            (duel.seal_request(Seat::Black, 1, cell("A1")), ErrorReason::RequestIdReused),
            (other_salt.clone(), ErrorReason::RequestIdReused),
            (
                v1::SealMoveRequest { request_id: "another".to_owned(), ..sealed.clone() },
                ErrorReason::AlreadySealed,
            ),
        ] {
            let refused = black.matches().seal_move(request).await.unwrap_err();
            assert_eq!(reason(&refused), expected);
        }
    }
    assert_eq!(duel.seen_by(Seat::Black).await, before);
}

#[tokio::test]
async fn giving_up_twice_is_giving_up_once() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let give_up =
        v1::ResignRequest { name: duel.name.clone(), request_id: "enough".to_owned(), ..Default::default() };
    let resigned = duel.black.matches().resign(give_up.clone()).await.unwrap().into_inner();
    cluster.advance_ms(900).await;
    for node in &cluster.nodes {
        let black = duel.black.through(node.address).await;
        assert_eq!(black.matches().resign(give_up.clone()).await.unwrap().into_inner(), resigned);
        let anew = v1::ResignRequest { request_id: "anew".to_owned(), ..give_up.clone() };
        let refused = black.matches().resign(anew).await.unwrap_err();
        assert_eq!(reason(&refused), ErrorReason::MatchFinished);
    }
}

#[tokio::test]
async fn joining_again_changes_nothing() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.agreed(Default::default()).await;
    let once = duel.join_as(Seat::Black).await.unwrap();
    assert_eq!(duel.join_as(Seat::Black).await.unwrap(), once);
    let started = duel.join_as(Seat::White).await.unwrap();
    cluster.advance_ms(500).await;
    assert_eq!(duel.join_as(Seat::White).await.unwrap(), started, "the clocks do not start again");
}
