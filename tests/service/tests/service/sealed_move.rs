//! D1: one sealed move is nowhere to be found, whoever calls whatever.

use middleware::Rpc;
use rules::Seat;
use service_tests::{Caller, Cluster, Duel};
use tonic::Status;
use wire::v1::{self, SealStatus, Spectators};

use super::every_rpc::{self, Answer, Subject};
use super::marked::{self, Values};

/// A match whose first turn is open, with black's marked move sealed in it.
async fn with_marked_seal(cluster: &Cluster, seal_status: SealStatus) -> Duel {
    let settings = v1::MatchSettings {
        spectators: Spectators::Live.into(),
        seal_status: seal_status.into(),
        ..Default::default()
    };
    let duel = cluster.duel(settings).await;
    let mut seal = duel.seal_request(Seat::Black, 1, marked::CELL);
    seal.r#move = Some(v1::seal_move_request::Move::Open(marked::open()));
    duel.send_seal(Seat::Black, seal).await.expect("the cell is empty");
    duel
}

/// Everybody but the sealer himself, and whom each acts for.
async fn everybody_else(cluster: &Cluster, duel: &Duel) -> Vec<(&'static str, Caller, String)> {
    let backend = cluster.backend(0).await;
    vec![
        ("the opponent", duel.white.clone(), String::new()),
        ("a spectator", cluster.player(1, "spectator").await, String::new()),
        ("a back end", backend.clone(), String::new()),
        ("a back end for the sealer", backend.clone(), duel.black.name.clone()),
        ("a back end for the opponent", backend, duel.white.name.clone()),
        ("an operator", cluster.operator(0).await, String::new()),
        ("a stranger", cluster.stranger(1).await, String::new()),
    ]
}

/// The marked move is neither in a message of the answer nor in its refusal.
pub(crate) fn assert_tells_nothing(who: &str, answer: &Answer) {
    let call = format!("{}/{} to {who}", answer.rpc.service, answer.rpc.method);
    for message in &answer.messages {
        assert_eq!(marked::salt_in(message), None, "{call} has the salt");
        if let Some(message_type) = marked::response_type(answer.rpc.service, answer.rpc.method) {
            assert!(!Values::of(&message_type, message).have_cell(), "{call} has the cell");
        }
    }
    assert_status_tells_nothing(&call, &answer.status);
}

fn assert_status_tells_nothing(call: &str, status: &Status) {
    let metadata = format!("{:?}", status.metadata());
    for bytes in [status.message().as_bytes(), status.details(), metadata.as_bytes()] {
        assert_eq!(marked::salt_in(bytes), None, "the refusal of {call} has the salt");
        assert_eq!(marked::cell_in(bytes), None, "the refusal of {call} has the cell");
    }
}

/// Everybody but the sealer calls every RPC; what was sealed is nowhere.
pub(crate) async fn ask_everything(cluster: &Cluster, duel: &Duel) {
    for (who, caller, player) in everybody_else(cluster, duel).await {
        ask(who, &caller, &player, duel).await;
    }
}

/// One of them does, for this player if there is one.
pub(crate) async fn ask(who: &str, caller: &Caller, player: &str, duel: &Duel) {
    let invite = format!("invites/{}", duel.name.trim_start_matches("matches/"));
    let subject = Subject { game: duel.name.clone(), invite, player: player.to_owned(), turn: 1 };
    for rpc in Rpc::all() {
        assert_tells_nothing(who, &every_rpc::call(caller, rpc, &subject).await);
    }
}

#[tokio::test]
async fn nobody_but_the_sealer_is_told_a_visible_seal() {
    let cluster = Cluster::of_two().await;
    let duel = with_marked_seal(&cluster, SealStatus::Visible).await;
    let before = duel.seen_by(Seat::Black).await;
    ask_everything(&cluster, &duel).await;
    assert_eq!(duel.seen_by(Seat::Black).await, before, "looking changes nothing");
}

#[tokio::test]
async fn nobody_but_the_sealer_is_told_a_hidden_seal() {
    let cluster = Cluster::of_two().await;
    let duel = with_marked_seal(&cluster, SealStatus::Hidden).await;
    ask_everything(&cluster, &duel).await;
    let opponent = duel.seen_by(Seat::White).await.status.and_then(|status| status.black).unwrap();
    assert_eq!((opponent.sealed, opponent.commitment), (None, None));
}

#[tokio::test]
async fn a_turn_that_never_resolves_is_never_published() {
    let cluster = Cluster::of_two().await;
    let duel = with_marked_seal(&cluster, SealStatus::Visible).await;
    duel.resign(Seat::White).await.unwrap();
    ask_everything(&cluster, &duel).await;
    let own = duel.seen_by(Seat::Black).await;
    assert_eq!(own.status.and_then(|status| status.own_seal), None, "not even to the sealer");
    let finish = own.finish.unwrap();
    assert_eq!(finish.black_unresolved_commitment.len(), 32, "its commitment stays");
}

// Without this, the tests above could pass because they search for the wrong thing.
#[tokio::test]
async fn the_sealer_sees_his_own_seal_and_everybody_the_resolved_turn() {
    let cluster = Cluster::of_two().await;
    let duel = with_marked_seal(&cluster, SealStatus::Hidden).await;
    let rpc = |method| Rpc::all().iter().find(|rpc| rpc.method == method).unwrap();
    let subject = Subject { game: duel.name.clone(), invite: String::new(), player: String::new(), turn: 1 };

    let own = every_rpc::call(&duel.black, rpc("GetMatch"), &subject).await;
    let values = Values::of("whattheshell.v1.GetMatchResponse", &own.messages[0]);
    assert!(values.have_cell(), "the sealer's own client may have lost it");

    duel.seal(Seat::White, 1, service_tests::cell("A1")).await.unwrap();
    let spectator = cluster.player(0, "spectator").await;
    let transcript = every_rpc::call(&spectator, rpc("GetTranscript"), &subject).await;
    assert_eq!(marked::salt_in(&transcript.messages[0]), Some("raw"));
    assert!(Values::of("whattheshell.v1.GetTranscriptResponse", &transcript.messages[0]).have_cell());
}
