//! Receipts and finished matches are signed by keys that everyone can look up, and a player's own
//! signature is taken only if it is his.

use rules::Seat;
use sealing::{
    Commitment, Digest, KeyId, MatchId, PlayerSigningKey, PublicKey, Receipt, Signature, verify_end,
    verify_receipt,
};
use service_tests::{Cluster, Duel, cell, reason};
use tonic::Status;
use wire::v1::{self, ErrorReason};

/// The key that a receipt or a transcript names, as the server lists it.
async fn listed(cluster: &Cluster, node: usize, key_id: &str) -> PublicKey {
    let stranger = cluster.stranger(node).await;
    let info = stranger.players().get_server_info(v1::GetServerInfoRequest {}).await.unwrap().into_inner();
    let key = info.public_keys.iter().find(|key| key.key_id == key_id).expect("a named key is listed");
    PublicKey::try_from(key.public_key.as_slice()).unwrap()
}

fn receipt_of(wire: &v1::SealReceipt) -> (Receipt, Signature) {
    let time = wire.seal_time.unwrap();
    let receipt = Receipt {
        match_id: wire.r#match.strip_prefix("matches/").unwrap().parse::<MatchId>().unwrap(),
        turn: wire.turn,
        seat: if wire.seat() == v1::Seat::Black { Seat::Black } else { Seat::White },
        commitment: Commitment::try_from(wire.commitment.as_slice()).unwrap(),
        sealed_ms: u64::try_from(time.seconds).unwrap() * 1_000
            + u64::try_from(time.nanos).unwrap() / 1_000_000,
        key_id: wire.key_id.as_str().into(),
    };
    (receipt, Signature::try_from(wire.signature.as_slice()).unwrap())
}

async fn seal_signed(duel: &Duel, seat: Seat, turn: u32, at: &str) -> Result<v1::SealReceipt, Status> {
    let request = v1::SealMoveRequest { sign_receipt: true, ..duel.seal_request(seat, turn, cell(at)) };
    duel.send_seal(seat, request).await
}

#[tokio::test]
async fn a_receipt_is_signed_when_asked_for_and_the_same_on_every_node_and_after_the_turn() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    let unsigned = duel.seal(Seat::White, 1, cell("I9")).await.unwrap();
    assert_eq!((unsigned.key_id.as_str(), unsigned.signature.len()), ("", 0));

    let signed = seal_signed(&duel, Seat::Black, 1, "A1").await.unwrap();
    let (receipt, signature) = receipt_of(&signed);
    let key = listed(&cluster, 1, &signed.key_id).await;
    assert!(verify_receipt(&receipt, &signature, &key));
    assert!(!verify_receipt(&Receipt { turn: 2, ..receipt }, &signature, &key));
    assert_eq!(
        seal_signed(&duel, Seat::Black, 1, "A1").await.unwrap(),
        signed,
        "also after the turn resolved"
    );
}

#[tokio::test]
async fn a_finished_match_is_signed_and_a_live_one_is_not() {
    let cluster = Cluster::of_two().await;
    let duel = cluster.duel(Default::default()).await;
    duel.play(1, "A1", "I9").await;
    let live = duel.black.transcript(&duel.name).await.unwrap();
    assert_eq!((live.key_id.as_str(), live.signature.len()), ("", 0));

    duel.resign(Seat::White).await.unwrap();
    let ended = duel.white.transcript(&duel.name).await.unwrap();
    let key = listed(&cluster, 0, &ended.key_id).await;
    let end = Digest::try_from(ended.finish.unwrap().end_hash.as_slice()).unwrap();
    let signature = Signature::try_from(ended.signature.as_slice()).unwrap();
    assert!(verify_end(&end, &ended.key_id, &signature, &key));
    assert!(ended.key_id.parse::<KeyId>().is_ok());
}

#[tokio::test]
async fn a_players_signature_is_taken_only_if_it_is_of_the_key_bound_into_the_match() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(Default::default()).await;
    let before = duel.seen_by(Seat::Black).await;
    let own = PlayerSigningKey::from_seed(&[3; 32]);
    let signature = own.sign(&Commitment::from_bytes([0; 32])).as_bytes().to_vec();
    for player_signature in [signature, vec![1; 63]] {
        let request =
            v1::SealMoveRequest { player_signature, ..duel.seal_request(Seat::Black, 1, cell("A1")) };
        let refused = duel.send_seal(Seat::Black, request).await.unwrap_err();
        assert_eq!(reason(&refused), ErrorReason::FieldInvalid);
    }
    assert_eq!(duel.seen_by(Seat::Black).await, before, "a refused seal changes nothing");
}
