//! What operators do with a match: they end it once and for all, and see of it no more than a spectator does.

use prost::Message as _;
use rules::Seat;
use service_tests::{Caller, Cluster, Log, cell, reason, soon};
use tonic::Status;
use wire::admin::v1::{AbortMatchRequest, InspectMatchRequest, InspectMatchResponse};
use wire::v1::{self, EndReason, ErrorReason, MatchResult, SealStatus, Spectators};

use super::{marked, reveals};

fn abort_request(name: &str, request_id: &str) -> AbortMatchRequest {
    AbortMatchRequest {
        name: name.to_owned(),
        request_id: request_id.to_owned(),
        explanation: "a player asked for it".to_owned(),
    }
}

async fn abort(operator: &Caller, request: AbortMatchRequest) -> Result<v1::Match, Status> {
    let aborted = soon("AbortMatch", operator.admin().abort_match(request)).await?;
    Ok(aborted.into_inner().r#match.unwrap())
}

async fn inspect(operator: &Caller, name: &str) -> InspectMatchResponse {
    let request = InspectMatchRequest { name: name.to_owned() };
    soon("InspectMatch", operator.admin().inspect_match(request)).await.unwrap().into_inner()
}

#[tokio::test]
async fn an_abort_ends_a_match_once_and_its_players_streams_are_told() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    duel.play(1, "A1", "I9").await;
    let mut streams = [Seat::Black, Seat::White].map(|seat| duel.player(seat).clone());
    let mut watching = Vec::new();
    for player in &mut streams {
        watching.push(player.watch(&duel.name).await.unwrap());
    }
    let operator = cluster.admin(0).await;
    let aborted = abort(&operator, abort_request(&duel.name, "abort")).await.unwrap();
    let finish = aborted.finish.clone().unwrap();
    assert_eq!((finish.result(), finish.reason()), (MatchResult::Void, EndReason::Operator));
    for stream in &mut watching {
        assert_eq!(stream.finished().await, finish);
    }
    // Again, also by another request and through another node, nothing more comes of it.
    let elsewhere = cluster.admin(1).await;
    for (operator, id) in [(&operator, "abort"), (&elsewhere, "abort"), (&elsewhere, "another")] {
        assert_eq!(abort(operator, abort_request(&duel.name, id)).await.unwrap(), aborted, "{id}");
    }
    let refused = duel.seal(Seat::Black, 2, cell("C1")).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::MatchFinished);
}

#[tokio::test]
async fn a_match_that_nobody_has_joined_is_aborted_and_one_that_is_over_stays_as_it_ended() {
    let cluster = Cluster::of_one().await;
    let operator = cluster.admin(0).await;
    let waiting = cluster.agreed(Default::default()).await;
    let aborted = abort(&operator, abort_request(&waiting.name, "first")).await.unwrap();
    assert_eq!(aborted.finish.unwrap().result(), MatchResult::Aborted);

    let played = cluster.duel(Default::default()).await;
    let resigned = played.resign(Seat::Black).await.unwrap();
    let refused = abort(&operator, abort_request(&played.name, "second")).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::MatchFinished);
    assert_eq!(played.seen_by(Seat::Black).await.finish, resigned.finish);
}

#[tokio::test]
async fn an_abort_needs_a_reason_and_a_request_of_its_own() {
    let cluster = Cluster::of_one().await;
    let (duel, other) = (cluster.duel(Default::default()).await, cluster.duel(Default::default()).await);
    let operator = cluster.admin(0).await;
    let sound = abort_request(&duel.name, "abort");
    for (wrong, expected) in [
        (AbortMatchRequest { explanation: "  ".to_owned(), ..sound.clone() }, ErrorReason::FieldRequired),
        (AbortMatchRequest { explanation: "x".repeat(501), ..sound.clone() }, ErrorReason::FieldInvalid),
        (AbortMatchRequest { request_id: String::new(), ..sound.clone() }, ErrorReason::FieldRequired),
        (AbortMatchRequest { name: "players/ada".to_owned(), ..sound.clone() }, ErrorReason::FieldInvalid),
    ] {
        assert_eq!(reason(&abort(&operator, wrong).await.unwrap_err()), expected);
        assert_eq!(duel.seen_by(Seat::Black).await.finish, None);
    }
    abort(&operator, sound).await.unwrap();
    let reused = abort(&operator, abort_request(&other.name, "abort")).await.unwrap_err();
    assert_eq!(reason(&reused), ErrorReason::RequestIdReused);
    assert_eq!(other.seen_by(Seat::Black).await.finish, None);
}

#[tokio::test]
async fn an_abort_is_audited_once_with_who_what_and_why() {
    let log = Log::capture();
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    let operator = cluster.admin(0).await;
    for _ in 0..2 {
        abort(&operator, abort_request(&duel.name, "abort-7")).await.unwrap();
    }
    let text = String::from_utf8(log.text()).unwrap();
    let audited: Vec<_> = text.lines().filter(|line| line.contains(" audit: an operator acted ")).collect();
    assert_eq!(audited.len(), 1, "{audited:?}");
    for told in ["olga", "abort_match", &duel.name, "abort-7", "a player asked for it"] {
        assert!(audited[0].contains(told), "{told}: {}", audited[0]);
    }
}

/// Whether or not there is a seal, and also where spectators are let in.
#[tokio::test]
async fn with_hidden_status_nothing_that_an_operator_sees_depends_on_a_seal() {
    for seat in Seat::BOTH {
        let cluster = Cluster::of_one().await;
        let settings = v1::MatchSettings {
            seal_status: SealStatus::Hidden.into(),
            spectators: Spectators::None.into(),
            ..Default::default()
        };
        let duel = cluster.duel(settings).await;
        cluster.settled(&duel.name).await;
        let operator = cluster.admin(0).await;
        let before = inspect(&operator, &duel.name).await.encode_to_vec();
        duel.seal(seat, 1, cell("E5")).await.unwrap();
        assert_eq!(inspect(&operator, &duel.name).await.encode_to_vec(), before);
        duel.seal(seat.opponent(), 1, cell("A1")).await.unwrap();
        let after = inspect(&operator, &duel.name).await;
        assert_eq!(after.r#match.unwrap().turn, 1, "it is seen once it is public");
    }
}

/// The first reveal of a commit-reveal match is held until the second.
#[tokio::test]
async fn an_operator_sees_no_held_reveal() {
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings { seal_mode: v1::SealMode::CommitReveal.into(), ..reveals::settings() };
    let duel = cluster.duel(settings).await;
    let operator = cluster.admin(0).await;
    reveals::commit(&duel, Seat::Black, &marked::open()).await;
    let whites = v1::OpenMove { cell: cell("A1"), salt: vec![7; 32] };
    reveals::commit(&duel, Seat::White, &whites).await;
    reveals::reveal(&duel, Seat::Black, &marked::open()).await.unwrap();
    assert_eq!(marked::move_in(&inspect(&operator, &duel.name).await.encode_to_vec()), None);
    reveals::reveal(&duel, Seat::White, &whites).await.unwrap();
    assert_eq!(inspect(&operator, &duel.name).await.r#match.unwrap().turn, 1);
}

#[tokio::test]
async fn an_operator_sees_how_a_match_is_kept_and_no_sealed_cell() {
    let log = Log::capture();
    let cluster = Cluster::of_one().await;
    let settings = v1::MatchSettings { seal_status: SealStatus::Visible.into(), ..Default::default() };
    let duel = cluster.duel(settings).await;
    cluster.settled(&duel.name).await;
    let operator = cluster.admin(0).await;
    let version = async || {
        let stored = inspect(&operator, &duel.name).await.stored.unwrap();
        assert!(stored.due_time.is_some() && stored.commit_time.is_some() && stored.outage_sum.is_some());
        stored.version.unwrap()
    };
    let before = version().await;
    let marked = v1::SealMoveRequest {
        r#move: Some(v1::seal_move_request::Move::Open(marked::open())),
        ..duel.seal_request(Seat::Black, 1, cell("A1"))
    };
    duel.send_seal(Seat::Black, marked).await.unwrap();
    let sealed = inspect(&operator, &duel.name).await;
    assert_eq!(version().await, before + 1, "that black has sealed is for all to see");
    let game = sealed.r#match.clone().unwrap();
    assert_eq!(game.status.unwrap().own_seal, None);
    let bytes = sealed.encode_to_vec();
    assert_eq!(marked::move_in(&bytes), None);
    assert_eq!(marked::in_log(&String::from_utf8(log.text()).unwrap()), None);

    // What ends it is seen, with what is still to be done.
    abort(&operator, abort_request(&duel.name, "abort")).await.unwrap();
    let stored = inspect(&operator, &duel.name).await.stored.unwrap();
    assert_eq!(stored.due_time, None);
    assert_eq!(marked::move_in(&inspect(&operator, &duel.name).await.encode_to_vec()), None);
    let unknown = InspectMatchRequest { name: "matches/01890000-0000-7000-8000-000000000000".to_owned() };
    let refused = operator.admin().inspect_match(unknown).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::NotFound);
}
