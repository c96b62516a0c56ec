//! The Rust client takes a receipt only for what it sealed and, where it asked for a signature, only by a
//! key that the server lists: whoever changes it on the way is found out.

use std::sync::atomic::{AtomicUsize, Ordering};

use prost::Message as _;
use rules::Seat;
use service_tests::{Cluster, Duel, soon};
use whattheshell::{Client, Error, MatchHandle, ReceiptMismatch, v1};

use super::newer::NewerServer;
use super::rust_client::{at, cell};

/// What a proxy makes of an answer: method, then message.
type Retelling = fn(&str, &[u8]) -> Vec<Vec<u8>>;

/// The answer of SealMove with another receipt; every other answer as it is.
fn receipt_told(method: &str, message: &[u8], lie: impl FnOnce(&mut v1::SealReceipt)) -> Vec<Vec<u8>> {
    if method != "SealMove" {
        return vec![message.to_vec()];
    }
    let mut answer = v1::SealMoveResponse::decode(message).unwrap();
    lie(answer.receipt.as_mut().unwrap());
    vec![answer.encode_to_vec()]
}

/// A match whose black player has the Rust client and asks for signed receipts, through this proxy.
async fn through(cluster: &Cluster, retelling: Retelling) -> (NewerServer, Duel, MatchHandle) {
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let proxy = NewerServer::in_front_of(cluster.nodes[0].address, retelling).await;
    let black = at(cluster, &duel, &duel.black, proxy.address, &Client::builder()).await;
    (proxy, duel, black.with_signed_receipts(true))
}

async fn refused(handle: &MatchHandle) -> ReceiptMismatch {
    let error = soon("a refusal", handle.seal(1, cell("A1"))).await.unwrap_err();
    assert!(error.is_uncertain(), "the seal may be in");
    match error {
        Error::Receipt(mismatch) => mismatch,
        other => panic!("the receipt is at fault: {other}"),
    }
}

#[tokio::test]
async fn a_receipt_is_signed_if_it_is_wanted_and_checked_by_keys_that_are_asked_for_once() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let cluster = Cluster::of_one().await;
    let (_proxy, duel, black) = through(&cluster, |method, message| {
        ASKED.fetch_add(usize::from(method == "GetServerInfo"), Ordering::Relaxed);
        vec![message.to_vec()]
    })
    .await;
    let unsigned = black.clone().with_signed_receipts(false).seal(1, cell("A1")).await.unwrap();
    assert_eq!((unsigned.key_id.len(), unsigned.signature.len()), (0, 0));
    assert_eq!(ASKED.load(Ordering::Relaxed), 0);
    duel.seal(Seat::White, 1, 81).await.unwrap();
    for (turn, name) in [(2, "C1"), (3, "E1")] {
        black.refresh().await.unwrap();
        let receipt = soon("the receipt", black.seal(turn, cell(name))).await.unwrap();
        assert_eq!(receipt.signature.len(), 64);
        duel.seal(Seat::White, turn, 82 - turn).await.unwrap();
    }
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_receipt_that_was_changed_on_the_way_is_refused_by_what_is_wrong() {
    use ReceiptMismatch as Wrong;
    let lies: [(Retelling, Wrong); 9] = [
        (|method, message| receipt_told(method, message, |told| told.r#match.push('0')), Wrong::Match),
        (|method, message| receipt_told(method, message, |told| told.turn = 2), Wrong::Turn),
        (|method, message| receipt_told(method, message, |told| told.seat = 2), Wrong::Seat),
        (|method, message| receipt_told(method, message, |told| told.commitment[31] ^= 1), Wrong::Commitment),
        (|method, message| receipt_told(method, message, |told| told.signature.clear()), Wrong::Unsigned),
        (|method, message| receipt_told(method, message, |told| told.key_id.push('x')), Wrong::UnknownKey),
        (|method, message| receipt_told(method, message, |told| told.signature[63] ^= 1), Wrong::Signature),
        (
            |method, message| receipt_told(method, message, |told| told.signature.truncate(63)),
            Wrong::Signature,
        ),
        (
            |method, message| {
                receipt_told(method, message, |told| told.seal_time.as_mut().unwrap().seconds += 1)
            },
            Wrong::Signature,
        ),
    ];
    let cluster = Cluster::of_one().await;
    for (lie, wrong) in lies {
        let (_proxy, duel, black) = through(&cluster, lie).await;
        assert_eq!(refused(&black).await, wrong);
        // The move is in all the same, once, and so says the repetition.
        let own = duel.seen_by(Seat::Black).await.status.unwrap().own_seal.unwrap();
        assert_eq!(refused(&black).await, wrong);
        assert_eq!(duel.seen_by(Seat::Black).await.status.unwrap().own_seal.unwrap(), own);
    }
}

#[tokio::test]
async fn keys_are_asked_for_again_where_a_receipt_names_an_unknown_one() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let cluster = Cluster::of_one().await;
    // The list of the first answer is from before the key was made.
    let (_proxy, _duel, black) = through(&cluster, |method, message| {
        if method != "GetServerInfo" || ASKED.fetch_add(1, Ordering::Relaxed) > 0 {
            return vec![message.to_vec()];
        }
        let mut info = v1::GetServerInfoResponse::decode(message).unwrap();
        info.public_keys.clear();
        vec![info.encode_to_vec()]
    })
    .await;
    assert_eq!(refused(&black).await, ReceiptMismatch::UnknownKey);
    assert_eq!(ASKED.load(Ordering::Relaxed), 1, "one receipt asks once");
    let receipt = soon("the receipt", black.seal(1, cell("A1"))).await.unwrap();
    assert_eq!(receipt.signature.len(), 64);
    assert_eq!(ASKED.load(Ordering::Relaxed), 2);
}
