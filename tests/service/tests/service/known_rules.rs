//! D12: a match is played, stored, read back and verified under the version of the rules that it began
//! with; another version is refused by name.

use rules::Seat;
use service_tests::{Cluster, Keeping, Setup};
use whattheshell::sealing::Claim as Chain;
use whattheshell::{Claim, Error, Transcript};
use wire::v1::{self, ErrorReason};

/// The first version, which every later server still plays.
const VERSION_1: &str = "wts-2026.1";

/// One that nobody knows yet.
const VERSION_2: &str = "wts-2027.1";

#[tokio::test]
async fn a_stored_match_of_version_1_goes_on_and_replays_under_it() {
    let setup = Setup { keeping: Keeping::Directory, ..Setup::default() };
    let mut cluster = Cluster::start(setup).await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    // A collision, a capture that lets its egg hatch, and a move after the restart.
    for (turn, (black, white)) in (1..).zip([("I9", "I9"), ("A1", "B1"), ("E5", "C1"), ("D1", "G7")]) {
        duel.play(turn, black, white).await;
    }
    cluster.restart().await;
    let duel = duel.reconnected(&cluster).await;
    duel.play(5, "B1", "G5").await;
    duel.resign(Seat::White).await.unwrap();
    cluster.settled(&duel.name).await;
    cluster.restart().await;

    let message = duel.reconnected(&cluster).await.white.transcript(&duel.name).await.unwrap();
    assert_eq!(message.settings.as_ref().unwrap().rules_version, VERSION_1);
    let verified = Transcript::from(message.clone()).verify().expect("its rules are known");
    assert_eq!(verified.turns.len(), 5);

    let mut unknown = message;
    unknown.settings.as_mut().unwrap().rules_version = VERSION_2.to_owned();
    match Transcript::from(unknown).verify().expect_err("these rules are not known") {
        Error::Verification(violation) => {
            assert_eq!(violation.claim, Claim::Transcript(Chain::RulesVersion));
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_match_of_an_unknown_version_is_refused_by_the_field() {
    let cluster = Cluster::of_one().await;
    let known = cluster.stranger(0).await.players().get_server_info(v1::GetServerInfoRequest {}).await;
    assert_eq!(known.unwrap().into_inner().rules_versions, [VERSION_1]);
    let ada = cluster.player(0, "ada").await;
    let settings = v1::MatchSettings { rules_version: VERSION_2.to_owned(), ..Default::default() };
    let request = v1::CreateInviteRequest {
        request_id: "newer".to_owned(),
        invitee: "players/bo".to_owned(),
        settings: Some(settings),
        ..Default::default()
    };
    let refused = ada.matchmaking().create_invite(request).await.unwrap_err();
    let error = wire::ApiError::from_status(&refused).unwrap();
    assert_eq!(error.reason(), ErrorReason::SettingsInvalid);
    let violation = &tonic_types::StatusExt::get_details_bad_request(&refused).unwrap().field_violations[0];
    assert_eq!(violation.field, "settings.rules_version");
}
