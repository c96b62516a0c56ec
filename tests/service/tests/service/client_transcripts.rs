//! The Rust client checks a whole match and the server's signature of it, by the keys that the server lists.

use prost::Message as _;
use rules::Seat;
use sealing::{Claim as Chain, MatchResult};
use service_tests::{Cluster, soon};
use whattheshell::{Claim, Client, Error, Transcript, Violation, v1};

use super::newer::NewerServer;
use super::rust_client::at;

fn violation(error: Error) -> Violation {
    match error {
        Error::Verification(violation) => violation,
        other => panic!("a claim does not hold: {other}"),
    }
}

#[tokio::test]
async fn a_finished_match_is_verified_with_the_servers_signature_and_a_live_one_is_not_signed() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let node = cluster.nodes[0].address;
    let client = Client::connect(&format!("http://{node}")).await.unwrap();
    let token = super::rust_client::token(&cluster, &duel.black.name).await;
    let black = client.player(&token).unwrap();

    duel.play(1, "A1", "I9").await;
    let live = black.transcript(&duel.name).await.unwrap();
    assert!(live.verify().is_ok());
    let refused = violation(black.verify_signed(&live).await.unwrap_err());
    assert_eq!(refused.claim, Claim::Field("signature"));

    duel.resign(Seat::White).await.unwrap();
    let ended = black.transcript(&duel.name).await.unwrap();
    let verified = soon("the keys", black.verify_signed(&ended)).await.unwrap();
    assert_eq!((verified.result(), verified.turns.len()), (Some(MatchResult::BlackWins), 1));
    let keys = whattheshell::server_keys(&client.server_info().await.unwrap());
    assert_eq!(ended.verify_signed(&keys).unwrap(), verified, "also without the server");

    let foreign = |change: fn(&mut v1::Transcript)| {
        let mut message = ended.message().clone();
        change(&mut message);
        Transcript::from(message)
    };
    let lies: [(Transcript, Chain); 3] = [
        (foreign(|message| message.signature[0] ^= 1), Chain::ServerSignature),
        (foreign(|message| message.key_id.push('x')), Chain::ServerKey),
        (foreign(|message| message.turns[0].black.as_mut().unwrap().salt[0] ^= 1), Chain::Commitment),
    ];
    for (lie, claim) in lies {
        let refused = violation(black.verify_signed(&lie).await.unwrap_err());
        assert_eq!(refused.claim, Claim::Transcript(claim));
    }
}

#[tokio::test]
async fn a_signed_match_in_a_file_is_refused_with_any_bit_changed_or_field_added() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    // A collision, then a capture that hatches the egg.
    for (turn, (black, white)) in (1..).zip([("E5", "E5"), ("A1", "B1"), ("I9", "C1"), ("D1", "I1")]) {
        duel.play(turn, black, white).await;
    }
    duel.resign(Seat::White).await.unwrap();
    let message = duel.black.transcript(&duel.name).await.unwrap();
    let info = cluster.stranger(0).await.players().get_server_info(v1::GetServerInfoRequest {}).await;
    let keys = whattheshell::server_keys(&info.unwrap().into_inner());
    let right = Transcript::from(message);
    right.verify_signed(&keys).unwrap();
    let bytes = right.to_bytes();
    assert_eq!(Transcript::from_bytes(&bytes).unwrap(), right);
    let refused = |changed: &[u8]| {
        Transcript::from_bytes(changed).and_then(|changed| changed.verify_signed(&keys)).is_err()
    };
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(refused(&changed), "bit {bit} of byte {at}");
        }
    }
    for at in 0..bytes.len() {
        assert!(refused(&bytes[..at]), "the first {at} bytes");
    }
    for field in 1..=64_u32 {
        // A number, one that is longer than it must be, and an empty text.
        for (wire_type, value) in [(0, &[0][..]), (0, &[0x80, 0][..]), (2, &[0][..])] {
            let mut added = Vec::new();
            prost::encoding::encode_varint(u64::from(field << 3 | wire_type), &mut added);
            added.extend_from_slice(value);
            assert!(refused(&[&bytes[..], &added].concat()), "field {field} added: {added:02x?}");
        }
    }
}

#[tokio::test]
async fn a_transcript_that_was_changed_on_the_way_is_refused() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    duel.play(1, "A1", "I9").await;
    duel.resign(Seat::White).await.unwrap();
    let proxy = NewerServer::in_front_of(cluster.nodes[0].address, |method, message| {
        if method != "GetTranscript" {
            return vec![message.to_vec()];
        }
        let mut answer = v1::GetTranscriptResponse::decode(message).unwrap();
        answer.transcript.as_mut().unwrap().turns[0].resolve_time.as_mut().unwrap().nanos += 1_000_000;
        vec![answer.encode_to_vec()]
    })
    .await;
    let black = at(&cluster, &duel, &duel.black, proxy.address, &Client::builder()).await;
    let refused = violation(black.transcript().await.unwrap().verify().unwrap_err());
    let claim = Claim::Transcript(Chain::TurnHash);
    assert_eq!(refused, Violation { turn: Some(1), seat: None, claim });
}
